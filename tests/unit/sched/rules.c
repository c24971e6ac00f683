// Where nodes may be, by what is asked of them and by the largest buffers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sched_test.h"

static rig r;

static int begin(void **state)
{
    (void)state;
    rig_begin(&r, 2);
    return 0;
}

static int end(void **state)
{
    (void)state;
    rig_end(&r);
    return 0;
}

// Where the nodes of a chain of products may be, by rules; all are taken on both places, on the
// second one with so much scratch.
static void ruled(const tni_rule *rules, const tni_memories *memories, uint64_t scratch_bytes,
                  uint64_t *places, const tni_bars *bars)
{
    uint32_t nodes[8];
    tni_claim claims[16];
    uint32_t count = r.graph->node_count, claim_count = 0;
    for (uint32_t n = 0; n < count; n++) {
        nodes[n] = n;
        for (uint32_t p = 0; p < 2; p++)
            claims[claim_count++] = (tni_claim){ .place = p,
                                                 .node_count = 1,
                                                 .nodes = &nodes[n],
                                                 .scratch_bytes = p ? scratch_bytes : 0 };
    }
    const tni_answers answers = { .claim_count = claim_count, .claims = claims };
    const tni_schedule_request request = { .places = 3, .memories = *memories };
    tni_ties ties;
    tni_takers takers;
    tni_asked asked;
    assert_true(tni_ties_find(r.graph, &r.arena, &ties));
    assert_true(tni_find_takers(r.graph, &answers, &request, &r.arena, &takers));
    const tni_ruling ruling = { .graph = r.graph,
                                .device_count = 2,
                                .places = 3,
                                .answers = &answers,
                                .takers = &takers,
                                .ties = &ties,
                                .rules = rules,
                                .memories = memories };
    assert_true(tni_asked_make(&ruling, &r.arena, NULL, NULL, 0, &asked));
    assert_true(tni_rules_apply(&ruling, &r.arena, &asked, places, bars));
}

static void demands_and_wishes_and_buffers_say_where_a_node_may_be(void **state)
{
    (void)state;
    rig_products p = rig_make_products(&r);
    const uint64_t small[] = { 1000, 63 }, roomy[] = { 1000, 1000 };
    static const struct {
        const char *says;
        tni_rule rule;   // of each node
        bool is_small;   // the second place has no buffer as large as a weight
        uint64_t places;
        tni_why why;
        uint64_t barred, roomless;
        uint64_t scratch_bytes;   // of claims on the second place
    } cases[] = {
        { "nothing is asked",
          { UINT64_MAX, UINT64_MAX, TNI_WHY_COST, NULL },
          false,
          3,
          TNI_WHY_COST,
          0,
          0,
          0 },
        { "a demand", { 2, UINT64_MAX, TNI_WHY_COST, NULL }, false, 2, TNI_WHY_PINNED, 1, 0, 0 },
        { "a wish", { UINT64_MAX, 1, TNI_WHY_LAYER, NULL }, false, 1, TNI_WHY_LAYER, 2, 0, 0 },
        { "a demand before a wish",
          { 2, 1, TNI_WHY_LAYER, NULL },
          false,
          2,
          TNI_WHY_PINNED,
          1,
          0,
          0 },
        { "a wish that no place meets",
          { UINT64_MAX, 4, TNI_WHY_LAYER, NULL },
          false,
          3,
          TNI_WHY_COST,
          0,
          0,
          0 },
        { "a small buffer",
          { UINT64_MAX, UINT64_MAX, TNI_WHY_COST, NULL },
          true,
          1,
          TNI_WHY_MEMORY,
          0,
          2,
          0 },
        { "a wish for a small buffer",
          { UINT64_MAX, 2, TNI_WHY_LAYER, NULL },
          true,
          1,
          TNI_WHY_MEMORY,
          0,
          2,
          0 },
        { "a demand for a small buffer",
          { 2, UINT64_MAX, TNI_WHY_COST, NULL },
          true,
          0,
          TNI_WHY_PINNED,
          1,
          2,
          0 },
        { "scratch that a buffer holds",
          { UINT64_MAX, UINT64_MAX, TNI_WHY_COST, NULL },
          false,
          3,
          TNI_WHY_COST,
          0,
          0,
          1000 },
        { "scratch that no buffer holds",
          { UINT64_MAX, UINT64_MAX, TNI_WHY_COST, NULL },
          false,
          1,
          TNI_WHY_MEMORY,
          0,
          2,
          1001 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tni_rule rules[8];
        uint64_t places[8];
        uint8_t why[8];
        uint64_t barred[8], roomless[8];
        const tni_bars bars = { why, barred, roomless };
        const tni_memories memories = { .largest = cases[i].is_small ? small : roomy };
        for (int n = 0; n < 8; n++)
            rules[n] = cases[i].rule;
        ruled(rules, &memories, cases[i].scratch_bytes, places, &bars);
        uint32_t node = rig_node(&r, p.y[1]);
        if (places[node] != cases[i].places || why[node] != cases[i].why ||
            barred[node] != cases[i].barred || roomless[node] != cases[i].roomless)
            fail_msg("%s: places %llu, why %d, barred %llu, roomless %llu", cases[i].says,
                     (unsigned long long)places[node], why[node], (unsigned long long)barred[node],
                     (unsigned long long)roomless[node]);
    }
}

// A state that two nodes touch, each with a wish of its own.
static void a_state_is_where_all_its_nodes_wish_or_wishes_are_dropped(void **state)
{
    (void)state;
    tn_value s = tn_graph_state(r.graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    tn_value y[] = { rig_op(&r, TNP_OP_NEG, s), rig_op(&r, TNP_OP_EXP, s) };
    tn_graph_output(r.graph, "first", y[0]);
    rig_finish(&r, y[1]);
    static const struct {
        const char *says;
        uint64_t wishes[2], largest[2];
        uint64_t places;   // of both
        tni_why why;       // of the second
    } cases[] = {
        { "both wish the first place", { 1, 1 }, { 48, 48 }, 1, TNI_WHY_LAYER },
        { "one wishes it", { 1, UINT64_MAX }, { 48, 48 }, 1, TNI_WHY_STATE },
        { "they wish different places", { 1, 2 }, { 48, 48 }, 3, TNI_WHY_COST },
        { "one has no buffer as large", { UINT64_MAX, UINT64_MAX }, { 47, 48 }, 2, TNI_WHY_STATE },
        { "it is wished there", { 1, 1 }, { 47, 48 }, 2, TNI_WHY_STATE },
        { "none has", { UINT64_MAX, UINT64_MAX }, { 47, 47 }, 3, TNI_WHY_COST },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tni_rule rules[2];
        uint64_t places[2], barred[2], roomless[2];
        uint8_t why[2];
        const tni_bars bars = { why, barred, roomless };
        const tni_memories memories = { .largest = cases[i].largest };
        for (uint32_t n = 0; n < 2; n++)
            rules[rig_node(&r, y[n])] = (tni_rule){ UINT64_MAX, cases[i].wishes[n], TNI_WHY_LAYER,
                                                    NULL };
        ruled(rules, &memories, 0, places, &bars);
        uint32_t second = rig_node(&r, y[1]);
        for (uint32_t n = 0; n < 2; n++)
            if (places[n] != cases[i].places)
                fail_msg("%s: node %u may be on %llu", cases[i].says, n,
                         (unsigned long long)places[n]);
        if (why[second] != cases[i].why)
            fail_msg("%s: why %d", cases[i].says, why[second]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(demands_and_wishes_and_buffers_say_where_a_node_may_be,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_state_is_where_all_its_nodes_wish_or_wishes_are_dropped,
                                        begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
