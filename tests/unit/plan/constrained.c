// Packing around pins, within chunks and under an order of tracks: small plans whose peak can be
// seen, and rules that cannot be kept.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "failing_alloc.h"
#include "plan/plan_internal.h"

#define NO TNP_NONE
enum { MOST = 8, CHUNK = 1024 };

typedef struct made {
    tni_arena arena;
    tni_plan plan;
    uint64_t offsets[MOST];
} made;

// Packs and validates.
static void pack(const char *says, const tni_interval *in, uint32_t count,
                 const tni_plan_rules *rules, made *out)
{
    tn_error err = { 0 };
    tni_arena arena;
    tni_arena_init(&arena, NULL);
    if (tni_plan_pack(in, count, rules, &arena, &out->plan, &err) != TN_OK ||
        tni_plan_validate(in, count, rules, &out->plan, &arena, &err) != TN_OK)
        fail_msg("%s: %s", says, err.text);
    memcpy(out->offsets, out->plan.offsets, count * sizeof *out->offsets);
    tni_arena_finish(&arena);
}

static void need_refused(const char *says, const tni_interval *in, uint32_t count,
                         const tni_plan_rules *rules, tn_status want, const char *words,
                         uint32_t refused)
{
    tn_error err = { 0 };
    tni_plan plan;
    tni_arena arena;
    tni_arena_init(&arena, NULL);
    tn_status status = tni_plan_pack(in, count, rules, &arena, &plan, &err);
    if (status != want || !strstr(err.text, words) || plan.refused != refused)
        fail_msg("%s: %s, interval %u, \"%s\"", says, tn_status_name(status), plan.refused,
                 err.text);
    tni_arena_finish(&arena);
}

// -------------------------------------------------------------------------------------------- pins

static void blocks_are_placed_around_what_is_pinned(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        tni_interval in[4];
        uint32_t count;
        tni_pin pins[3];
        uint32_t pin_count;
        uint64_t peak, bound;
    } cases[] = {
        { "one, where it is pinned", { { 0, 3, 64, NO, 0 } }, 1, { { 0, 128 } }, 1, 192, 192 },
        { "one at the beginning", { { 0, 3, 64, NO, 0 } }, 1, { { 0, 0 } }, 1, 64, 64 },
        { "what is free goes below",
          { { 0, 3, 64, NO, 0 }, { 0, 3, 128, NO, 0 } },
          2,
          { { 0, 128 } },
          1,
          192,
          192 },
        { "or above, when it is larger than the room",
          { { 0, 3, 64, NO, 0 }, { 0, 3, 192, NO, 0 } },
          2,
          { { 0, 128 } },
          1,
          384,
          256 },
        { "into the room between two",
          { { 0, 3, 64, NO, 0 }, { 0, 3, 64, NO, 0 }, { 1, 2, 128, NO, 0 } },
          3,
          { { 0, 0 }, { 1, 192 } },
          2,
          256,
          256 },
        { "the same bytes at another time",
          { { 0, 1, 64, NO, 0 }, { 2, 3, 64, NO, 0 }, { 2, 3, 64, NO, 0 } },
          3,
          { { 0, 0 }, { 1, 0 } },
          2,
          128,
          128 },
        { "what takes its place follows",
          { { 0, 2, 128, NO, 0 }, { 2, 4, 64, 0, 64 }, { 3, 4, 64, NO, 0 } },
          3,
          { { 0, 64 } },
          1,
          192,
          192 },
        { "all of them",
          { { 0, 3, 64, NO, 0 }, { 0, 3, 64, NO, 0 }, { 0, 3, 64, NO, 0 } },
          3,
          { { 2, 0 }, { 0, 64 }, { 1, 128 } },
          3,
          192,
          192 },
        { "pinned twice to one place",
          { { 0, 3, 64, NO, 0 } },
          1,
          { { 0, 64 }, { 0, 64 } },
          2,
          128,
          128 },
        { "without bytes, beyond all others",
          { { 0, 3, 64, NO, 0 }, { 0, 3, 0, NO, 0 } },
          2,
          { { 1, 256 } },
          1,
          256,
          256 },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        const tni_plan_rules rules = { .alignment = 64,
                                       .pin_count = cases[i].pin_count,
                                       .pins = cases[i].pins };
        made got;
        pack(cases[i].says, cases[i].in, cases[i].count, &rules, &got);
        if (got.plan.peak_bytes != cases[i].peak || got.plan.bound_bytes != cases[i].bound)
            fail_msg("%s: peak %" PRIu64 ", bound %" PRIu64, cases[i].says, got.plan.peak_bytes,
                     got.plan.bound_bytes);
    }
}

// One arena for three graphs: what lives on in one is pinned for the next, run after it.
static void graphs_that_share_an_arena_leave_what_lives_on_alone(void **state)
{
    (void)state;
    static const tni_interval first[] = { { 0, 9, 256, NO, 0 }, { 1, 3, 512, NO, 0 } };
    static const tni_interval second[] = { { 0, 9, 256, NO, 0 }, { 2, 4, 512, NO, 0 } };
    const tni_plan_rules free_rules = { .alignment = 64 };
    made got;
    pack("the first graph", first, 2, &free_rules, &got);
    const tni_pin pins[] = { { 0, got.offsets[0] } };
    const tni_plan_rules rules = { .alignment = 64, .pin_count = 1, .pins = pins };
    pack("the second graph", second, 2, &rules, &got);
    assert_int_equal(got.offsets[0], pins[0].offset);
    assert_int_equal(got.plan.peak_bytes, 768);
}

static void pins_that_cannot_be_kept_are_refused(void **state)
{
    (void)state;
    static const tni_interval in[] = { { 0, 2, 64, NO, 0 },
                                       { 2, 4, 100, NO, 0 },
                                       { 4, 5, 64, 1, 0 } };
    static const struct {
        const char *says;
        tni_pin pins[2];
        uint32_t pin_count;
        tn_status status;
        const char *words;
    } cases[] = {
        { "overlap", { { 0, 64 }, { 1, 0 } }, 2, TN_E_ARG, "may live together" },
        { "one place", { { 0, 0 }, { 1, 0 } }, 2, TN_E_ARG, "may live together" },
        { "alignment", { { 1, 32 } }, 1, TN_E_ARG, "no multiple of 64" },
        { "not there", { { 3, 0 } }, 1, TN_E_ARG, "interval 3 is pinned, of 3" },
        { "in place", { { 2, 0 } }, 1, TN_E_ARG, "takes the place of another" },
        { "two places", { { 1, 0 }, { 1, 64 } }, 2, TN_E_ARG, "at 0 and at 64" },
        { "across chunks", { { 1, CHUNK - 64 } }, 1, TN_E_ARG, "across two chunks" },
        { "an end that wraps", { { 1, UINT64_MAX - 63 } }, 1, TN_E_DEVICE_MEMORY, "2^63" },
        { "an end that wraps when rounded",
          { { 1, INT64_MAX - 63 } },
          1,
          TN_E_DEVICE_MEMORY,
          "2^63" },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        const tni_plan_rules rules = { .alignment = 64,
                                       .chunk_bytes = CHUNK,
                                       .pin_count = cases[i].pin_count,
                                       .pins = cases[i].pins };
        need_refused(cases[i].says, in, 3, &rules, cases[i].status, cases[i].words, NO);
    }
}

static void what_does_not_fit_above_a_pin_lies_below(void **state)
{
    (void)state;
    static const tni_interval in[] = { { 0, 1, 64, NO, 0 }, { 0, 1, 128, NO, 0 } };
    const tni_pin high = { 0, INT64_MAX - 127 };
    const tni_plan_rules rules = { .alignment = 64, .pin_count = 1, .pins = &high };
    made got;
    pack("room below", in, 2, &rules, &got);
    assert_int_equal(got.offsets[1], 0);
}

// ------------------------------------------------------------------------------------------ chunks

// Around the largest allocation.
static void nothing_crosses_the_end_of_a_chunk(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        uint64_t bytes[4];
        uint32_t count;
        uint64_t peak;
    } cases[] = {
        { "just under", { CHUNK - 1 }, 1, CHUNK },
        { "at", { CHUNK }, 1, CHUNK },
        { "two just under", { CHUNK - 1, CHUNK - 1 }, 2, 2 * CHUNK },
        { "two at, and a small one", { 64, CHUNK, CHUNK }, 3, 2 * CHUNK + 64 },
        { "halves", { CHUNK / 2, CHUNK / 2, CHUNK / 2, CHUNK / 2 }, 4, 2 * CHUNK },
        { "what would cross begins the next", { 640, 640 }, 2, CHUNK + 640 },
        { "room at the end is used", { 640, 640, 384 }, 3, CHUNK + 640 },
        { "what fits into one is one", { 512, 256, 256 }, 3, CHUNK },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        const tni_plan_rules rules = { .alignment = 64, .chunk_bytes = CHUNK };
        tni_interval in[4];
        made got;
        for (uint32_t j = 0; j < cases[i].count; j++)
            in[j] = (tni_interval){ 0, 1, cases[i].bytes[j], NO, 0 };
        pack(cases[i].says, in, cases[i].count, &rules, &got);
        if (got.plan.peak_bytes != cases[i].peak)
            fail_msg("%s: peak %" PRIu64, cases[i].says, got.plan.peak_bytes);
    }
}

static void what_is_larger_than_a_chunk_is_refused_by_its_index(void **state)
{
    (void)state;
    static const tni_interval in[] = { { 0, 1, CHUNK, NO, 0 },
                                       { 2, 3, CHUNK + 1, NO, 0 },
                                       { 4, 5, 2 * CHUNK, NO, 0 } };
    tni_plan_rules rules = { .alignment = 64, .chunk_bytes = CHUNK };
    need_refused("over", in, 3, &rules, TN_E_DEVICE_MEMORY,
                 "1025 bytes in one piece, and the largest allocation is 1024", 1);
    rules.chunk_bytes = CHUNK + 32;
    need_refused("no multiple", in, 3, &rules, TN_E_ARG, "no multiple of the alignment 64", NO);
}

// ------------------------------------------------------------------------------------------- order

typedef struct case_order {
    uint32_t steps, tracks, track[8];
    tni_plan_wait waits[8];
    uint32_t wait_count;
} case_order;

static void make_order(const case_order *c, const uint32_t *ends, tni_arena *arena,
                       tni_plan_order *out)
{
    *out = (tni_plan_order){ c->steps, c->tracks, c->track, NULL, ends };
    assert_int_equal(tni_plan_order_done(c->steps, c->tracks, c->track, c->waits, c->wait_count,
                                         arena, &out->done, NULL),
                     TN_OK);
}

static void bytes_are_shared_where_the_order_says_that_they_may(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        case_order order;
        tni_interval in[4];
        uint32_t count;
        uint32_t ends[8];   // [interval][track]
        uint64_t peak;
    } cases[] = {
        { "another track overwrites what is still read, for it waits for nothing",
          { 3, 2, { 0, 1, 0 }, { { 1, 0 } }, 1 },
          { { 0, 1, 64, NO, 0 }, { 2, 2, 64, NO, 0 } },
          2,
          { 1, 2, 3, 0 },
          128 },
        { "when it waits for the reader it may",
          { 3, 2, { 0, 1, 0 }, { { 1, 0 }, { 2, 1 } }, 2 },
          { { 0, 1, 64, NO, 0 }, { 2, 2, 64, NO, 0 } },
          2,
          { 1, 2, 3, 0 },
          64 },
        { "the producer runs again before the copy is done: a second buffer",
          { 4, 2, { 0, 1, 0, 1 }, { { 1, 0 }, { 3, 2 } }, 2 },
          { { 0, 1, 64, NO, 0 }, { 2, 3, 64, NO, 0 } },
          2,
          { 1, 2, 3, 4 },
          128 },
        { "read by another track and an output: nothing later takes its bytes",
          { 4, 2, { 0, 1, 0, 0 }, { { 1, 0 }, { 2, 1 } }, 2 },
          { { 0, 3, 64, NO, 0 }, { 2, 3, 64, NO, 0 } },
          2,
          { 4, 4, 4, 0 },
          128 },
        { "read by another track and no output",
          { 4, 2, { 0, 1, 0, 0 }, { { 1, 0 }, { 2, 1 } }, 2 },
          { { 0, 1, 64, NO, 0 }, { 2, 3, 64, NO, 0 } },
          2,
          { 1, 2, 4, 0 },
          64 },
        { "a wait reaches further by what was waited for",
          { 4, 3, { 0, 1, 2, 2 }, { { 1, 0 }, { 2, 1 } }, 2 },
          { { 0, 0, 64, NO, 0 }, { 3, 3, 64, NO, 0 } },
          2,
          { 1, 0, 0, 0, 0, 4 },
          64 },
        { "two at the same time, then one on either track after both",
          { 4, 2, { 0, 1, 0, 1 }, { { 2, 1 }, { 3, 0 } }, 2 },
          { { 0, 0, 64, NO, 0 }, { 1, 1, 64, NO, 0 }, { 2, 2, 64, NO, 0 }, { 3, 3, 64, NO, 0 } },
          4,
          { 1, 0, 0, 2, 3, 0, 0, 4 },
          128 },
        { "in place, when the other reader has ended",
          { 3, 2, { 0, 1, 0 }, { { 1, 0 }, { 2, 1 } }, 2 },
          { { 0, 2, 64, NO, 0 }, { 2, 2, 64, 0, 0 } },
          2,
          { 3, 2, 3, 0 },
          64 },
        { "in a line, as without an order",
          { 4, 1, { 0, 0, 0, 0 }, { { 0, 0 } }, 0 },
          { { 0, 1, 64, NO, 0 }, { 2, 3, 64, NO, 0 }, { 1, 2, 64, NO, 0 } },
          3,
          { 2, 4, 3 },
          128 },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tni_arena arena;
        tni_plan_order order;
        made got;
        tni_arena_init(&arena, NULL);
        make_order(&cases[i].order, cases[i].ends, &arena, &order);
        const tni_plan_rules rules = { .alignment = 64, .order = &order };
        pack(cases[i].says, cases[i].in, cases[i].count, &rules, &got);
        if (got.plan.peak_bytes != cases[i].peak || got.plan.bound_bytes != cases[i].peak)
            fail_msg("%s: peak %" PRIu64 ", bound %" PRIu64, cases[i].says, got.plan.peak_bytes,
                     got.plan.bound_bytes);
        tni_arena_finish(&arena);
    }
}

// Three tracks of two steps each: in the given order at most two are live, in others three.
static void the_bound_looks_at_every_order_of_execution(void **state)
{
    (void)state;
    static const case_order c = { 6, 3, { 0, 0, 1, 1, 2, 2 }, { { 0 } }, 0 };
    static const uint32_t ends[] = { 2, 0, 0, 0, 4, 0, 0, 0, 6 };
    static const tni_interval in[] = { { 0, 1, 64, NO, 0 },
                                       { 2, 3, 64, NO, 0 },
                                       { 4, 5, 64, NO, 0 } };
    tni_arena arena;
    tni_plan_order order;
    made got;
    tni_arena_init(&arena, NULL);
    make_order(&c, ends, &arena, &order);
    const tni_plan_rules rules = { .alignment = 64, .order = &order };
    pack("three tracks", in, 3, &rules, &got);
    assert_int_equal(got.plan.bound_bytes, 192);
    assert_int_equal(got.plan.peak_bytes, 192);
    tni_arena_finish(&arena);
}

static void waits_tell_what_has_ended(void **state)
{
    (void)state;
    static const uint32_t track[] = { 0, 0, 1, 1, 0 };
    static const tni_plan_wait waits[] = { { 4, 3 }, { 2, 0 } };
    static const uint32_t want[] = { 0, 0, 1, 0, 1, 0, 1, 3, 2, 4 };
    const uint32_t *done;
    tni_arena arena;
    tni_arena_init(&arena, NULL);
    assert_int_equal(tni_plan_order_done(5, 2, track, waits, 2, &arena, &done, NULL), TN_OK);
    assert_memory_equal(done, want, sizeof want);
    tni_arena_finish(&arena);
}

static void waits_that_make_no_order_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t track[3];
        tni_plan_wait waits[2];
        const char *words;
    } cases[] = {
        { { 0, 1, 0 }, { { 1, 1 }, { 2, 1 } }, "step 1 waits for step 1, which is not before it" },
        { { 0, 1, 0 }, { { 1, 0 }, { 0, 1 } }, "step 0 waits for step 1, which is not before it" },
        { { 0, 1, 0 }, { { 1, 0 }, { 3, 1 } }, "step 3 waits, of 3 steps" },
        { { 0, 1, 2 }, { { 1, 0 }, { 2, 1 } }, "step 2 is on track 2 of 2" },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tn_error err = { 0 };
        const uint32_t *done;
        tni_arena arena;
        tni_arena_init(&arena, NULL);
        assert_int_equal(
            tni_plan_order_done(3, 2, cases[i].track, cases[i].waits, 2, &arena, &done, &err),
            TN_E_ARG);
        assert_non_null(strstr(err.text, cases[i].words));
        assert_null(done);
        tni_arena_finish(&arena);
    }
}

static void lives_that_the_order_denies_are_refused(void **state)
{
    (void)state;
    static const case_order c = { 3, 2, { 0, 1, 0 }, { { 1, 0 } }, 1 };   // 2 waits for nothing
    static const struct {
        const char *says;
        tni_interval in[2];
        uint32_t count;
        uint32_t ends[4];
        const char *words;
    } cases[] = {
        { "an end before the last step", { { 0, 2, 64, NO, 0 } }, 1, { 1, 2 }, "say otherwise" },
        { "an end after it", { { 0, 0, 64, NO, 0 } }, 1, { 1, 2 }, "say otherwise" },
        { "no end on the first track", { { 0, 1, 64, NO, 0 } }, 1, { 0, 2 }, "say otherwise" },
        { "a step too far", { { 3, 3, 64, NO, 0 } }, 1, { 4, 0 }, "say otherwise" },
        { "an end too far", { { 0, 3, 64, NO, 0 } }, 1, { 4, 0 }, "say otherwise" },
        { "in place of what another track may still read",
          { { 0, 2, 64, NO, 0 }, { 2, 2, 64, 0, 0 } },
          2,
          { 3, 2, 3, 0 },
          "interval 1 takes the place of 0, which may still be in use" },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tni_arena arena;
        tni_plan_order order;
        tni_arena_init(&arena, NULL);
        make_order(&c, cases[i].ends, &arena, &order);
        const tni_plan_rules rules = { .alignment = 64, .order = &order };
        need_refused(cases[i].says, cases[i].in, cases[i].count, &rules, TN_E_ARG, cases[i].words,
                     NO);
        tni_arena_finish(&arena);
    }
}

// ------------------------------------------------------------------------------------- all of them

static void sizes_and_alignments_out_of_all_measure_are_a_status(void **state)
{
    (void)state;
    enum { STEPS = 4 };
    static const uint64_t sizes[] = { 0,
                                      1,
                                      63,
                                      UINT64_C(1) << 62,
                                      (UINT64_C(1) << 63) - 1,
                                      UINT64_C(1) << 63,
                                      UINT64_MAX - 64,
                                      UINT64_MAX };
    static const uint64_t alignments[] = {
        0, 1, 3, 64, 1 << 20, UINT64_C(1) << 62, UINT64_C(1) << 63, UINT64_MAX
    };
    for (size_t a = 0; a < TN_COUNT_OF(alignments); a++)
        for (size_t s = 0; s < TN_COUNT_OF(sizes) * TN_COUNT_OF(sizes); s++)
            for (uint32_t kind = 0; kind < 4; kind++) {
                const tni_interval in[] = {
                    { 0, 1, sizes[s % TN_COUNT_OF(sizes)], NO, 0 },
                    { kind % 2, 2, sizes[s / TN_COUNT_OF(sizes)], NO, 0 },
                    { 3, 3, 64, NO, 0 },
                };
                const tni_pin pin = { 2, alignments[a] };
                const tni_plan_rules rules = {
                    .alignment = alignments[a],
                    .chunk_bytes = kind / 2 ? UINT64_C(1) << 63 : 0,
                    .pin_count = kind % 2,
                    .pins = &pin,
                };
                tni_arena arena;
                tni_plan plan;
                tn_error err = { 0 };
                tni_arena_init(&arena, NULL);
                tn_status status = tni_plan_pack(in, 3, &rules, &arena, &plan, &err);
                if (status == TN_OK)
                    status = tni_plan_validate(in, 3, &rules, &plan, &arena, &err);
                if (status != TN_OK && status != TN_E_DEVICE_MEMORY && status != TN_E_ARG)
                    fail_msg("sizes %" PRIu64 " and %" PRIu64 ", alignment %" PRIu64 ": %s",
                             in[0].bytes, in[1].bytes, rules.alignment, err.text);
                tni_arena_finish(&arena);
            }
}

// A long row with pins in it.
typedef struct row {
    tni_interval in[3000];
    tni_pin pins[30];
    tni_plan_rules rules;
} row;

static void make_row(row *r, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        r->in[i] = (tni_interval){ i, i + 3 + i % 5, 64 + 64 * (i * 7 % 13), NO, 0 };
    for (uint32_t i = 0; i < 30; i++)
        r->pins[i] = (tni_pin){ i * (count / 30), 1024 };
    r->rules = (tni_plan_rules){ .alignment = 64, .pin_count = 30, .pins = r->pins };
}

static void a_peak_within_the_capacity_or_the_time_ends_the_search(void **state)
{
    (void)state;
    static row r;
    make_row(&r, 3000);
    tni_arena arena;
    tni_plan plans[2];
    tni_arena_init(&arena, NULL);
    r.rules.capacity = UINT64_C(1) << 40;   // the first pass does
    assert_int_equal(tni_plan_pack(r.in, 3000, &r.rules, &arena, &plans[0], NULL), TN_OK);
    r.rules.capacity = 0;
    assert_int_equal(tni_plan_pack(r.in, 3000, &r.rules, &arena, &plans[1], NULL), TN_OK);
    assert_true(plans[1].peak_bytes <= plans[0].peak_bytes);
    assert_true(plans[1].peak_bytes < plans[0].peak_bytes);
    assert_true(plans[1].peak_bytes * 10 <= plans[1].bound_bytes * 11);
    assert_true(plans[1].bound_bytes <= plans[1].peak_bytes);
    r.rules.time_limit_ns = 1;   // the first pass is always made
    assert_int_equal(tni_plan_pack(r.in, 3000, &r.rules, &arena, &plans[1], NULL), TN_OK);
    assert_int_equal(plans[1].peak_bytes, plans[0].peak_bytes);
    tni_arena_finish(&arena);
}

static void the_same_rules_give_the_same_plan(void **state)
{
    (void)state;
    static row r;
    make_row(&r, 600);
    tni_arena arena;
    tni_plan plans[2];
    tni_arena_init(&arena, NULL);
    for (int i = 0; i < 2; i++)
        assert_int_equal(tni_plan_pack(r.in, 600, &r.rules, &arena, &plans[i], NULL), TN_OK);
    assert_memory_equal(plans[0].offsets, plans[1].offsets, 600 * sizeof *plans[0].offsets);
    tni_arena_finish(&arena);
}

static tn_status pack_with(const tn_allocator *allocator, void *context)
{
    (void)context;
    static const case_order c = { 8, 2, { 0, 1, 0, 1, 0, 1, 0, 1 }, { { 2, 1 }, { 5, 4 } }, 2 };
    tni_interval in[MOST];
    uint32_t ends[2 * MOST] = { 0 };
    const tni_pin pin = { 3, 64 };
    for (uint32_t i = 0; i < MOST; i++) {
        in[i] = (tni_interval){ i, i, 64, NO, 0 };
        ends[2 * i + c.track[i]] = i + 1;
    }
    tni_arena arena;
    tni_arena_init(&arena, allocator);
    tni_plan_order order = { c.steps, c.tracks, c.track, NULL, ends };
    const tni_plan_rules rules = {
        .alignment = 64, .chunk_bytes = 128, .pin_count = 1, .pins = &pin, .order = &order
    };
    tni_plan plan;
    tn_status status = tni_plan_order_done(c.steps, c.tracks, c.track, c.waits, c.wait_count,
                                           &arena, &order.done, NULL);
    if (status == TN_OK)
        status = tni_plan_pack(in, MOST, &rules, &arena, &plan, NULL);
    if (status == TN_OK)
        status = tni_plan_validate(in, MOST, &rules, &plan, &arena, NULL);
    assert_true(status == TN_OK || status == TN_E_HOST_MEMORY);
    tni_arena_finish(&arena);
    return status;
}

static void memory_that_is_not_there_is_a_status(void **state)
{
    (void)state;
    for_each_failing_allocation(pack_with, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_placed_around_what_is_pinned),
        cmocka_unit_test(graphs_that_share_an_arena_leave_what_lives_on_alone),
        cmocka_unit_test(pins_that_cannot_be_kept_are_refused),
        cmocka_unit_test(what_does_not_fit_above_a_pin_lies_below),
        cmocka_unit_test(nothing_crosses_the_end_of_a_chunk),
        cmocka_unit_test(what_is_larger_than_a_chunk_is_refused_by_its_index),
        cmocka_unit_test(bytes_are_shared_where_the_order_says_that_they_may),
        cmocka_unit_test(the_bound_looks_at_every_order_of_execution),
        cmocka_unit_test(waits_tell_what_has_ended),
        cmocka_unit_test(waits_that_make_no_order_are_refused),
        cmocka_unit_test(lives_that_the_order_denies_are_refused),
        cmocka_unit_test(sizes_and_alignments_out_of_all_measure_are_a_status),
        cmocka_unit_test(a_peak_within_the_capacity_or_the_time_ends_the_search),
        cmocka_unit_test(the_same_rules_give_the_same_plan),
        cmocka_unit_test(memory_that_is_not_there_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
