// Buffers that fit without a gap (tests/support/planted.py), from stdin, through the planner:
// alone, turned in time, with a part of them pinned where it lay, and in chunks.
//
// planted MOST_PERMILLE: how far the peak may be above the bound, which is the planted height.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"

enum { MOST = 1000, HEIGHT = 1 << 20, UNIT = 1024 };

static tni_interval buffers[MOST];
static uint32_t buffer_count;
static uint64_t most_permille;

static bool read_buffers(void)
{
    char line[128];
    uint32_t id, lower, upper;
    uint64_t size;
    if (!fgets(line, sizeof line, stdin) || strcmp(line, "id,lower,upper,size\n") != 0)
        return false;
    while (buffer_count < MOST && fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%" SCNu32 ",%" SCNu32 ",%" SCNu32 ",%" SCNu64, &id, &lower, &upper,
                   &size) != 4 ||
            id != buffer_count || lower >= upper || upper > HEIGHT)
            return false;
        buffers[buffer_count++] = (tni_interval){ lower, upper - 1, size, TNP_NONE, 0 };
    }
    return buffer_count > 0 && feof(stdin);
}

// The plan's arrays are the arena's.
static void pack(const tni_interval *in, const tni_plan_rules *rules, tni_arena *arena,
                 tni_plan *plan)
{
    tn_error err = { 0 };
    if (tni_plan_pack(in, buffer_count, rules, arena, plan, &err) != TN_OK ||
        tni_plan_validate(in, buffer_count, rules, plan, arena, &err) != TN_OK)
        fail_msg("%s", err.text);
    print_message("peak over bound: %.4f\n", (double)plan->peak_bytes / (double)plan->bound_bytes);
}

static void need_near_the_bound(const tni_plan *plan)
{
    assert_int_equal(plan->bound_bytes, HEIGHT);
    assert_in_range(plan->peak_bytes, HEIGHT, HEIGHT + HEIGHT / 1000 * most_permille);
}

static void planted_plans_are_found(void **state)
{
    (void)state;
    static const tni_plan_rules rules = { .alignment = UNIT };
    tni_arena arena;
    tni_plan plan;
    tni_arena_init(&arena, NULL);
    pack(buffers, &rules, &arena, &plan);
    need_near_the_bound(&plan);
    tni_arena_finish(&arena);
}

static void they_are_found_from_the_other_end_of_time(void **state)
{
    (void)state;
    static const tni_plan_rules rules = { .alignment = UNIT };
    static tni_interval turned[MOST];
    tni_arena arena;
    tni_plan plan;
    for (uint32_t i = 0; i < buffer_count; i++) {
        turned[i] = buffers[i];
        turned[i].first = HEIGHT - buffers[i].last;
        turned[i].last = HEIGHT - buffers[i].first;
    }
    tni_arena_init(&arena, NULL);
    pack(turned, &rules, &arena, &plan);
    need_near_the_bound(&plan);
    tni_arena_finish(&arena);
}

static void with_nine_of_ten_pinned_the_others_fit_between(void **state)
{
    (void)state;
    static tni_pin pins[MOST];
    tni_plan_rules rules = { .alignment = UNIT };
    tni_arena arena;
    tni_plan plan, again;
    tni_arena_init(&arena, NULL);
    pack(buffers, &rules, &arena, &plan);
    for (uint32_t i = 0; i < buffer_count; i++)
        if (i % 10)
            pins[rules.pin_count++] = (tni_pin){ i, plan.offsets[i] };
    rules.pins = pins;
    pack(buffers, &rules, &arena, &again);
    assert_true(again.peak_bytes * 100 <= plan.peak_bytes * 105);
    tni_arena_finish(&arena);
}

static void in_chunks_of_the_height_and_of_two_thirds_they_fit_too(void **state)
{
    (void)state;
    tni_plan_rules rules = { .alignment = UNIT, .chunk_bytes = HEIGHT };
    uint64_t largest = 0;
    tni_arena arena;
    tni_plan plan;
    tni_arena_init(&arena, NULL);
    pack(buffers, &rules, &arena, &plan);
    for (uint32_t i = 0; i < buffer_count; i++)
        largest = buffers[i].bytes > largest ? buffers[i].bytes : largest;
    rules.chunk_bytes = HEIGHT * 2 / 3 / UNIT * UNIT;
    rules.chunk_bytes = largest > rules.chunk_bytes ? largest : rules.chunk_bytes;
    pack(buffers, &rules, &arena, &plan);
    assert_true(plan.peak_bytes <= 2 * (uint64_t)HEIGHT);
    tni_arena_finish(&arena);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_plans_are_found),
        cmocka_unit_test(they_are_found_from_the_other_end_of_time),
        cmocka_unit_test(with_nine_of_ten_pinned_the_others_fit_between),
        cmocka_unit_test(in_chunks_of_the_height_and_of_two_thirds_they_fit_too),
    };
    most_permille = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    if (!read_buffers()) {
        fprintf(stderr, "planted: no rows of id,lower,upper,size on stdin\n");
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
