// waits.c: what a work has to wait for.
//
// Of each queue and work it is known which works have ended when the work begins (done): those
// before it on its own queue, what it waits for, and what these waited for. What a work depends on
// and is not among them it waits for, the latest first: that may stand for others.
#include "exec/waits.h"

#include <string.h>

#include "base/integer.h"

// A work that touches a storage on a lane.
struct tni_touch {
    uint32_t place, work, next;   // next: of the same storage; TNP_NONE
    bool is_write;
};

bool tni_waits_begin(tni_waits *waits, uint32_t storage_count, size_t most)
{
    waits->touches = tni_arena_take_indices(waits->scratch, storage_count);
    waits->last = tni_arena_take_indices(waits->scratch, waits->queue_count);
    waits->done = tni_arena_take_array(waits->scratch, most * waits->queue_count,
                                       sizeof *waits->done);
    waits->found = tni_arena_take_array(waits->scratch, most, sizeof *waits->found);
    waits->found_by = tni_arena_take_indices(waits->scratch, most);
    waits->works->list = tni_arena_take_array(waits->arena, most, sizeof *waits->works->list);
    return waits->touches && waits->last && waits->done && waits->found && waits->found_by &&
           waits->works->list;
}

void tni_waits_depend(tni_waits *waits, uint32_t work)
{
    if (waits->found_by[work] == waits->works->count)
        return;
    waits->found_by[work] = waits->works->count;
    waits->found[waits->found_count++] = work;
}

// A list in an arena with room for one more, of entries of so many bytes; NULL: out of memory.
static void *make_room(tni_arena *arena, void *list, uint32_t count, uint32_t *capacity,
                       size_t bytes)
{
    uint32_t more = *capacity ? 2 * *capacity : 64;
    if (count < *capacity)
        return list;
    void *larger = tni_arena_take_array(arena, more, bytes);
    if (!larger)
        return NULL;
    if (count)
        memcpy(larger, list, count * bytes);
    *capacity = more;
    return larger;
}

// ----------------------------------------------------------------------------------------- touches

static bool add_touch(tni_waits *waits, uint32_t storage, uint32_t place, bool is_write)
{
    tni_touch *list = make_room(waits->scratch, waits->touch_list, waits->touch_count,
                                &waits->touch_capacity, sizeof *list);
    if (!list)
        return false;
    waits->touch_list = list;
    waits->touch_list[waits->touch_count] = (tni_touch){ place, waits->works->count,
                                                         waits->touches[storage], is_write };
    waits->touches[storage] = waits->touch_count++;
    return true;
}

bool tni_waits_touch(tni_waits *waits, uint32_t storage, uint32_t place, bool is_write)
{
    uint32_t work = waits->works->count;
    if (!waits->is_transferred[storage])   // only programs of one lane touch it, by their queue
        return true;
    for (uint32_t *at = &waits->touches[storage]; *at != TNP_NONE;) {
        const tni_touch *t = &waits->touch_list[*at];
        if (t->place == place && t->work == work && (t->is_write || !is_write))
            return true;
        if (t->place == place && t->work != work && (is_write || t->is_write))
            tni_waits_depend(waits, t->work);
        if (t->place == place && is_write)   // who comes after this write comes after that, too
            *at = t->next;
        else
            at = &waits->touch_list[*at].next;
    }
    return add_touch(waits, storage, place, is_write);
}

// ------------------------------------------------------------------------------------------- waits

static void come_after(const tni_waits *waits, uint32_t *done, uint32_t work)
{
    const uint32_t *earlier = waits->done + (size_t)work * waits->queue_count;
    for (uint32_t q = 0; q < waits->queue_count; q++)
        done[q] = tni_larger_u32(earlier[q], done[q]);
    uint32_t queue = waits->works->list[work].queue;
    done[queue] = tni_larger_u32(work + 1, done[queue]);
}

static bool add_wait(tni_waits *waits, uint32_t work, uint32_t waits_for)
{
    tni_works *works = waits->works;
    tni_plan_wait *list = make_room(waits->arena, works->waits, works->wait_count,
                                    &waits->wait_capacity, sizeof *list);
    if (!list)
        return false;
    works->waits = list;
    works->waits[works->wait_count++] = (tni_plan_wait){ work, waits_for };
    return true;
}

static bool choose_waits(tni_waits *waits, tni_work *work, uint32_t index)
{
    tni_works *works = waits->works;
    uint32_t *done = waits->done + (size_t)index * waits->queue_count;
    if (waits->last[work->queue] != TNP_NONE)
        come_after(waits, done, waits->last[work->queue]);
    work->first_wait = works->wait_count;
    while (waits->found_count) {
        uint32_t latest = 0;
        for (uint32_t i = 1; i < waits->found_count; i++)
            latest = waits->found[i] > waits->found[latest] ? i : latest;
        uint32_t other = waits->found[latest];
        waits->found[latest] = waits->found[--waits->found_count];
        if (other < done[works->list[other].queue])
            continue;
        if (!add_wait(waits, index, other))
            return false;
        come_after(waits, done, other);
    }
    work->wait_count = works->wait_count - work->first_wait;
    works->most_waits = tni_larger_u32(works->most_waits, work->wait_count);
    return true;
}

bool tni_waits_add(tni_waits *waits, tni_work work)
{
    uint32_t index = waits->works->count;
    waits->works->list[index] = work;
    if (!choose_waits(waits, &waits->works->list[index], index))
        return false;
    waits->last[work.queue] = index;
    waits->works->count++;
    return true;
}
