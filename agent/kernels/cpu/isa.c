/* agent/kernels/cpu/isa.c: which instruction sets this processor and its operating system offer. The
 * compiler's own test is used: it reads CPUID and, by XGETBV, whether the system saves the wide registers. */
#include "agent/kernels/kernels.h"

#include <string.h>

uint32_t cpu_isa_detect(void)
{
    uint32_t mask = 0;

#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        mask |= ISA_AVX2;
    /* The AVX-512 files are built with AVX2 and FMA as well. */
    if ((mask & ISA_AVX2) != 0 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        mask |= ISA_AVX512;
    if ((mask & ISA_AVX512) != 0 && __builtin_cpu_supports("avx512bf16"))
        mask |= ISA_AVX512_BF16;
#endif
    /* ISA_AMX_BF16 is never set here: its tile state needs a permission request, which comes with the first
     * kernel that uses it. */
    return mask;
}

/* Each word allows what it names and everything below it. */
static const struct isa_word {
    const char *text;
    uint32_t needs, allows;
} isa_words[] = {
    {"scalar", 0, 0},
    {"avx2", ISA_AVX2, ISA_AVX2},
    {"avx512", ISA_AVX512, ISA_AVX512 | ISA_AVX2},
    {"avx512-bf16", ISA_AVX512_BF16, ISA_AVX512_BF16 | ISA_AVX512 | ISA_AVX2},
    {"amx", ISA_AMX_BF16, ISA_AMX_BF16 | ISA_AVX512_BF16 | ISA_AVX512 | ISA_AVX2},
};

enum status cpu_isa_parse(const char *text, uint32_t *mask, struct error *err)
{
    const uint32_t host = cpu_isa_detect();

    if (strcmp(text, "auto") == 0) {
        *mask = host;
        return ST_OK;
    }
    for (size_t i = 0; i < ARRAY_LEN(isa_words); i++) {
        const struct isa_word *word = &isa_words[i];

        if (strcmp(text, word->text) != 0)
            continue;
        if ((host & word->needs) != word->needs)
            return error_set(
                err, ST_UNSUPPORTED, "isa",
                "this processor or its operating system has no %s; the best here is %s", text,
                cpu_isa_name(host));
        *mask = word->allows & host;
        return ST_OK;
    }
    return error_set(
        err, ST_USAGE, "isa",
        "'%s' is no instruction set; choose auto, amx, avx512-bf16, avx512, avx2 or scalar", text);
}

/* VDPBF16PS does twice the products of an FMA in the same time on AMD's processors, and half of them on Intel's (0.15
 * TFLOP/s beside 0.30 on two Emerald Rapids cores), where AMX is what bf16 is for. */
bool cpu_bf16_pays(uint32_t mask)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return (mask & ISA_AVX512_BF16) != 0 && __builtin_cpu_is("amd") != 0;
#else
    (void)mask;
    return false;
#endif
}

const char *cpu_isa_name(uint32_t mask)
{
    for (size_t i = ARRAY_LEN(isa_words); i-- > 0;)
        if ((mask & isa_words[i].needs) == isa_words[i].needs && isa_words[i].needs != 0)
            return isa_words[i].text;
    return isa_words[0].text;
}
