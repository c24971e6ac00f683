// A skyline pass: small cases by hand, and others as the rule gives them when it is followed
// plainly; what is fixed stays, nothing crosses a chunk, and nothing overlaps.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "plan/skyline.h"
#include "plan_test.h"

enum { MOST = 200 };

// Everything by block, not by item, so that cases read as they are written.
typedef struct given {
    uint32_t count;
    tni_block blocks[MOST];   // offset: of those that are fixed
    bool is_fixed[MOST];
    float urgency[MOST];
} given;

// Of a pass that is told step by step: the lowest valley is filled first.
typedef struct plain {
    const tni_plan_sections *in;
    uint64_t chunk_bytes;
    bool *is_placed;   // by item; of a fixed one: the floor has come up to it
    uint64_t *floor;   // by section
} plain;

static bool reaches_into_fixed(const plain *p, uint32_t item, uint64_t top, const bool *is_fixed,
                               const uint64_t *offsets)
{
    const tni_item *items = p->in->items, *it = &items[item];
    for (uint32_t i = 0; i < p->in->item_count; i++)
        if (is_fixed[i] && !p->is_placed[i] && offsets[i] < top && items[i].first < it->end &&
            it->first < items[i].end)
            return true;
    return false;
}

// The item to lie on the floor of the valley; TNP_NONE.
static uint32_t plain_choice(const plain *p, tni_item valley, const float *urgency,
                             const bool *is_fixed, const uint64_t *offsets)
{
    uint32_t best = TNP_NONE;
    for (uint32_t i = 0; i < p->in->item_count; i++) {
        const tni_item *it = &p->in->items[i];
        if (is_fixed[i] || p->is_placed[i] || it->first < valley.first || it->end > valley.end ||
            (best != TNP_NONE && urgency[i] <= urgency[best]))
            continue;
        if (p->chunk_bytes && valley.bytes % p->chunk_bytes + it->bytes > p->chunk_bytes)
            continue;
        if (!reaches_into_fixed(p, i, valley.bytes + it->bytes, is_fixed, offsets))
            best = i;
    }
    return best;
}

static void plain_run(const plain *p, const float *urgency, const bool *is_fixed, uint64_t *offsets)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < p->in->item_count; i++)
        left += !is_fixed[i];
    while (left) {
        tni_item v = { .bytes = UINT64_MAX };   // the valley; bytes: its floor
        for (uint32_t s = 0; s < p->in->count; s++)
            if (p->floor[s] < v.bytes)
                v = (tni_item){ .first = s, .bytes = p->floor[s] };
        for (v.end = v.first; v.end < p->in->count && p->floor[v.end] == v.bytes;)
            v.end++;
        uint64_t wall = v.first ? p->floor[v.first - 1] : UINT64_MAX;
        if (v.end < p->in->count && p->floor[v.end] < wall)
            wall = p->floor[v.end];
        uint32_t item = plain_choice(p, v, urgency, is_fixed, offsets);
        if (item != TNP_NONE) {
            offsets[item] = v.bytes;
            left--;
        } else {
            for (uint32_t i = 0; i < p->in->item_count; i++)
                if (is_fixed[i] && !p->is_placed[i] && p->in->items[i].first < v.end &&
                    v.first < p->in->items[i].end && offsets[i] < wall) {
                    wall = offsets[i];
                    item = i;
                }
        }
        uint32_t first = item == TNP_NONE ? v.first : p->in->items[item].first;
        uint32_t end = item == TNP_NONE ? v.end : p->in->items[item].end;
        uint64_t room = p->chunk_bytes ? p->chunk_bytes - v.bytes % p->chunk_bytes : UINT64_MAX;
        uint64_t height = wall - v.bytes > room ? v.bytes + room : wall;
        if (item != TNP_NONE) {
            p->is_placed[item] = true;
            height = offsets[item] + p->in->items[item].bytes;
        }
        for (uint32_t s = first; s < end; s++)
            p->floor[s] = height;
    }
}

static void need_plain(const tni_plan_sections *in, uint64_t chunk_bytes, const float *urgency,
                       const bool *is_fixed, const uint64_t *offsets)
{
    bool is_placed[MOST] = { false };
    uint64_t floor[2 * MOST] = { 0 }, own[MOST];
    memcpy(own, offsets, in->item_count * sizeof *own);
    plain_run(&(plain){ in, chunk_bytes, is_placed, floor }, urgency, is_fixed, own);
    assert_memory_equal(own, offsets, in->item_count * sizeof *own);
}

// Sets the offsets of the blocks. Returns the highest end.
static uint64_t run_in_chunks(given *g, uint64_t chunk_bytes)
{
    tni_arena arena;
    tni_plan_sections in;
    tni_arena_init(&arena, NULL);
    assert_true(tni_plan_sections_make(g->blocks, g->count, &arena, &in));
    tni_plan_skyline *skyline = tni_plan_skyline_make(&in, chunk_bytes, &arena);
    assert_non_null(skyline);
    bool is_fixed[MOST];
    float urgency[MOST];
    uint64_t offsets[MOST];
    for (uint32_t i = 0; i < in.item_count; i++) {
        uint32_t block = in.items[i].block;
        is_fixed[i] = g->is_fixed[block];
        urgency[i] = g->urgency[block];
        offsets[i] = g->blocks[block].offset;
    }
    uint64_t highest = tni_plan_skyline_run(skyline, urgency, is_fixed, offsets);
    uint64_t again[MOST];
    memcpy(again, offsets, in.item_count * sizeof *again);
    assert_int_equal(tni_plan_skyline_run(skyline, urgency, is_fixed, again), highest);
    assert_memory_equal(again, offsets, in.item_count * sizeof *again);
    need_plain(&in, chunk_bytes, urgency, is_fixed, offsets);
    for (uint32_t i = 0; i < in.item_count; i++)
        g->blocks[in.items[i].block].offset = offsets[i];
    tni_arena_finish(&arena);
    return highest;
}

static uint64_t run(given *g)
{
    return run_in_chunks(g, 0);
}

static void need_valid(const given *g, uint64_t highest)
{
    assert_int_equal(test_highest_block(g->blocks, g->count), highest);
}

static void small_cases_come_out_as_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        uint32_t count;
        tni_block blocks[4];   // a fixed one has an offset here; others have FREE
        float urgency[4];
        uint64_t offsets[4];
    } cases[] = {
#define FREE UINT64_MAX
        { "the most urgent lies at the bottom",
          2,
          { { 0, 3, 10, FREE }, { 0, 3, 20, FREE } },
          { 1, 2 },
          { 20, 0 } },
        { "beside each other in one valley",
          3,
          { { 0, 1, 10, FREE }, { 2, 3, 20, FREE }, { 0, 3, 5, FREE } },
          { 3, 2, 1 },
          { 0, 0, 20 } },
        { "below a fixed one, as high as the room is",
          2,
          { { 0, 3, 10, 30 }, { 1, 2, 30, FREE } },
          { 0, 1 },
          { 30, 0 } },
        { "above a fixed one, by one byte too large",
          2,
          { { 0, 3, 10, 30 }, { 1, 2, 31, FREE } },
          { 0, 1 },
          { 30, 40 } },
        { "beside a fixed one that its neighbour rests on",
          3,
          { { 0, 1, 10, 0 }, { 2, 3, 10, FREE }, { 0, 0, 7, FREE } },
          { 0, 1, 1 },
          { 0, 0, 10 } },
        { "between two fixed ones",
          3,
          { { 0, 3, 10, 0 }, { 0, 3, 10, 25 }, { 0, 3, 15, FREE } },
          { 0, 0, 1 },
          { 0, 25, 10 } },
        { "what covers more than the fixed one ends below it too",
          3,
          { { 2, 3, 10, 20 }, { 0, 3, 21, FREE }, { 0, 1, 5, FREE } },
          { 0, 2, 1 },
          { 20, 30, 0 } },
    };
    for (size_t c = 0; c < TN_COUNT_OF(cases); c++) {
        given g = { .count = cases[c].count };
        for (uint32_t i = 0; i < g.count; i++) {
            g.blocks[i] = cases[c].blocks[i];
            g.is_fixed[i] = g.blocks[i].offset != FREE;
            g.urgency[i] = cases[c].urgency[i];
        }
        need_valid(&g, run(&g));
        for (uint32_t i = 0; i < g.count; i++)
            if (g.blocks[i].offset != cases[c].offsets[i])
                fail_msg("%s: block %u at %" PRIu64 ", not %" PRIu64, cases[c].says, i,
                         g.blocks[i].offset, cases[c].offsets[i]);
    }
}

// Places all, then fixes some of them where they are, or higher, and places the others anew.
static void what_is_fixed_stays_and_nothing_overlaps(void **state)
{
    (void)state;
    uint32_t seed = 11;
    for (int round = 0; round < 2000; round++) {
        given g = { .count = 1 + test_random(&seed) % (round % 20 ? 40 : MOST) };
        uint32_t steps = 1 + test_random(&seed) % 60, longest = 1 + test_random(&seed) % 30;
        for (uint32_t i = 0; i < g.count; i++) {
            uint32_t first = test_random(&seed) % steps;
            g.blocks[i] = (tni_block){ first, first + test_random(&seed) % longest,
                                       1 + test_random(&seed) % 8 * 64, 0 };
            g.urgency[i] = (float)(test_random(&seed) % 10);
        }
        need_valid(&g, run(&g));
        uint64_t lift = test_random(&seed) % 2 * 100, kept[MOST];
        for (uint32_t i = 0; i < g.count; i++) {
            g.is_fixed[i] = test_random(&seed) % 4 == 0;
            g.urgency[i] = (float)(test_random(&seed) % 10);
            g.blocks[i].offset += lift;
            kept[i] = g.blocks[i].offset;
        }
        need_valid(&g, run(&g));
        for (uint32_t i = 0; i < g.count; i++)
            if (g.is_fixed[i])
                assert_int_equal(g.blocks[i].offset, kept[i]);
    }
}

static void nothing_crosses_the_end_of_a_chunk(void **state)
{
    (void)state;
    uint32_t seed = 5;
    for (int round = 0; round < 500; round++) {
        given g = { .count = 1 + test_random(&seed) % MOST };
        uint64_t chunk_bytes = 512 + test_random(&seed) % 4 * 64;
        for (uint32_t i = 0; i < g.count; i++) {
            uint32_t first = test_random(&seed) % 40;
            g.blocks[i] = (tni_block){ first, first + test_random(&seed) % 20,
                                       1 + test_random(&seed) % 8 * 64, 0 };
            g.urgency[i] = (float)(test_random(&seed) % 10);
        }
        need_valid(&g, run_in_chunks(&g, chunk_bytes));
        for (uint32_t i = 0; i < g.count; i++)
            assert_true(g.blocks[i].offset % chunk_bytes + g.blocks[i].bytes <= chunk_bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_cases_come_out_as_by_hand),
        cmocka_unit_test(what_is_fixed_stays_and_nothing_overlaps),
        cmocka_unit_test(nothing_crosses_the_end_of_a_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
