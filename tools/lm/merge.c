// merge.c: the heap of pairs and the list of symbols.
#include "merge.h"

#include "alloc.h"

static bool goes_before(const tlm_pair *a, const tlm_pair *b)
{
    return a->cost < b->cost || (a->cost <= b->cost && a->left < b->left);
}

static bool push_pair(tlm_merger *m, uint32_t left)
{
    uint32_t right = left == TLM_NOWHERE ? TLM_NOWHERE : m->symbols[left].after;
    if (right == TLM_NOWHERE)
        return true;
    tlm_pair new = { .left = left, .bytes = m->symbols[left].bytes + m->symbols[right].bytes };
    if (!m->find(m->context, &m->symbols[left], &m->symbols[right], &new.made, &new.cost))
        return true;
    if (!tlm_grow(&m->allocator, &m->heap, &m->heap_capacity, m->heap_count + 1, sizeof *m->heap))
        return false;
    size_t place = m->heap_count++;
    for (; place > 0 && goes_before(&new, &m->heap[(place - 1) / 2]); place = (place - 1) / 2)
        m->heap[place] = m->heap[(place - 1) / 2];
    m->heap[place] = new;
    return true;
}

static tlm_pair pop_pair(tlm_merger *m)
{
    tlm_pair first = m->heap[0], last = m->heap[--m->heap_count];
    size_t place = 0;
    for (size_t child; (child = place * 2 + 1) < m->heap_count; place = child) {
        if (child + 1 < m->heap_count && goes_before(&m->heap[child + 1], &m->heap[child]))
            child++;
        if (!goes_before(&m->heap[child], &last))
            break;
        m->heap[place] = m->heap[child];
    }
    m->heap[place] = last;
    return first;
}

bool tlm_merger_begin(tlm_merger *merger, size_t symbols)
{
    merger->count = 0;
    merger->heap_count = 0;
    return tlm_grow(&merger->allocator, &merger->symbols, &merger->symbol_capacity, symbols,
                    sizeof *merger->symbols);
}

void tlm_merger_add(tlm_merger *merger, int32_t id, uint32_t begin, uint32_t bytes)
{
    uint32_t at = merger->count++;
    if (at > 0)
        merger->symbols[at - 1].after = at;
    merger->symbols[at] = (tlm_symbol){
        .id = id,
        .begin = begin,
        .bytes = bytes,
        .before = at > 0 ? at - 1 : TLM_NOWHERE,
        .after = TLM_NOWHERE,
    };
}

bool tlm_merger_run(tlm_merger *merger)
{
    tlm_merger *m = merger;
    for (uint32_t i = 0; i < m->count; i++)
        if (!push_pair(m, i))
            return false;
    while (m->heap_count > 0) {
        tlm_pair pair = pop_pair(m);
        tlm_symbol *left = &m->symbols[pair.left];
        if (left->bytes == 0 || left->after == TLM_NOWHERE)
            continue;
        tlm_symbol *right = &m->symbols[left->after];
        if (left->bytes + right->bytes != pair.bytes)
            continue;
        left->id = pair.made;
        left->bytes = pair.bytes;
        left->after = right->after;
        right->bytes = 0;
        if (left->after != TLM_NOWHERE)
            m->symbols[left->after].before = pair.left;
        if (!push_pair(m, left->before) || !push_pair(m, pair.left))
            return false;
    }
    return true;
}

void tlm_merger_finish(tlm_merger *merger)
{
    tlm_free(&merger->allocator, merger->symbols);
    tlm_free(&merger->allocator, merger->heap);
}
