// fit_states.c: states that are not with their layers, since a device there does not take all that
// touches them.
#include <inttypes.h>

#include "base/error.h"
#include "exec/fit_internal.h"

// Of a state: where the layers of what touches it are to be, and what of that is not taken there.
typedef struct home {
    uint64_t wished;   // places; 0: an order says so, UINT64_MAX: nothing does
    const tni_compiled *of;
    uint32_t node;   // of its graph; TNP_NONE = all is taken
} home;

static uint32_t first_of(uint64_t places)
{
    uint32_t place = 0;
    while (!(places >> place & 1))
        place++;
    return place;
}

// With each node that touches a state.
typedef void visit(home *h, const tni_compiled *c, uint32_t node, const uint64_t *takers);

static void narrow(home *h, const tni_compiled *c, uint32_t node, const uint64_t *takers)
{
    (void)takers;
    const tni_rule *rule = &c->rules[tni_given_node(&c->schedule, node)];
    if (rule->why == TNI_WHY_LAYER)
        h->wished &= rule->wish;
    if (rule->demand != UINT64_MAX)
        h->wished = 0;
}

static void note_refused(home *h, const tni_compiled *c, uint32_t node, const uint64_t *takers)
{
    bool is_asked = h->wished && h->wished != UINT64_MAX && h->node == TNP_NONE;
    if (!is_asked || (takers[node] >> first_of(h->wished) & 1))
        return;
    h->of = c;
    h->node = node;
}

static void visit_nodes(const tni_compiled *c, home *homes, const uint64_t *takers, visit *call)
{
    for (uint32_t n = 0; n < c->graph->node_count; n++) {
        uint32_t values[TNI_MAX_READS + 1];
        uint32_t count = tni_node_touches(c->graph, &c->graph->nodes[n], values);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t state = c->state_of[c->graph->values[values[i]].storage];
            if (state != TNP_NONE)
                call(&homes[state], c, n, takers);
        }
    }
}

// By state. NULL: no memory.
static home *find_homes(const tn_session *session, tni_arena *scratch)
{
    home *homes = tni_arena_take_array(scratch, session->state_count, sizeof *homes);
    for (uint32_t s = 0; s < session->state_count && homes; s++)
        homes[s] = (home){ .wished = UINT64_MAX, .node = TNP_NONE };
    for (uint32_t g = 0; g < session->graph_count && homes; g++)
        if (session->graphs[g]->rules)
            visit_nodes(session->graphs[g], homes, NULL, narrow);
    for (uint32_t g = 0; g < session->graph_count && homes; g++) {
        const tni_compiled *c = session->graphs[g];
        const tni_schedule_request all = { .graph = c->graph };   // of every place, however small
        tni_takers takers;
        if (!tni_find_takers(c->graph, c->schedule.answers, &all, scratch, &takers))
            return NULL;
        visit_nodes(c, homes, takers.any, note_refused);
    }
    return homes;
}

// Those on a place, the first of them by name. false: there is none.
static bool tell(const tn_session *session, const home *homes, uint32_t place, char *out,
                 size_t bytes)
{
    uint32_t count = 0, first = 0;
    for (uint32_t s = 0; s < session->state_count; s++)
        if (session->states[s].place == place && homes[s].node != TNP_NONE &&
            !(homes[s].wished >> place & 1) && count++ == 0)
            first = s;
    if (!count)
        return false;
    const home *h = &homes[first];
    const tni_node *node = &h->of->graph->nodes[h->node];
    uint32_t wished = first_of(h->wished);
    char others[40] = "";
    if (count > 1)
        tni_format_text(others, sizeof others, " and %" PRIu32 " more state%s", count - 1,
                        count == 2 ? "" : "s");
    tni_format_text(out, bytes,
                    "placement: '%.60s'%s %s on %s, not with %s on %s, which does not take %s "
                    "'%.60s': %.120s",
                    session->states[first].name, others, count == 1 ? "is" : "are",
                    session->lanes[place].device->name, count == 1 ? "its layer" : "their layers",
                    session->lanes[wished].device->name, tni_op_find(node->op)->name, node->name,
                    tni_refusal_words(h->of->schedule.answers, h->node, wished, NULL));
    return true;
}

void tni_fit_say_states(const tn_session *session, tni_fit_say *say, const void *to)
{
    tni_arena scratch;
    char text[500];
    tni_arena_init(&scratch, &session->arena.allocator);
    const home *homes = find_homes(session, &scratch);   // without memory nothing is told
    for (uint32_t p = 0; p < session->lane_count && homes; p++)
        if (tell(session, homes, p, text, sizeof text))
            say(to, text);
    tni_arena_finish(&scratch);
}
