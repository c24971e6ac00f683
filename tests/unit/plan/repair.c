// Repairing a packing: cases by hand, and what comes out of random ones holds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "plan/repair.h"
#include "plan_test.h"

enum { MOST = 300, MUCH = 100000 };

// Blocks with an offset each: repaired, where that works out.
typedef struct given {
    uint32_t count;
    tni_block blocks[MOST];
} given;

static bool repair(given *g, uint64_t limit, uint64_t work)
{
    tni_arena arena;
    tni_plan_sections in;
    tni_arena_init(&arena, NULL);
    assert_true(tni_plan_sections_make(g->blocks, g->count, &arena, &in));
    float length[MOST];
    uint64_t offsets[MOST], found[MOST];
    for (uint32_t i = 0; i < in.item_count; i++) {
        length[i] = (float)(in.items[i].end - in.items[i].first);
        offsets[i] = g->blocks[in.items[i].block].offset;
    }
    tni_plan_repair *r = tni_plan_repair_make(&in, length, &arena);
    assert_non_null(r);
    const uint64_t *once = tni_plan_repair_run(r, offsets, limit, work);
    bool is_found = once != NULL;
    if (is_found)
        memcpy(found, once, in.item_count * sizeof *found);
    const uint64_t *again = tni_plan_repair_run(r, offsets, limit, work);
    assert_int_equal(again != NULL, is_found);
    for (uint32_t i = 0; is_found && i < in.item_count; i++) {
        assert_int_equal(again[i], found[i]);
        g->blocks[in.items[i].block].offset = found[i];
    }
    tni_arena_finish(&arena);
    return is_found;
}

static uint64_t fullest(const given *g)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        uint64_t live = 0;
        for (uint32_t j = 0; j < g->count; j++)
            if (g->blocks[j].first <= g->blocks[i].first && g->blocks[j].last >= g->blocks[i].first)
                live += g->blocks[j].bytes;
        most = live > most ? live : most;
    }
    return most;
}

static void what_is_low_enough_stays(void **state)
{
    (void)state;
    given g = { .count = 2, .blocks = { { 0, 3, 10, 5 }, { 1, 2, 10, 15 } } };
    assert_true(repair(&g, 25, MUCH));
    assert_int_equal(g.blocks[0].offset, 5);
    assert_int_equal(g.blocks[1].offset, 15);
}

static void what_ends_too_high_goes_into_a_gap(void **state)
{
    (void)state;
    given g = { .count = 3, .blocks = { { 0, 3, 10, 0 }, { 0, 3, 10, 15 }, { 1, 2, 5, 25 } } };
    assert_true(repair(&g, 25, 1));   // in one move
    assert_int_equal(g.blocks[0].offset, 0);
    assert_int_equal(g.blocks[1].offset, 15);
    assert_int_equal(g.blocks[2].offset, 10);
}

// Both others are in the way of the last one at 0, only the second is at 1, and it has room at 0.
static void what_weighs_less_makes_room(void **state)
{
    (void)state;
    given g = { .count = 3, .blocks = { { 0, 1, 1, 0 }, { 2, 2, 1, 1 }, { 1, 2, 2, 2 } } };
    assert_true(repair(&g, 3, MUCH));
    assert_int_equal(g.blocks[0].offset, 0);
    assert_int_equal(g.blocks[1].offset, 0);
    assert_int_equal(g.blocks[2].offset, 1);
}

static void what_cannot_be_found_is_left_alone(void **state)
{
    (void)state;
    // No packing of these is as low as their bound.
    for (uint32_t k = 0; k < TEST_GAPS; k++) {
        given g = { .count = TEST_GAP_BLOCKS };
        memcpy(g.blocks, test_gaps[k], sizeof test_gaps[k]);
        uint64_t offset = 0;
        for (uint32_t i = 0; i < g.count; i++) {
            g.blocks[i].offset = offset;
            offset += g.blocks[i].bytes;
        }
        given before = g;
        assert_false(repair(&g, fullest(&g), MUCH));
        assert_memory_equal(&g, &before, sizeof g);
    }
    given two = { .count = 2, .blocks = { { 0, 0, 10, 0 }, { 0, 0, 10, 20 } } };
    assert_false(repair(&two, 20, 0));
    assert_true(repair(&two, 20, 1));
    assert_false(repair(&two, UINT64_MAX, MUCH));
}

static bool overlap(const tni_block *a, const tni_block *b)
{
    return a->first <= b->last && b->first <= a->last && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

// Each as low as those before it leave room.
static uint64_t first_fit(given *g)
{
    uint64_t highest = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        tni_block *b = &g->blocks[i];
        b->offset = 0;
        for (uint32_t j = 0; j < i; j++) {
            if (!overlap(b, &g->blocks[j]))
                continue;
            b->offset = g->blocks[j].offset + g->blocks[j].bytes;
            j = UINT32_MAX;   // from the start again
        }
        highest = b->offset + b->bytes > highest ? b->offset + b->bytes : highest;
    }
    return highest;
}

static void random_packings_come_down(void **state)
{
    (void)state;
    enum { GRAPHS = 50 };
    uint32_t found = 0;
    for (uint32_t seed = 1; seed <= GRAPHS; seed++) {
        given g = { .count = MOST };
        test_layered(g.blocks, g.count, seed);
        uint64_t highest = first_fit(&g), bound = fullest(&g);
        uint64_t limit = bound + bound / 16;
        assert_int_equal(test_highest_block(g.blocks, g.count), highest);
        if (repair(&g, limit, MUCH)) {
            assert_true(test_highest_block(g.blocks, g.count) <= limit);
            found++;
        }
    }
    assert_true(found >= GRAPHS * 4 / 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_low_enough_stays),
        cmocka_unit_test(what_ends_too_high_goes_into_a_gap),
        cmocka_unit_test(what_weighs_less_makes_room),
        cmocka_unit_test(what_cannot_be_found_is_left_alone),
        cmocka_unit_test(random_packings_come_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
