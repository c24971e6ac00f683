// sample_history.c: the last ids, in a ring, and how often each of them stands there.
#include "sampler_steps.h"

#include "alloc.h"

bool tlm_history_init(tlm_history *history, uint32_t room, uint32_t vocabulary,
                      const tn_allocator *allocator)
{
    *history = (tlm_history){ .room = room };
    history->ids = tlm_alloc(allocator, room, sizeof *history->ids);
    history->times = tlm_alloc(allocator, vocabulary, sizeof *history->times);
    return history->ids && history->times;
}

void tlm_history_finish(tlm_history *history, const tn_allocator *allocator)
{
    tlm_free(allocator, history->ids);
    tlm_free(allocator, history->times);
}

void tlm_history_add(tlm_history *history, int32_t id)
{
    if (history->room == 0)
        return;
    if (history->count == history->room)
        history->times[history->ids[history->next]]--;
    else
        history->count++;
    history->ids[history->next] = id;
    history->times[id]++;
    history->next = history->next + 1 == history->room ? 0 : history->next + 1;
}
