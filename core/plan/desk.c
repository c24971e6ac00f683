#include "plan/desk.h"

enum { MORE_URGENT = 2 };   // times

// How long each item lives, counted in sections by how full they are: to the eighth power of their
// part of the bound, by which one of half the bound counts next to nothing. (Powers of 4 to 16
// halve what passes over all items lose against 0.)
static bool find_full_lengths(const tni_plan_sections *in, uint64_t bound, tni_arena *arena,
                              float *full_length)
{
    float *sum = tni_arena_take_array(arena, (size_t)in->count + 1, sizeof *sum);
    if (!sum)
        return false;
    for (uint32_t s = 0; s < in->count; s++) {
        float part = (float)in->live[s] / (float)bound;
        part *= part;
        part *= part;
        sum[s + 1] = sum[s] + part * part;
    }
    for (uint32_t i = 0; i < in->item_count; i++)
        full_length[i] = sum[in->items[i].end] - sum[in->items[i].first];
    return true;
}

static void set_urgency(const tni_plan_desk *d, tni_plan_pass_kind kind, uint64_t limit)
{
    for (uint32_t i = 0; i < d->sections->item_count; i++) {
        const tni_item *item = &d->sections->items[i];
        switch (kind) {
        case TNI_PASS_BY_LENGTH:
            d->urgency[i] = (float)(item->end - item->first);
            break;
        case TNI_PASS_BY_FULL_LENGTH:
            d->urgency[i] = d->full_length[i];
            break;
        case TNI_PASS_BY_AREA:
            d->urgency[i] = d->full_length[i] * d->full_length[i] * (float)item->bytes;
            break;
        case TNI_PASS_AS_BEFORE_BUT:
            d->urgency[i] *= d->offsets[i] + item->bytes > limit ? MORE_URGENT : 1;
            break;
        }
    }
}

uint64_t tni_plan_desk_pass(const tni_plan_desk *d, tni_plan_pass_kind kind, uint64_t limit)
{
    set_urgency(d, kind, limit);
    return tni_plan_skyline_run(d->skyline, d->urgency, d->is_fixed, d->offsets);
}

bool tni_plan_desk_make(const tni_plan_sections *sections, uint64_t bound, uint64_t chunk_bytes,
                        tni_arena *arena, tni_plan_desk *d)
{
    d->sections = sections;
    d->skyline = tni_plan_skyline_make(sections, chunk_bytes, arena);
    d->full_length = tni_arena_take_array(arena, sections->item_count, sizeof *d->full_length);
    d->is_fixed = tni_arena_take_array(arena, sections->item_count, sizeof *d->is_fixed);
    d->urgency = tni_arena_take_array(arena, sections->item_count, sizeof *d->urgency);
    d->offsets = tni_arena_take_array(arena, sections->item_count, sizeof *d->offsets);
    if (!d->skyline || !d->full_length || !d->is_fixed || !d->urgency || !d->offsets ||
        !find_full_lengths(sections, bound, arena, d->full_length))
        return false;
    d->repair = tni_plan_repair_make(sections, d->full_length, arena);
    return d->repair != NULL;
}
