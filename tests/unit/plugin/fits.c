// Whether a manifest fits a host and a machine: machines of every sort, made up.
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "plugin/plugin_internal.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64, OTHER_MACHINE = EM_AARCH64, FEATURE = TNP_CPU_X86_64_V4 };
#define FEATURE_TEXT "x86-64-v4 (AVX-512)"
#else
enum { MACHINE = EM_AARCH64, OTHER_MACHINE = EM_X86_64, FEATURE = TNP_CPU_ARM_SVE };
#define FEATURE_TEXT "SVE"
#endif

// What a case leaves 0 is as in a good manifest of ABI 1.0.
static const struct {
    const char *says;
    tnp_manifest manifest;
    tn_status status;
    const char *reason;
} cases[] = {
    { "a plugin of 1.0", { 0 }, TN_OK, "" },
    { "the host's own release", { .abi = TNP_ABI(1, 2), .abi_needed = TNP_ABI(1, 2) }, TN_OK, "" },
    { "a newer plugin that can live with less", { .abi = TNP_ABI(1, 9) }, TN_OK, "" },
    { "a flag that may be ignored", { .flags = 1u << 15 }, TN_OK, "" },
    { "a CPU feature that is there", { .cpu_features = { 1 } }, TN_OK, "" },
    { "a newer plugin that needs more",
      { .abi = TNP_ABI(1, 9), .abi_needed = TNP_ABI(1, 3) },
      TN_E_VERSION,
      "needs a host of ABI 1.3, this one speaks 1.2" },
    { "the next major",
      { .abi = TNP_ABI(2, 0) },
      TN_E_VERSION,
      "built for ABI 2.0, this host speaks 1.2" },
    { "the major before", { .abi = TNP_ABI(0, 9) }, TN_E_VERSION, "built for ABI 0.9" },
    { "another machine", { .machine = OTHER_MACHINE }, TN_E_PLUGIN, "this process is" },
    { "another system", { .os = TNP_OS_WINDOWS }, TN_E_PLUGIN, "built for system 2" },
    { "a flag that may not be ignored", { .flags = 1u << 16 }, TN_E_VERSION, "flags 0x10000" },
    { "a CPU feature that is not there",
      { .cpu_features = { FEATURE } },
      TN_E_PLUGIN,
      "it lacks " FEATURE_TEXT },
    { "a CPU feature nobody knows", { .cpu_features = { 0, 4 } }, TN_E_PLUGIN, "CPU feature 34" },
};

static tnp_manifest fill_in(const tnp_manifest *given)
{
    tnp_manifest m = *given;
    m.abi = m.abi ? m.abi : TNP_ABI(1, 0);
    m.abi_needed = m.abi_needed ? m.abi_needed : TNP_ABI(1, 0);
    m.machine = m.machine ? m.machine : MACHINE;
    m.os = m.os ? m.os : TNP_OS_LINUX;
    return m;
}

static void a_manifest_fits_or_is_refused_with_both_sides(void **state)
{
    (void)state;
    const tni_here here = {
        .abi = TNP_ABI(1, 2), .machine = MACHINE, .os = TNP_OS_LINUX, .cpu_features = { 1, 0 }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tnp_manifest m = fill_in(&cases[i].manifest);
        tn_error err = { 0 };
        tn_status status = tni_manifest_fits(&m, &here, &err);
        if (status != cases[i].status || !strstr(err.text, cases[i].reason))
            fail_msg("%s: got %d '%s', expected %d '%s'", cases[i].says, (int)status, err.text,
                     (int)cases[i].status, cases[i].reason);
    }
}

static void a_level_of_this_cpu_holds_the_levels_below(void **state)
{
    (void)state;
    tni_here here;
    tni_here_detect(&here);
    assert_int_equal(here.machine, MACHINE);
    assert_int_equal(here.abi, TNP_ABI_CURRENT);
#if defined(__x86_64__)
    uint32_t found = here.cpu_features[0];
    assert_true(found == 0 || found == 1 || found == 3 || found == 7);
    assert_true((found & TNP_CPU_X86_64_V2) != 0 || !__builtin_cpu_supports("avx2"));
    assert_true((found & TNP_CPU_X86_64_V4) == 0 || __builtin_cpu_supports("avx512f"));
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_fits_or_is_refused_with_both_sides),
        cmocka_unit_test(a_level_of_this_cpu_holds_the_levels_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
