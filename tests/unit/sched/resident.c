// What claims have resident on their places.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

static void equal_bytes_are_sorted_and_left_once(void **state)
{
    (void)state;
    static const float weights[2][16];
    tni_resident_bytes list[] = {
        { .place = 1, .data = weights[0], .bytes = 64 },
        { .place = 0, .data = weights[1], .bytes = 64 },
        { .place = 1, .data = weights[0], .bytes = 64 },
        { .place = 1, .data = weights[0], .layout = 7, .bytes = 64 },
        { .place = 0, .data = weights[1], .bytes = 32 },
    };
    assert_int_equal(tni_resident_bytes_sort(list, 5), 4);
    for (uint32_t i = 1; i < 4; i++)
        assert_true(tni_resident_bytes_compare(&list[i - 1], &list[i]) < 0);
    assert_int_equal(list[0].bytes, 32);
    assert_int_equal(list[3].layout, 7);
    assert_int_equal(tni_resident_bytes_sort(list, 0), 0);
}

static void what_is_not_mapped_is_resident_in_whole_buffers(void **state)
{
    (void)state;
    rig_products p = rig_make_products(&r);
    const uint32_t nodes[] = { rig_node(&r, p.y[1]), rig_node(&r, p.y[2]) };
    const tni_claim claim = { .place = 1, .node_count = 2, .nodes = nodes };
    const uint64_t alignments[] = { 1, 100 };
    uint64_t mapped[8] = { 0 };
    tni_memories how = { .alignments = alignments, .mapped = mapped, .mapped_count = 8 };
    tni_resident_bytes out[2];
    assert_int_equal(tni_resident_bytes_of(r.graph, &claim, &how, NULL), 2);
    assert_int_equal(tni_resident_bytes_of(r.graph, &claim, &how, out), 2);
    assert_ptr_equal(out[0].data, p.weights[0]);
    assert_int_equal(out[0].bytes, 100);
    mapped[rig_storage(&r, p.w)] = 2;   // place 1 reads it where it lies
    assert_int_equal(tni_resident_bytes_of(r.graph, &claim, &how, out), 1);
    assert_ptr_equal(out[0].data, p.weights[1]);
    mapped[rig_storage(&r, p.w)] = 1;   // another place does
    assert_int_equal(tni_resident_bytes_of(r.graph, &claim, &how, out), 2);
}

static void packs_are_resident_unless_they_are_part_of_the_program(void **state)
{
    (void)state;
    rig_products p = rig_make_products(&r);
    const uint32_t node = rig_node(&r, p.y[2]);
    tni_pack packs[2] = { { .layout = 5, .bytes = 80, .group_rows = 4 },
                          { .layout = 6, .bytes = 90, .group_rows = 4, .flags = TNP_PACK_BAKED } };
    uint32_t reads[TNI_MAX_READS];
    assert_int_equal(tni_node_reads(r.graph, &r.graph->nodes[node], reads), 2);
    packs[0].value = packs[1].value = reads[1];
    const tni_claim claim = { .node_count = 1, .nodes = &node, .pack_count = 2, .packs = packs };
    uint64_t mapped[8];
    memset(mapped, 0xff, sizeof mapped);
    const tni_memories how = { .mapped = mapped, .mapped_count = 8 };
    tni_resident_bytes out[3];
    assert_int_equal(tni_resident_bytes_of(r.graph, &claim, &how, out), 1);
    assert_int_equal(out[0].layout, 5);
    assert_int_equal(out[0].bytes, 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_bytes_are_sorted_and_left_once, begin, end),
        cmocka_unit_test_setup_teardown(what_is_not_mapped_is_resident_in_whole_buffers, begin,
                                        end),
        cmocka_unit_test_setup_teardown(packs_are_resident_unless_they_are_part_of_the_program,
                                        begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
