// order.c: which steps of a bound program must wait until earlier ones are over on all workers.
//
// Two steps conflict when one writes bytes that the other reads or writes. Addresses are known
// here, so this sees what shares memory by the host's plan as well as what hands on a value. Bytes
// are those of the full dims; scratch counts as written.
#include "order.h"

// Earlier steps that are looked at. What is further back is waited for, without a look: most steps
// conflict with one nearby, and the work of a bind stays proportional to its steps.
enum { LOOK_BACK = 64 };

// Operands, outputs and the scratch of one step.
typedef struct stretch {
    uintptr_t begin, end;
    const tnh_value *value;   // NULL = scratch
    bool is_written;
} stretch;

typedef struct accesses {
    uint32_t count;
    stretch stretches[CPU_MAX_INPUTS + CPU_MAX_OUTPUTS + 1];
} accesses;

static void add_value(const cpu_bound *bound, uint32_t index, bool is_written, accesses *to)
{
    const tnh_value *value = &bound->program->values[index];
    uintptr_t begin = (uintptr_t)(bound->places[value->storage].address + value->offset);
    to->stretches[to->count++] = (stretch){ begin, begin + (uintptr_t)value->span_bytes, value,
                                            is_written };
}

static void list_accesses(const cpu_bound *bound, uint32_t index, accesses *to)
{
    const cpu_step *step = &bound->program->steps[index];
    uintptr_t scratch = (uintptr_t)bound->steps[index].job.scratch;
    to->count = 0;
    for (uint32_t i = 0; i < step->output_count; i++)
        if (step->seen >> i & 1u)
            add_value(bound, step->outputs[i], true, to);
    for (uint32_t i = 0; i < step->input_count; i++)
        if (step->inputs[i] != TNP_NONE && !(step->packed >> i & 1u))   // nobody writes a pack
            add_value(bound, step->inputs[i], false, to);
    if (step->scratch_bytes > CPU_SCRATCH_ALIGNMENT)   // the rest is there to be aligned with
        to->stretches[to->count++] = (stretch){
            scratch, scratch + step->scratch_bytes - CPU_SCRATCH_ALIGNMENT, NULL, true
        };
}

static bool is_conflict(const stretch *a, const stretch *b)
{
    if (!a->is_written && !b->is_written)
        return false;
    if (a->end <= b->begin || b->end <= a->begin)
        return false;
    return !a->value || !b->value || !tnh_value_is_apart(a->value, a->begin, b->value, b->begin);
}

static bool do_conflict(const accesses *a, const accesses *b)
{
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t j = 0; j < b->count; j++)
            if (is_conflict(&a->stretches[i], &b->stretches[j]))
                return true;
    return false;
}

void cpu_order_steps(cpu_bound *bound)
{
    accesses ring[LOOK_BACK];
    for (uint32_t i = 0; i < bound->program->step_count; i++) {
        cpu_bound_step *own = &bound->steps[i];
        const uint32_t oldest = i < LOOK_BACK ? 0 : i - LOOK_BACK;
        accesses now;
        list_accesses(bound, i, &now);
        own->may_share = cpu_job_ns(&own->job) > CPU_ALONE_NS;
        own->waits_for = own->waits_for_shared = oldest;
        if (bound->program->steps[i].has_late_lengths)   // worker 0 reads them, for all
            own->waits_for = own->waits_for_shared = i;
        for (uint32_t j = i; j-- > own->waits_for_shared;) {
            if (!do_conflict(&now, &ring[j % LOOK_BACK]))
                continue;
            if (own->waits_for == oldest)
                own->waits_for = j + 1;
            if (bound->steps[j].may_share) {
                own->waits_for_shared = j + 1;
                break;
            }
        }
        ring[i % LOOK_BACK] = now;
    }
}
