// intervals.c: intervals of the application (tenon/plan.h) in steps, as the planner counts time.
//
// Only the order of times matters, so a time becomes its rank among all that occur: the step before
// the rank of `upper` is the last of an interval.
//
//   times   -5        3   4               900
//   ranks    0        1   2                 3        [-5, 4) is live in steps 0 to 1
#include <tenon/plan.h>

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/integer.h"
#include "base/options.h"
#include "plan/plan.h"
#include "plan/ranks.h"

enum {
    NS_PER_MS = 1000000,
    INTERVAL_BYTES = 500   // of memory that a plan takes, or somewhat more
};

// What both calls begin with.
typedef struct problem {
    tni_arena arena;
    tn_plan_options options;
    tni_interval *intervals;
    uint32_t *given;   // by interval: its place in the caller's array
    uint32_t count;    // without those that are left out
} problem;

// ------------------------------------------------------------------------------------------- ranks

// As unsigned numbers of the same order.
static uint64_t key_of(int64_t time)
{
    return (uint64_t)time ^ (uint64_t)1 << 63;
}

static bool set_steps(problem *p, const tn_plan_interval *intervals)
{
    size_t count = 2 * (size_t)p->count;
    uint64_t *times = tni_arena_take_array(&p->arena, count, sizeof *times);
    uint32_t *ranks = tni_arena_take_array(&p->arena, count, sizeof *ranks);
    if (!times || !ranks)
        return false;
    for (size_t i = 0; i < p->count; i++) {
        times[2 * i] = key_of(intervals[p->given[i]].lower);
        times[2 * i + 1] = key_of(intervals[p->given[i]].upper);
    }
    if (!tni_plan_find_ranks(times, (uint32_t)count, &p->arena, ranks))
        return false;
    for (size_t i = 0; i < p->count; i++) {
        p->intervals[i].first = ranks[2 * i];
        p->intervals[i].last = ranks[2 * i + 1] - 1;
    }
    return true;
}

// ----------------------------------------------------------------------------------------- problem

static tn_status check_options(tn_plan_options *options, const char *call, tn_error *err)
{
    if (options->alignment == 0)
        options->alignment = 1;
    if (!tni_is_power_of_two(options->alignment))
        return tni_fail(err, TN_E_ARG,
                        "%s: the alignment is %" PRIu64 ", a power of two is expected", call,
                        options->alignment);
    return TN_OK;
}

static tn_status check_intervals(const tn_plan_interval *intervals, uint32_t count,
                                 uint64_t alignment, const char *call, tn_error *err)
{
    uint64_t sum = 0;
    if (count > TN_PLAN_MOST_INTERVALS)
        return tni_fail(err, TN_E_ARG, "%s: there are %u intervals, %d are the most", call, count,
                        TN_PLAN_MOST_INTERVALS);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bytes;
        if (intervals[i].lower >= intervals[i].upper)
            return tni_fail(err, TN_E_ARG,
                            "%s: interval %u begins at %" PRId64 " and ends at %" PRId64
                            ", not after that",
                            call, i, intervals[i].lower, intervals[i].upper);
        if (!tni_align_u64(intervals[i].bytes, alignment, &bytes) ||
            !tni_add_u64(sum, bytes, &sum) || sum > INT64_MAX)
            return tni_fail(err, TN_E_DEVICE_MEMORY,
                            "%s: the sizes up to interval %u together exceed 2^63 - 1 bytes", call,
                            i);
    }
    return TN_OK;
}

// Intervals of fewer bytes are left out. To be given back by finish, also after a failure.
static tn_status begin(problem *p, const char *call, const tn_plan_interval *intervals,
                       uint32_t count, const tn_plan_options *given, uint64_t least_bytes,
                       tn_error *err)
{
    *p = (problem){ 0 };
    tn_status status = tni_take_options(&p->options, sizeof p->options,
                                        TNI_UP_TO(tn_plan_options, allocator), given, call, err);
    if (status == TN_OK)
        status = tni_check_allocator(p->options.allocator, call, err);
    if (status == TN_OK)
        status = check_options(&p->options, call, err);
    if (status == TN_OK)
        status = check_intervals(intervals, count, p->options.alignment, call, err);
    if (status != TN_OK)
        return status;
    tni_arena_init(&p->arena, p->options.allocator);
    tni_arena_expect(&p->arena, INTERVAL_BYTES * (size_t)count);
    p->intervals = tni_arena_take_array(&p->arena, count, sizeof *p->intervals);
    p->given = tni_arena_take_array(&p->arena, count, sizeof *p->given);
    if (!p->intervals || !p->given)
        return tni_fail_memory(err, "a plan", (uint64_t)count * sizeof *p->intervals);
    for (uint32_t i = 0; i < count; i++) {
        if (intervals[i].bytes < least_bytes)
            continue;
        p->intervals[p->count] = (tni_interval){ .bytes = intervals[i].bytes,
                                                 .in_place_of = TNP_NONE };
        p->given[p->count++] = i;
    }
    if (!set_steps(p, intervals))
        return tni_fail_memory(err, "a plan", (uint64_t)count * 4 * sizeof(uint64_t));
    return TN_OK;
}

static void finish(problem *p)
{
    tni_arena_finish(&p->arena);
}

// -------------------------------------------------------------------------------------------- plan

static tn_status pack(problem *p, uint64_t *out_offsets, tn_plan_result *result, tn_error *err)
{
    const tni_plan_rules rules = { .alignment = p->options.alignment,
                                   .capacity = p->options.capacity,
                                   .time_limit_ns = (uint64_t)p->options.time_limit_ms *
                                                    NS_PER_MS };
    tni_plan plan;
    tn_status status = tni_plan_pack(p->intervals, p->count, &rules, &p->arena, &plan, err);
    if (status != TN_OK)
        return status;
    for (uint32_t i = 0; i < p->count; i++)
        out_offsets[p->given[i]] = plan.offsets[i];
    result->is_proved_optimal = plan.is_optimal;
    result->peak_bytes = plan.peak_bytes;
    result->lower_bound_bytes = plan.bound_bytes;
    result->unshared_bytes = plan.unshared_bytes;
    return TN_OK;
}

tn_status tn_plan_intervals(const tn_plan_interval *intervals, uint32_t count,
                            const tn_plan_options *options, uint64_t *out_offsets,
                            tn_plan_result *out_result, tn_error *err)
{
    tn_plan_result result = { .size = sizeof result, .is_proved_optimal = 1 };
    tn_status status = count ? tni_need(err, __func__, "intervals", intervals, "out_offsets",
                                        out_offsets, NULL)
                             : TN_OK;
    problem p = { 0 };
    if (status == TN_OK)
        status = tni_check_size(out_result, __func__, "out_result", err);
    if (status == TN_OK)
        status = begin(&p, __func__, intervals, count, options, 1, err);
    if (status == TN_OK && count > 0)
        memset(out_offsets, 0, count * sizeof *out_offsets);
    if (status == TN_OK && p.count > 0)
        status = pack(&p, out_offsets, &result, err);
    finish(&p);
    if (status != TN_OK)
        result = (tn_plan_result){ .size = sizeof result };
    tni_give_struct(out_result, &result, sizeof result);
    return status;
}

// ------------------------------------------------------------------------------------------- check

// The validator looks at steps; that those say what the times say is seen here: each step stands
// for one time, and later steps for later times.
static tn_status check_steps(problem *p, const tn_plan_interval *intervals, tn_error *err)
{
    size_t most = 2 * (size_t)p->count;
    const int64_t **times = tni_arena_take_array(&p->arena, most, sizeof *times);
    if (!times)
        return tni_fail_memory(err, "the check of a plan", most * sizeof *times);
    for (uint32_t i = 0; i < p->count; i++) {
        const tn_plan_interval *interval = &intervals[p->given[i]];
        const int64_t **lower = &times[p->intervals[i].first];
        const int64_t **upper = &times[p->intervals[i].last + (size_t)1];
        if ((*lower && **lower != interval->lower) || (*upper && **upper != interval->upper))
            return tni_fail(err, TN_E_INTERNAL, "plan: interval %u has lost its times", i);
        *lower = &interval->lower;
        *upper = &interval->upper;
    }
    for (size_t i = 1; i < most && times[i]; i++)
        if (*times[i - 1] >= *times[i])
            return tni_fail(err, TN_E_INTERNAL, "plan: step %zu is not after the one before", i);
    return TN_OK;
}

// What is wrong with the plan is said of the caller's, not of one of libtenon.
static tn_status validate(problem *p, const uint64_t *offsets, const tn_plan_result *said,
                          tn_error *err)
{
    uint64_t *own = tni_arena_copy(&p->arena, offsets, p->count, sizeof *own);
    if (!own)
        return tni_fail_memory(err, "the check of a plan", (uint64_t)p->count * sizeof *own);
    const tni_plan_rules rules = { .alignment = p->options.alignment };
    const tni_plan plan = { .offsets = own,
                            .peak_bytes = said->peak_bytes,
                            .bound_bytes = said->lower_bound_bytes,
                            .unshared_bytes = said->unshared_bytes };
    tn_error fault = { 0 };
    tn_status status = tni_plan_validate(p->intervals, p->count, &rules, &plan, &p->arena, &fault);
    if (status == TN_E_INTERNAL)
        status = TN_E_DATA;
    return status == TN_OK ? status : tni_fail(err, status, "%s", fault.text);
}

tn_status tn_plan_check(const tn_plan_interval *intervals, uint32_t count,
                        const tn_plan_options *options, const uint64_t *offsets,
                        const tn_plan_result *result, tn_error *err)
{
    tn_plan_result said;
    tn_status status = tni_need(err, __func__, "result", result, NULL);
    if (status == TN_OK && count > 0)
        status = tni_need(err, __func__, "intervals", intervals, "offsets", offsets, NULL);
    if (status == TN_OK)
        status = tni_take_struct(&said, sizeof said, TNI_UP_TO(tn_plan_result, unshared_bytes),
                                 result, __func__, "result", err);
    problem p = { 0 };
    if (status == TN_OK)
        status = begin(&p, __func__, intervals, count, options, 0, err);
    if (status == TN_OK)
        status = check_steps(&p, intervals, err);
    if (status == TN_OK)
        status = validate(&p, offsets, &said, err);
    finish(&p);
    return status;
}
