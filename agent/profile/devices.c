/* agent/profile/devices.c: the command `devices`: what this host has, which kernels it would run for each op, and why
 * better ones are not taken; with --plan, the whole plan of a workload, whose every group says the same. */
#include <stdio.h>
#include <stdlib.h>

#include "agent/backend/backend.h"
#include "agent/command.h"
#include "agent/workload/workload.h"
#include "common/opt.h"

#define THREADS_MAX 1024
#define GIGABYTE    1e9

struct devices_options {
    const char *plan, *recipe, *isa;
    int64_t threads;
};

static enum status print_device(const struct devices_options *options, uint32_t isa,
                                struct error *err)
{
    const struct backend_options backend_options = {.threads = (int)options->threads, .isa = isa};
    struct backend *backend = NULL;
    struct device_info info;
    const enum status status = cpu_backend_open(&backend_options, &backend, err);

    if (status != ST_OK)
        return status;
    backend->ops->describe(backend, &info);
    (void)printf("device  %s: %s, %d threads, %.1f GB of memory, kernels up to %s\n", info.kind,
                 info.model, info.threads, (double)info.memory_bytes / GIGABYTE, info.isa);
    (void)printf("device  cuda: this build has no CUDA backend\n"
                 "device  tpu: this build has no TPU backend\n");
    backend->ops->close(backend);
    return ST_OK;
}

static void print_instruction_sets(uint32_t isa)
{
    static const struct {
        uint32_t bit;
        const char *name, *needs;
    } sets[] = {
        {ISA_AVX2, "avx2", "AVX2, FMA"},
        {ISA_AVX512, "avx512", "AVX-512 F, BW, DQ, VL"},
        {ISA_AVX512_BF16, "avx512-bf16", "AVX-512 BF16"},
        {ISA_AMX_BF16, "amx", "AMX tiles in bf16"},
    };
    const uint32_t host = cpu_isa_detect();

    for (size_t i = 0; i < ARRAY_LEN(sets); i++)
        (void)printf("isa     %s (%s): %s\n", sets[i].name, sets[i].needs,
                     (isa & sets[i].bit) != 0      ? "used"
                     : (host & sets[i].bit) != 0   ? "there, excluded by --isa"
                     : sets[i].bit == ISA_AMX_BF16 ? "no kernel of this build uses it"
                                                   : "not there, or not enabled by the system");
}

/* The rows of one op, best first: which are out for their instruction set, which is asked first. */
static void print_kernels_of(enum op_kind kind, uint32_t isa)
{
    size_t count;
    const struct kernel *const *table = cpu_kernel_table(&count);
    const char *separator = "";

    if (op_info(kind)->composite || kernel_reference(kind) == NULL)
        return;
    (void)printf("op      %-18s ", op_info(kind)->name);
    for (size_t i = 0; i < count; i++) {
        if (table[i]->anchor != kind)
            continue;
        if ((table[i]->isa & ~isa) != 0)
            (void)printf("%s(%s: no %s)", separator, table[i]->name, cpu_isa_name(table[i]->isa));
        else
            (void)printf("%s%s", separator, table[i]->name);
        separator = ", then ";
    }
    (void)printf("%s%s\n", separator, kernel_reference(kind)->name);
}

static enum status print_plan(const struct devices_options *options, struct error *err)
{
    const struct workload_ops *workload = workload_find(options->plan);
    const struct workload_options workload_options = {.recipe = options->recipe,
                                                      .data_dir = "",
                                                      .device = "cpu",
                                                      .isa = options->isa,
                                                      .threads = (int)options->threads,
                                                      .fusion = true};

    if (workload == NULL)
        return error_set(err, ST_NOT_FOUND, "plan", "there is no workload '%.64s'", options->plan);
    if (workload->print_plan == NULL)
        return error_set(err, ST_UNSUPPORTED, "plan", "the workload %s has no plan",
                         workload->name);
    return workload->print_plan(&workload_options, stdout, err);
}

static enum status run(const struct devices_options *options, struct error *err)
{
    uint32_t isa = 0;
    enum status status = cpu_isa_parse(options->isa, &isa, err);

    if (status == ST_OK)
        status = print_device(options, isa, err);
    if (status != ST_OK)
        return status;
    print_instruction_sets(isa);
    for (int kind = 0; kind < OP_KIND_COUNT; kind++)
        print_kernels_of((enum op_kind)kind, isa);
    return options->plan != NULL ? print_plan(options, err) : ST_OK;
}

int command_devices(int argc, char *const *argv)
{
    struct devices_options options = {.isa = "auto"};
    const struct opt opts[] = {
        {"plan", OPT_TEXT, &options.plan, NULL, 0, 0, "WORKLOAD", "print this workload's plan"},
        {"recipe", OPT_TEXT, &options.recipe, NULL, 0, 0, "NAME",
         "its recipe (default: the first)"},
        {"isa", OPT_TEXT, &options.isa, NULL, 0, 0, "ISA",
         "auto, avx512, avx2 or scalar (default auto)"},
        {"threads", OPT_INT, &options.threads, NULL, 0, THREADS_MAX, "N",
         "threads; 0: all processors (default 0)"},
    };
    const struct opt_command command = {.program = AGENT_PROGRAM,
                                        .name = "devices",
                                        .arguments = "",
                                        .summary =
                                            "say what this host has and which kernels it runs",
                                        .opts = opts,
                                        .opt_count = ARRAY_LEN(opts)};
    int argument_count, code;
    const char **arguments = opt_begin(&command, argc, argv, &argument_count, &code);
    struct error err = {0};
    enum status status;

    if (arguments == NULL)
        return code;
    free(arguments);
    status = run(&options, &err);
    if (status != ST_OK)
        (void)fprintf(stderr, "%s devices: %s\n", AGENT_PROGRAM, err.detail);
    return status_exit_code(status);
}
