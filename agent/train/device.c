/* agent/train/device.c: the options that say where and how a workload runs (see device.h). */
#include "agent/train/device.h"

#include <string.h>

#include "agent/workload/precision.h"
#include "common/str.h"

void device_choice_init(struct device_choice *choice)
{
    *choice =
        (struct device_choice){.device = "auto", .isa = "auto", .precision = "auto", .tune = "on"};
}

void device_choice_fill_opts(struct device_choice *choice, struct opt opts[DEVICE_OPT_COUNT])
{
    opts[0] = (struct opt){.name = "device",
                           .kind = OPT_TEXT,
                           .value = &choice->device,
                           .argument = "auto|cpu|cuda[:N]|tpu[:N]",
                           .help = "where to run (auto)"};
    opts[1] =
        (struct opt){.name = "isa",
                     .kind = OPT_TEXT,
                     .value = &choice->isa,
                     .argument = "ISA",
                     .help = "instruction set: auto, scalar, avx2, avx512, avx512-bf16 (auto)"};
    opts[2] = (struct opt){.name = "precision",
                           .kind = OPT_TEXT,
                           .value = &choice->precision,
                           .argument = "auto|f32|bf16",
                           .help = "of activations and their gradients (auto)"};
    opts[DEVICE_OPT_THREADS] =
        (struct opt){.name = "threads",
                     .kind = OPT_INT,
                     .value = &choice->threads,
                     .min = 0,
                     .max = DEVICE_THREADS_MAX,
                     .argument = "N",
                     .help = "threads that compute; 0: chosen by the workload (0)"};
    opts[4] = (struct opt){.name = "no-fusion",
                           .kind = OPT_FLAG,
                           .value = &choice->no_fusion,
                           .help = "one kernel for each op, for comparison"};
    opts[5] = (struct opt){.name = "tune",
                           .kind = OPT_TEXT,
                           .value = &choice->tune,
                           .argument = "on|off",
                           .help = "use measured kernel choices (on)"};
}

static bool is_device(const char *word)
{
    static const char *const kinds[] = {"cuda", "tpu"};
    uint64_t index;

    if (strcmp(word, "auto") == 0 || strcmp(word, "cpu") == 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const size_t len = strlen(kinds[i]);

        if (strncmp(word, kinds[i], len) != 0)
            continue;
        if (word[len] == '\0' ||
            (word[len] == ':' && str_parse_u64(str_from_cstr(word + len + 1), &index)))
            return true;
    }
    return false;
}

enum status device_choice_apply(const struct device_choice *choice,
                                struct workload_options *options, struct error *err)
{
    if (!is_device(choice->device))
        return error_set(err, ST_USAGE, "--device",
                         "--device is auto, cpu, cuda, cuda:N, tpu or tpu:N, not \"%s\"",
                         choice->device);
    if (precision_parse(choice->precision, &options->precision, err) != ST_OK)
        return ST_USAGE;
    if (strcmp(choice->tune, "on") != 0 && strcmp(choice->tune, "off") != 0)
        return error_set(err, ST_USAGE, "--tune", "--tune is on or off, not \"%s\"", choice->tune);
    options->device = choice->device;
    options->isa = choice->isa;
    options->threads = (int)choice->threads;
    options->fusion = !choice->no_fusion;
    options->tune = strcmp(choice->tune, "on") == 0;
    return ST_OK;
}
