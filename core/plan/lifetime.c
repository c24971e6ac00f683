#include "plan/plan.h"

static void touch(const tn_graph *graph, uint32_t value, uint32_t step, tni_lifetime *lifetimes)
{
    tni_lifetime *life = &lifetimes[graph->values[value].storage];
    life->first = step < life->first ? step : life->first;
    life->last = life->first > life->last || step > life->last ? step : life->last;
}

void tni_plan_lifetimes(const tn_graph *graph, const uint32_t *steps, const uint32_t *places,
                        uint32_t place, tni_lifetime *lifetimes)
{
    for (uint32_t s = 0; s < graph->storage_count; s++)
        lifetimes[s] = (tni_lifetime){ UINT32_MAX, 0 };
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tni_node *node = &graph->nodes[n];
        if (places[n] != place)
            continue;
        uint32_t reads[TNI_MAX_READS], count = tni_node_reads(graph, node, reads);
        for (uint32_t i = 0; i < count; i++)
            touch(graph, reads[i], steps[n], lifetimes);
        touch(graph, node->output, steps[n], lifetimes);
    }
}
