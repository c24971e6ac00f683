// What claims keep on their places (keep.c), each once for the solver (items.c), and where nodes
// may be by it (rules.c).
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sched_test.h"

static rig r;
static float weights[2][16];

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

// y = (x W) W V, with W and V of 64 bytes.
static void make_products(tn_value *w, tn_value *v, tn_value *y)
{
    const int64_t dims[] = { 4, 4 };
    *w = tn_graph_weight(r.graph, "w", TN_DTYPE_F32, 2, dims, weights[0], sizeof weights[0]);
    *v = tn_graph_weight(r.graph, "v", TN_DTYPE_F32, 2, dims, weights[1], sizeof weights[1]);
    y[0] = tn_graph_matmul(r.graph, rig_input(&r, "x"), *w);
    y[1] = tn_graph_matmul(r.graph, y[0], *w);
    y[2] = tn_graph_matmul(r.graph, y[1], *v);
    rig_finish(&r, y[2]);
}

// ------------------------------------------------------------------------------------------ keep.c

static void equal_bytes_are_sorted_and_left_once(void **state)
{
    (void)state;
    tni_kept_bytes kept[] = {
        { .place = 1, .data = weights[0], .bytes = 64 },
        { .place = 0, .data = weights[1], .bytes = 64 },
        { .place = 1, .data = weights[0], .bytes = 64 },
        { .place = 1, .data = weights[0], .layout = 7, .bytes = 64 },
        { .place = 0, .data = weights[1], .bytes = 32 },
    };
    assert_int_equal(tni_kept_bytes_sort(kept, 5), 4);
    for (uint32_t i = 1; i < 4; i++)
        assert_true(tni_kept_bytes_compare(&kept[i - 1], &kept[i]) < 0);
    assert_int_equal(kept[0].bytes, 32);
    assert_int_equal(kept[3].layout, 7);
    assert_int_equal(tni_kept_bytes_sort(kept, 0), 0);
}

static void a_claim_keeps_what_is_not_mapped_in_whole_buffers(void **state)
{
    (void)state;
    tn_value w, v, y[3];
    make_products(&w, &v, y);
    const uint32_t nodes[] = { rig_node(&r, y[1]), rig_node(&r, y[2]) };
    const tni_claim claim = { .place = 1, .node_count = 2, .nodes = nodes };
    const uint64_t alignments[] = { 1, 100 };
    uint64_t mapped[8] = { 0 };
    tni_keeping how = { .alignments = alignments, .mapped = mapped, .mapped_count = 8 };
    tni_kept_bytes out[2];
    assert_int_equal(tni_claim_keeps(r.graph, &claim, &how, NULL), 2);
    assert_int_equal(tni_claim_keeps(r.graph, &claim, &how, out), 2);
    assert_ptr_equal(out[0].data, weights[0]);
    assert_int_equal(out[0].bytes, 100);
    mapped[rig_storage(&r, w)] = 2;   // place 1 reads it where it lies
    assert_int_equal(tni_claim_keeps(r.graph, &claim, &how, out), 1);
    assert_ptr_equal(out[0].data, weights[1]);
    mapped[rig_storage(&r, w)] = 1;   // another place does
    assert_int_equal(tni_claim_keeps(r.graph, &claim, &how, out), 2);
}

static void packs_are_kept_unless_they_are_part_of_the_program(void **state)
{
    (void)state;
    tn_value w, v, y[3];
    make_products(&w, &v, y);
    const uint32_t node = rig_node(&r, y[2]);
    tni_pack packs[2] = { { .layout = 5, .bytes = 80, .group_rows = 4 },
                          { .layout = 6, .bytes = 90, .group_rows = 4, .flags = TNP_PACK_BAKED } };
    uint32_t reads[TNI_MAX_READS];
    assert_int_equal(tni_node_reads(r.graph, &r.graph->nodes[node], reads), 2);
    packs[0].value = packs[1].value = reads[1];
    const tni_claim claim = { .node_count = 1, .nodes = &node, .pack_count = 2, .packs = packs };
    uint64_t mapped[8];
    memset(mapped, 0xff, sizeof mapped);
    const tni_keeping how = { .mapped = mapped, .mapped_count = 8 };
    tni_kept_bytes out[3];
    assert_int_equal(tni_claim_keeps(r.graph, &claim, &how, out), 1);
    assert_int_equal(out[0].layout, 5);
    assert_int_equal(out[0].bytes, 80);
}

// ----------------------------------------------------------------------------------------- items.c

static void what_several_claims_keep_is_one_item_of_a_place(void **state)
{
    (void)state;
    tn_value w, v, y[3];
    make_products(&w, &v, y);
    const uint32_t nodes[] = { rig_node(&r, y[0]), rig_node(&r, y[1]), rig_node(&r, y[2]) };
    tni_claim claims[] = {
        { .place = 0, .node_count = 1, .nodes = &nodes[0] },
        { .place = 0, .node_count = 2, .nodes = &nodes[0] },   // w twice: once for it
        { .place = 1, .node_count = 1, .nodes = &nodes[1] },
        { .place = 0, .node_count = 1, .nodes = &nodes[2] },
    };
    const tni_answers answers = { .claim_count = 4, .claims = claims };
    tni_kept_bytes there = { .place = 0, .data = weights[1], .bytes = 64 };
    const tni_keeping keeping = { .there = &there, .there_count = 1 };
    const tni_items_request request = { r.graph, &answers, &keeping };
    tni_problem_claim out[4] = { 0 };
    tni_problem problem = { 0 };
    assert_true(tni_list_items(&request, &r.arena, out, &problem));
    assert_int_equal(problem.item_count, 3);   // w on each place, v on the first
    for (int c = 0; c < 4; c++)
        assert_int_equal(out[c].item_count, 1);
    uint32_t item[4];
    for (int c = 0; c < 4; c++)
        item[c] = problem.claim_items[out[c].first_item];
    assert_int_equal(item[0], item[1]);
    assert_int_not_equal(item[0], item[2]);
    assert_int_not_equal(item[0], item[3]);
    assert_int_equal(problem.item_bytes[item[0]], 64);
    assert_int_equal(problem.item_bytes[item[3]], 0);   // it is there already
}

// ----------------------------------------------------------------------------------------- rules.c

// Where the nodes of a chain of products may be, by rules; all are taken on both places.
static void ruled(const tni_rule *rules, const tni_keeping *keeping, uint64_t *places, uint8_t *why)
{
    uint32_t nodes[8];
    tni_claim claims[16];
    uint32_t count = r.graph->node_count, claim_count = 0;
    for (uint32_t n = 0; n < count; n++) {
        nodes[n] = n;
        for (uint32_t p = 0; p < 2; p++)
            claims[claim_count++] = (tni_claim){ .place = p, .node_count = 1, .nodes = &nodes[n] };
    }
    const tni_answers answers = { .claim_count = claim_count, .claims = claims };
    tni_kept kept;
    tni_takers takers;
    uint64_t holds[16];
    assert_true(tni_find_kept(r.graph, &r.arena, &kept));
    assert_true(tni_find_takers(r.graph, &answers, 3, &r.arena, &takers));
    tni_kept_begin(r.graph, &kept, NULL, 0, holds);
    const tni_ruling ruling = { .graph = r.graph,
                                .device_count = 2,
                                .places = 3,
                                .answers = &answers,
                                .takers = &takers,
                                .kept = &kept,
                                .rules = rules,
                                .keeping = keeping };
    assert_true(tni_rules_apply(&ruling, &r.arena, holds, places, why));
}

static void orders_and_wishes_and_buffers_say_where_a_node_may_be(void **state)
{
    (void)state;
    tn_value w, v, y[3];
    make_products(&w, &v, y);
    const uint64_t small[] = { 1000, 63 }, roomy[] = { 1000, 1000 };
    static const struct {
        const char *says;
        tni_rule rule;   // of each node
        bool is_small;   // the second place has no buffer as large as a weight
        uint64_t places;
        tni_why why;
    } cases[] = {
        { "nothing is asked", { UINT64_MAX, UINT64_MAX, TNI_WHY_COST }, false, 3, TNI_WHY_COST },
        { "a demand", { 2, UINT64_MAX, TNI_WHY_COST }, false, 2, TNI_WHY_PINNED },
        { "a wish", { UINT64_MAX, 1, TNI_WHY_LAYER }, false, 1, TNI_WHY_LAYER },
        { "a demand before a wish", { 2, 1, TNI_WHY_LAYER }, false, 2, TNI_WHY_PINNED },
        { "a wish that no place meets", { UINT64_MAX, 4, TNI_WHY_LAYER }, false, 3, TNI_WHY_COST },
        { "a small buffer", { UINT64_MAX, UINT64_MAX, TNI_WHY_COST }, true, 1, TNI_WHY_MEMORY },
        { "a wish for a small buffer", { UINT64_MAX, 2, TNI_WHY_LAYER }, true, 1, TNI_WHY_MEMORY },
        { "a demand for a small buffer", { 2, UINT64_MAX, TNI_WHY_COST }, true, 0, TNI_WHY_PINNED },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tni_rule rules[8];
        uint64_t places[8];
        uint8_t why[8];
        const tni_keeping keeping = { .largest = cases[i].is_small ? small : roomy };
        for (int n = 0; n < 8; n++)
            rules[n] = cases[i].rule;
        ruled(rules, &keeping, places, why);
        uint32_t node = rig_node(&r, y[1]);
        if (places[node] != cases[i].places || why[node] != cases[i].why)
            fail_msg("%s: places %llu, why %d", cases[i].says, (unsigned long long)places[node],
                     why[node]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_bytes_are_sorted_and_left_once, begin, end),
        cmocka_unit_test_setup_teardown(a_claim_keeps_what_is_not_mapped_in_whole_buffers, begin,
                                        end),
        cmocka_unit_test_setup_teardown(packs_are_kept_unless_they_are_part_of_the_program, begin,
                                        end),
        cmocka_unit_test_setup_teardown(what_several_claims_keep_is_one_item_of_a_place, begin,
                                        end),
        cmocka_unit_test_setup_teardown(orders_and_wishes_and_buffers_say_where_a_node_may_be,
                                        begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
