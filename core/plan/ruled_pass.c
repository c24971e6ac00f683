#include "plan/ruled_pass.h"

#include <string.h>

#include "base/clock.h"
#include "base/integer.h"

bool tni_plan_pass_make(const tni_block *blocks, uint32_t count, const tni_block_rules *rules,
                        size_t most_kept, tni_arena *arena, tni_pass *out)
{
    *out = (tni_pass){ .chunk_bytes = rules->given->chunk_bytes };
    out->offsets = tni_arena_take_array(arena, count, sizeof *out->offsets);
    out->is_pinned = tni_arena_take_array(arena, count, sizeof *out->is_pinned);
    out->order = tni_arena_take_array(arena, count, sizeof *out->order);
    out->is_placed = tni_arena_take_array(arena, count, sizeof *out->is_placed);
    out->found = tni_arena_take_array(arena, count, sizeof *out->found);
    out->merged = tni_arena_take_array(arena, count, sizeof *out->merged);
    out->rank = tni_arena_take_array(arena, count, sizeof *out->rank);
    out->floor = tni_arena_take_array(arena, count, sizeof *out->floor);
    out->heap = tni_arena_take_array(arena, count, sizeof *out->heap);
    if (!out->offsets || !out->is_pinned || !out->order || !out->is_placed || !out->found ||
        !out->merged || !out->rank || !out->floor || !out->heap ||
        !tni_plan_neighbours_make(blocks, count, rules, most_kept, arena, &out->neighbours))
        return false;
    for (uint32_t i = 0; i < out->neighbours.count; i++) {
        const tni_neighbours_item *item = &out->neighbours.items[i];
        out->is_pinned[i] = tni_plan_is_pinned(rules, item->block);
        if (!out->is_pinned[i]) {
            out->order[out->count++] = i;
            continue;
        }
        out->offsets[i] = rules->pinned[item->block];
        uint64_t end = out->offsets[i] + item->bytes;
        out->pinned_end = end > out->pinned_end ? end : out->pinned_end;
    }
    return true;
}

// The lowest offset from `at` on that crosses no chunk's end, and the end there. false: it wraps.
static bool fit(const tni_pass *pass, uint64_t at, uint64_t bytes, uint64_t *out_at,
                uint64_t *out_end)
{
    uint64_t left = pass->chunk_bytes ? pass->chunk_bytes - at % pass->chunk_bytes : UINT64_MAX;
    if (bytes > left && !tni_add_u64(at, left, &at))
        return false;
    *out_at = at;
    return tni_add_u64(at, bytes, out_end);
}

// --------------------------------------------------------------------------------------- first fit

// By insertion in runs of eight, then by merging: qsort's calls would take most of the time.
static const tni_range *sort_ranges(tni_range *from, tni_range *to, uint32_t count)
{
    enum { RUN = 8 };
    for (uint32_t begin = 0; begin < count; begin += RUN) {
        uint32_t end = begin + RUN < count ? begin + RUN : count;
        for (uint32_t i = begin + 1; i < end; i++) {
            tni_range own = from[i];
            uint32_t at = i;
            for (; at > begin && from[at - 1].begin > own.begin; at--)
                from[at] = from[at - 1];
            from[at] = own;
        }
    }
    for (size_t run = RUN; run < count; run *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * run) {
            size_t middle = begin + run < count ? begin + run : count;
            size_t end = begin + 2 * run < count ? begin + 2 * run : count;
            size_t a = begin, b = middle;
            for (size_t at = begin; at < end; at++)
                to[at] = b == end || (a < middle && from[a].begin <= from[b].begin) ? from[a++]
                                                                                    : from[b++];
        }
        tni_range *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

// false: it wraps.
static bool find_lowest(tni_pass *pass, uint32_t item, uint64_t *out_offset, uint64_t *out_end)
{
    uint64_t bytes = pass->neighbours.items[item].bytes, cursor = 0;
    uint32_t count, found = 0;
    const uint32_t *list = tni_plan_neighbours_of(&pass->neighbours, item, &count);
    pass->work += count;
    for (uint32_t i = 0; i < count; i++)
        if (pass->is_placed[list[i]])
            pass->found[found++] = (tni_range){ pass->offsets[list[i]],
                                                pass->offsets[list[i]] +
                                                    pass->neighbours.items[list[i]].bytes };
    const tni_range *ranges = sort_ranges(pass->found, pass->merged, found);
    for (uint32_t i = 0; i < found; i++) {
        if (ranges[i].begin > cursor && ranges[i].begin - cursor >= bytes &&
            fit(pass, cursor, bytes, out_offset, out_end) && *out_end <= ranges[i].begin)
            return true;
        cursor = ranges[i].end > cursor ? ranges[i].end : cursor;
    }
    return fit(pass, cursor, bytes, out_offset, out_end);
}

static bool is_over(const tni_pass *pass)
{
    return pass->deadline_ns ? tni_now_ns() >= pass->deadline_ns : pass->work >= pass->most_work;
}

uint32_t tni_plan_pass_first_fit(tni_pass *pass, uint64_t limit, uint64_t *out_peak)
{
    uint64_t peak = pass->pinned_end, end;
    memcpy(pass->is_placed, pass->is_pinned, pass->neighbours.count * sizeof *pass->is_placed);
    for (uint32_t i = 0; i < pass->count; i++) {
        uint32_t item = pass->order[i];
        if (limit != UINT64_MAX && is_over(pass))
            return i;
        if (!find_lowest(pass, item, &pass->offsets[item], &end) || end > limit)
            return i;
        peak = end > peak ? end : peak;
        pass->is_placed[item] = true;
    }
    *out_peak = peak;
    return pass->count;
}

// --------------------------------------------------------------------------------------- bottom up

static bool comes_sooner(const tni_pass *pass, const tni_waiting *a, const tni_waiting *b)
{
    return a->floor != b->floor ? a->floor < b->floor : pass->rank[a->item] < pass->rank[b->item];
}

static void sift_down(const tni_pass *pass, uint32_t count, uint32_t at)
{
    tni_waiting *heap = pass->heap, own = heap[at];
    for (uint64_t child; (child = 2 * (uint64_t)at + 1) < count;) {
        if (child + 1 < count && comes_sooner(pass, &heap[child + 1], &heap[child]))
            child++;
        if (!comes_sooner(pass, &heap[child], &own))
            break;
        heap[at] = heap[child];
        at = (uint32_t)child;
    }
    heap[at] = own;
}

// Where one block lies under most others it is cheaper to look at all floors again at once than
// when each comes up.
static void look_again_at_all(const tni_pass *pass, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        pass->heap[i].floor = pass->floor[pass->heap[i].item];
    for (uint32_t i = count / 2; i-- > 0;)
        sift_down(pass, count, i);
}

// Raises the floor to where the block misses what is pinned and crosses no chunk's end.
static bool lift(const tni_pass *pass, uint32_t item, const uint32_t *list, uint32_t count,
                 uint64_t *floor, uint64_t *out_end)
{
    bool is_moved = true;
    while (is_moved) {
        is_moved = false;
        if (!fit(pass, *floor, pass->neighbours.items[item].bytes, floor, out_end))
            return false;
        for (uint32_t i = 0; *floor < pass->pinned_end && i < count; i++) {
            uint64_t end = pass->offsets[list[i]] + pass->neighbours.items[list[i]].bytes;
            if (pass->is_pinned[list[i]] && pass->offsets[list[i]] < *out_end && end > *floor) {
                *floor = end;
                is_moved = true;
                break;
            }
        }
    }
    return true;
}

// What is not placed lies above this end from now on. An item that no longer fits, or TNP_NONE.
static uint32_t raise_floors(tni_pass *pass, const uint32_t *list, uint32_t count, uint64_t end,
                             uint64_t limit, uint32_t *raised)
{
    for (uint32_t i = 0; i < count; i++) {
        if (pass->is_placed[list[i]] || end <= pass->floor[list[i]])
            continue;
        pass->floor[list[i]] = end;
        ++*raised;
        if (limit - end < pass->neighbours.items[list[i]].bytes)
            return list[i];
    }
    return TNP_NONE;
}

uint32_t tni_plan_pass_bottom_up(tni_pass *pass, uint64_t limit, uint64_t *out_peak)
{
    uint64_t peak = pass->pinned_end;
    uint32_t raised = 0;
    memcpy(pass->is_placed, pass->is_pinned, pass->neighbours.count * sizeof *pass->is_placed);
    memset(pass->floor, 0, pass->neighbours.count * sizeof *pass->floor);
    for (uint32_t i = 0; i < pass->count; i++) {
        pass->rank[pass->order[i]] = i;
        pass->heap[i] = (tni_waiting){ 0, pass->order[i] };
    }
    for (uint32_t left = pass->count; left; sift_down(pass, left, 0)) {
        tni_waiting *lowest = &pass->heap[0];
        uint32_t item = lowest->item, count;
        uint64_t floor = pass->floor[item], end;
        if (floor != lowest->floor) {   // raised since
            lowest->floor = floor;
            continue;
        }
        const uint32_t *list = tni_plan_neighbours_of(&pass->neighbours, item, &count);
        pass->work += count;
        if (!lift(pass, item, list, count, &floor, &end) || end > limit ||
            (limit != UINT64_MAX && is_over(pass)))
            return pass->rank[item];
        if (floor != lowest->floor) {
            pass->floor[item] = lowest->floor = floor;
            continue;
        }
        pass->offsets[item] = floor;
        pass->is_placed[item] = true;
        peak = end > peak ? end : peak;
        uint32_t stuck = raise_floors(pass, list, count, end, limit, &raised);
        if (stuck != TNP_NONE)
            return pass->rank[stuck];
        *lowest = pass->heap[--left];
        if (raised > left / 2) {
            raised = 0;
            look_again_at_all(pass, left);
        }
    }
    *out_peak = peak;
    return pass->count;
}
