// validate.c: is this plan right? Shares no code with what made it, and is slow on purpose: every
// pair is looked at.
#include <inttypes.h>

#include "base/error.h"
#include "plan/plan.h"

// b takes the place of a in the step where a ends.
static bool takes_over(const tni_interval *intervals, uint32_t a, uint32_t b)
{
    return intervals[b].in_place_of == a && intervals[b].first == intervals[a].last;
}

tn_status tni_plan_validate(const tni_interval *intervals, uint32_t count,
                            const tni_plan_rules *rules, const tni_plan *plan, tn_error *err)
{
    uint64_t alignment = rules->alignment;
    uint64_t highest = 0;
    for (uint32_t i = 0; i < count; i++) {
        const tni_interval *x = &intervals[i];
        uint64_t begin = plan->offsets[i], end = begin + x->bytes;
        if (x->first > x->last)
            return tni_fail(err, TN_E_INTERNAL, "plan: interval %u is used before it is made", i);
        if (end < begin || end > plan->peak_bytes)
            return tni_fail(err, TN_E_INTERNAL,
                            "plan: interval %u ends at %" PRIu64 ", above the peak of %" PRIu64, i,
                            end, plan->peak_bytes);
        if (x->in_place_of == TNP_NONE && begin % alignment)
            return tni_fail(err, TN_E_INTERNAL,
                            "plan: interval %u lies at %" PRIu64 ", not a multiple of %" PRIu64, i,
                            begin, alignment);
        if (x->in_place_of != TNP_NONE) {
            const tni_interval *old = x->in_place_of < i ? &intervals[x->in_place_of] : NULL;
            if (!old || old->last != x->first ||
                begin != plan->offsets[x->in_place_of] + x->in_place_offset ||
                x->in_place_offset + x->bytes > old->bytes)
                return tni_fail(err, TN_E_INTERNAL, "plan: interval %u cannot take the place of %u",
                                i, x->in_place_of);
        }
        highest = end > highest ? end : highest;
        for (uint32_t j = 0; j < i; j++) {
            const tni_interval *y = &intervals[j];
            uint64_t other = plan->offsets[j];
            bool is_together = x->first <= y->last && y->first <= x->last;
            bool is_overlapping = begin < other + y->bytes && other < end;
            if (is_together && is_overlapping && !takes_over(intervals, j, i) &&
                !takes_over(intervals, i, j))
                return tni_fail(err, TN_E_INTERNAL,
                                "plan: intervals %u and %u live together and share bytes", j, i);
        }
    }
    if (plan->bound_bytes > plan->peak_bytes)
        return tni_fail(err, TN_E_INTERNAL,
                        "plan: the peak of %" PRIu64 " is below its bound of %" PRIu64,
                        plan->peak_bytes, plan->bound_bytes);
    return TN_OK;
}
