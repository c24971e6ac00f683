// isa.c: the choice of a level, by CPUID for what the processor has and by XGETBV for what the
// operating system saves; on AArch64 by what the kernel says of the processor.
#include "isa.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

static uint64_t saved_registers(void)
{
    uint32_t low, high;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

// Bits of XCR0.
enum { SSE_AND_AVX = 0x6, MASKS_AND_512 = 0xe0 };

// The level avx2 takes AVX2, FMA and F16C.
static int has_avx2(void)
{
    uint32_t a, b, c, d, a7, b7, c7, d7;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !__get_cpuid_count(7, 0, &a7, &b7, &c7, &d7))
        return 0;
    if (!(c & bit_OSXSAVE) || (saved_registers() & SSE_AND_AVX) != SSE_AND_AVX)
        return 0;
    return (c & bit_AVX) && (c & bit_FMA) && (c & bit_F16C) && (b7 & bit_AVX2);
}

// The level avx512vnni takes AVX-512 F, BW, DQ, VL and VNNI beside avx2.
static int has_avx512vnni(void)
{
    const uint32_t b_wanted = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    uint32_t a, b, c, d;

    if (!has_avx2() || (saved_registers() & MASKS_AND_512) != MASKS_AND_512 ||
        !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 0;
    return (b & b_wanted) == b_wanted && (c & bit_AVX512VNNI);
}
#elif defined(__aarch64__)
#include <sys/auxv.h>

static int has_neon(void)
{
    return 1;   // a part of AArch64
}

static int has_neondot(void)
{
    const unsigned long dot_product = 1ul << 20;   // HWCAP_ASIMDDP

    return (getauxval(AT_HWCAP) & dot_product) != 0;
}
#endif

static int has_scalar(void)
{
    return 1;
}

#if defined(__x86_64__)
#define LEVELS "scalar, avx2, avx512vnni"
#elif defined(__aarch64__)
#define LEVELS "scalar, neon, neondot"
#else
#define LEVELS "scalar"
#endif

// Lowest first.
static const struct {
    const cpu_kernels *kernels;
    int (*runs_here)(void);
} levels[] = {
    { &cpu_kernels_scalar, has_scalar },
#if defined(__x86_64__)
    { &cpu_kernels_avx2, has_avx2 },
    { &cpu_kernels_avx512vnni, has_avx512vnni },
#elif defined(__aarch64__)
    { &cpu_kernels_neon, has_neon },
    { &cpu_kernels_neondot, has_neondot },
#endif
};

const cpu_kernels *cpu_kernels_choose(const char *wanted, const char **reason)
{
    const cpu_kernels *highest = NULL;
    int has_name = wanted && *wanted;

    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        int runs = levels[i].runs_here();

        if (has_name && !strcmp(wanted, levels[i].kernels->level)) {
            *reason = runs ? NULL : "TENON_CPU_ISA names a level that this processor does not run";
            return runs ? levels[i].kernels : NULL;
        }
        if (runs)
            highest = levels[i].kernels;
    }
    *reason = has_name ? "TENON_CPU_ISA names no level of this build (" LEVELS ")" : NULL;
    return has_name ? NULL : highest;
}
