// fits.c: whether a manifest fits this host and this machine.
#include <elf.h>
#include <stdio.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "base/error.h"
#include "base/macros.h"
#include "plugin/plugin_internal.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };

static bool has_all(uint32_t word, uint32_t bits)
{
    return (word & bits) == bits;
}

// The levels of the x86-64 psABI: what the CPU has and, for the wide registers, what the system
// saves (XCR0).
static uint32_t detect_cpu(void)
{
    enum { SAVES_AVX = 0x6, SAVES_AVX512 = 0xe6 };
    uint32_t a, b, c, d, saved = 0, found = 0;
    uint32_t leaf1_c, leaf7_b = 0, extended_c = 0;
    if (!__get_cpuid(1, &a, &b, &leaf1_c, &d))
        return 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
        leaf7_b = b;
    if (__get_cpuid(0x80000001u, &a, &b, &c, &d))
        extended_c = c;
    if (leaf1_c & bit_OSXSAVE) {
        uint32_t high;
        __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    }
    bool v2 = has_all(leaf1_c, bit_SSE3 | bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT |
                                   bit_CMPXCHG16B) &&
              has_all(extended_c, bit_LAHF_LM);
    bool v3 = v2 && has_all(saved, SAVES_AVX) &&
              has_all(leaf1_c, bit_AVX | bit_F16C | bit_FMA | bit_MOVBE) &&
              has_all(leaf7_b, bit_AVX2 | bit_BMI | bit_BMI2) && has_all(extended_c, bit_LZCNT);
    bool v4 = v3 && has_all(saved, SAVES_AVX512) &&
              has_all(leaf7_b,
                      bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL);
    found |= v2 ? TNP_CPU_X86_64_V2 : 0;
    found |= v3 ? TNP_CPU_X86_64_V3 : 0;
    found |= v4 ? TNP_CPU_X86_64_V4 : 0;
    return found;
}

static const char *const feature_names[] = {
    "x86-64-v2",
    "x86-64-v3 (AVX2)",
    "x86-64-v4 (AVX-512)",
};
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };

static uint32_t detect_cpu(void)
{
    // The kernel's HWCAP bits.
    enum { CAP_DOTPROD = 1u << 20, CAP_SVE = 1u << 22, CAP2_I8MM = 1u << 13 };
    unsigned long caps = getauxval(AT_HWCAP), caps2 = getauxval(AT_HWCAP2);
    uint32_t found = 0;
    found |= caps & CAP_DOTPROD ? TNP_CPU_ARM_DOTPROD : 0;
    found |= caps2 & CAP2_I8MM ? TNP_CPU_ARM_I8MM : 0;
    found |= caps & CAP_SVE ? TNP_CPU_ARM_SVE : 0;
    return found;
}

static const char *const feature_names[] = { "dot product", "I8MM", "SVE" };
#else
#error "the plugin host knows x86-64 and AArch64"
#endif

void tni_here_detect(tni_here *out_here)
{
    *out_here = (tni_here){ .abi = TNP_ABI_CURRENT, .machine = MACHINE, .os = TNP_OS_LINUX };
#if defined(__ANDROID__)
    out_here->os = TNP_OS_ANDROID;
#endif
    out_here->cpu_features[0] = detect_cpu();
}

static const char *machine_name(uint32_t machine, char *room, size_t bytes)
{
    switch (machine) {
    case EM_X86_64:
        return "x86-64";
    case EM_AARCH64:
        return "AArch64";
    case EM_RISCV:
        return "RISC-V";
    default:
        snprintf(room, bytes, "machine %u", machine);
        return room;
    }
}

// The name of the lowest bit of the two words.
static const char *feature_name(const uint32_t missing[2], char *room, size_t bytes)
{
    uint32_t word = missing[0] ? 0 : 1;
    uint32_t bit = (uint32_t)__builtin_ctz(missing[word]) + 32 * word;
    if (bit < TN_COUNT_OF(feature_names))
        return feature_names[bit];
    snprintf(room, bytes, "CPU feature %u, which this release does not know", bit);
    return room;
}

static uint32_t major_of(uint32_t abi)
{
    return abi >> 16;
}
static uint32_t minor_of(uint32_t abi)
{
    return abi & 0xffffu;
}

tn_status tni_manifest_fits(const tnp_manifest *m, const tni_here *here, tn_error *err)
{
    char one[32], two[64];
    if (major_of(m->abi) != major_of(here->abi))
        return tni_fail(
            err, TN_E_VERSION, "built for ABI %u.%u, this host speaks %u.%u: another major",
            major_of(m->abi), minor_of(m->abi), major_of(here->abi), minor_of(here->abi));
    if (m->abi_needed > here->abi)
        return tni_fail(err, TN_E_VERSION,
                        "needs a host of ABI %u.%u, this one speaks %u.%u: update Tenon",
                        major_of(m->abi_needed), minor_of(m->abi_needed), major_of(here->abi),
                        minor_of(here->abi));
    if (m->machine != here->machine)
        return tni_fail(err, TN_E_PLUGIN, "built for %s, this process is %s",
                        machine_name(m->machine, one, sizeof one),
                        machine_name(here->machine, two, sizeof two));
    if (m->os != here->os)
        return tni_fail(err, TN_E_PLUGIN, "built for system %u, this is %u", m->os, here->os);
    if (TNP_ALIEN(m->flags, 0))
        return tni_fail(err, TN_E_VERSION, "manifest flags 0x%x are not known to this release",
                        m->flags);
    uint32_t missing[2] = { m->cpu_features[0] & ~here->cpu_features[0],
                            m->cpu_features[1] & ~here->cpu_features[1] };
    if (missing[0] || missing[1])
        return tni_fail(err, TN_E_PLUGIN, "cannot be loaded on this CPU, it lacks %s",
                        feature_name(missing, two, sizeof two));
    return TN_OK;
}
