// plan.h: an address for each interval of bytes that lives for a part of the time.
//
// What a session does with the values of its graphs, for intervals of any origin: each is live from
// `lower` up to, but not at, `upper`, and two that are live at one time share no byte. The peak of
// a plan is the highest end of an interval; its lower bound is the largest sum of the bytes that
// are live at one time, which no plan can beat.
//
//   time      0   1   2   3   4
//   a         ├───────┤                 lower 0, upper 2, at offset 0
//   b             ├───────┤             lower 1, upper 3, behind a
//   c                 ├───────┤         lower 2, upper 4: where a was
//
// Ownership: all arrays are the caller's; nothing is kept between calls.
// Threads: [any]; a call runs on the thread that makes it.
#ifndef TENON_PLAN_H
#define TENON_PLAN_H

#include <tenon/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TN_PLAN_MOST_INTERVALS = 1 << 26 };   // that one plan takes. Since 0.1

typedef struct tn_plan_interval {
    int64_t lower, upper;   // live in [lower, upper), in units of the caller; lower < upper
    uint64_t bytes;         // 0 takes no room, and lies at offset 0
} tn_plan_interval;

// All fields but size may be 0 or NULL.
typedef struct tn_plan_options {
    uint32_t size;            // sizeof
    uint32_t time_limit_ms;   // of searching beyond the quick ways, which take what they take; 0 =
                              // by steps, see tn_plan_intervals
    uint64_t alignment;       // of offsets, a power of two; 0 = 1
    uint64_t capacity;        // a peak of this many bytes is good enough: nothing lower is looked
                              // for; 0 = as low as can be
    const tn_allocator *allocator;   // for the time of the call; NULL = the C library's
} tn_plan_options;

// Sizes count as rounded up to the alignment.
typedef struct tn_plan_result {
    uint32_t size;                // sizeof, set by the caller
    uint32_t is_proved_optimal;   // 1: the peak is the lower bound, or everything below the peak
                                  // was ruled out; else 0
    uint64_t peak_bytes;          // highest end of an interval; may be above the capacity
    uint64_t lower_bound_bytes;   // largest sum of the bytes that are live at one time
    uint64_t unshared_bytes;      // sum of all
} tn_plan_result;

// Finds an offset for each interval. That the capacity is not reached is no error: the plan is then
// the best that was found, and its peak says so.
// With a time limit of 0 the search is counted in steps, not in time, and the plan is the same on
// every machine. That takes some ms, for 100,000 intervals a second or two. Where there are more
// than 512 intervals and no capacity is given, such a search ends as soon as the peak is within
// 1/128 above the bound.
//   intervals     count of them; in any order
//   options       NULL = defaults
//   out_offsets   uint64_t[count], in bytes from the start of the memory; undefined after an error
//   out_result    NULL is fine; zero after an error, but for its size
// Errors: TN_E_ARG an interval with lower >= upper, an alignment that is no power of two, more than
// TN_PLAN_MOST_INTERVALS; TN_E_DEVICE_MEMORY the sizes together exceed 2^63 - 1 bytes;
// TN_E_HOST_MEMORY. [any] Since 0.1
TN_NODISCARD TN_API tn_status tn_plan_intervals(const tn_plan_interval *intervals, uint32_t count,
                                                const tn_plan_options *options,
                                                uint64_t *out_offsets, tn_plan_result *out_result,
                                                tn_error *err);

// Looks at a plan without any of the code that made it: no two intervals that are live at one time
// share a byte, offsets are aligned, no end is above the peak, and the peak is not below the bound.
//   intervals, options   as tn_plan_intervals had them; of the options only alignment and allocator
//                        are looked at
//   offsets              uint64_t[count]
//   result               what tn_plan_intervals said of it
// Errors: TN_E_DATA the plan is wrong: the text names the intervals, counted from 0; those of
// tn_plan_intervals. [any] Since 0.1
TN_NODISCARD TN_API tn_status tn_plan_check(const tn_plan_interval *intervals, uint32_t count,
                                            const tn_plan_options *options, const uint64_t *offsets,
                                            const tn_plan_result *result, tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
