// kernels_isa.c: the choice of a level.
#include "ops_support.h"

#include <string.h>

static void scalar_runs_everywhere(void **state)
{
    const char *reason = "unset";
    const cpu_kernels *kernels = cpu_kernels_choose("scalar", &reason);

    (void)state;
    assert_non_null(kernels);
    assert_null(reason);
    assert_string_equal(kernels->level, "scalar");
}

static void no_word_means_the_highest_level(void **state)
{
    static const char *const names[] = { "avx2", "avx512vnni", "neon", "neondot" };
    const char *reason = "unset";
    const cpu_kernels *highest = test_level(0), *level;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if ((level = cpu_kernels_choose(names[i], &reason)))
            highest = level;
    assert_ptr_equal(cpu_kernels_choose(NULL, &reason), highest);
    assert_null(reason);
    assert_ptr_equal(cpu_kernels_choose("", &reason), highest);
}

static void an_unknown_word_is_refused_with_a_reason(void **state)
{
    static const char *const words[] = { "sse", "AVX2", "avx2 ", "avx512" };

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *reason = NULL;

        assert_null(cpu_kernels_choose(words[i], &reason));
        assert_non_null(reason);
        assert_non_null(strstr(reason, "TENON_CPU_ISA"));
    }
}

static void a_level_runs_here_or_is_refused_with_a_reason(void **state)
{
    static const char *const words[] = { "avx2", "avx512vnni", "neon", "neondot" };

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *reason = NULL;
        const cpu_kernels *kernels = cpu_kernels_choose(words[i], &reason);

        if (kernels)
            assert_string_equal(kernels->level, words[i]);
        else
            assert_non_null(strstr(reason, "TENON_CPU_ISA"));
    }
}

static void no_slot_of_any_level_is_empty(void **state)
{
    (void)state;
    for (uint32_t i = 0; test_level(i); i++) {
        const cpu_kernels *kernels = test_level(i);
#define KERNEL(name, type, ...) assert_non_null(kernels->name);
#include "kernels.def"
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalar_runs_everywhere),
        cmocka_unit_test(no_word_means_the_highest_level),
        cmocka_unit_test(an_unknown_word_is_refused_with_a_reason),
        cmocka_unit_test(a_level_runs_here_or_is_refused_with_a_reason),
        cmocka_unit_test(no_slot_of_any_level_is_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
