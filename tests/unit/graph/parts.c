// Parts of weights: constants of their own, whose bytes are the part's alone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "graph_test.h"

enum { MOST_BYTES = 4096 };

static unsigned char data[MOST_BYTES];

static int fill(void **state)
{
    (void)state;
    for (int i = 0; i < MOST_BYTES; i++)
        data[i] = (unsigned char)(i * 7 + i / 256);
    return 0;
}

static tn_value make_weight(tn_graph *graph, tn_dtype dtype, uint32_t rank, const int64_t *dims)
{
    uint64_t bytes = tn_dtype_bytes(dtype, dims[0]);
    for (uint32_t i = 1; i < rank; i++)
        bytes *= (uint64_t)dims[i];
    return tn_graph_weight(graph, "w", dtype, rank, dims, data, bytes);
}

// The bytes of a part are those that a slice looks at, one after another.
static void a_part_has_the_bytes_of_the_slice(void **state)
{
    (void)state;
    static const struct {
        tn_dtype dtype;
        uint32_t rank;
        int64_t dims[3];
        uint32_t axis;
        int64_t begin, count;
        const char *shape;
    } cases[] = {
        { TN_DTYPE_F32, 1, { 9, 1, 1 }, 0, 2, 5, "F32 {5}" },
        { TN_DTYPE_F32, 2, { 6, 5, 1 }, 1, 1, 3, "F32 {6, 3}" },
        { TN_DTYPE_F32, 2, { 6, 5, 1 }, 0, 1, 4, "F32 {4, 5}" },
        { TN_DTYPE_F16, 3, { 4, 3, 5 }, 1, 2, 1, "F16 {4, 1, 5}" },
        { TN_DTYPE_F16, 3, { 4, 3, 5 }, 2, 3, 2, "F16 {4, 3, 2}" },
        { TN_DTYPE_Q8_0, 2, { 96, 4, 1 }, 0, 32, 64, "Q8_0 {64, 4}" },
        { TN_DTYPE_Q4_K, 2, { 512, 3, 1 }, 0, 256, 256, "Q4_K {256, 3}" },
        { TN_DTYPE_Q4_1, 2, { 64, 8, 1 }, 1, 5, 3, "Q4_1 {64, 3}" },
        { TN_DTYPE_F32, 2, { 6, 5, 1 }, 0, 0, 6, "F32 {6, 5}" },
        { TN_DTYPE_F32, 2, { 6, 5, 1 }, 1, 5, 0, "F32 {6, 0}" },
    };
    for (size_t c = 0; c < TN_COUNT_OF(cases); c++) {
        tn_graph *graph = test_graph();
        tn_value whole = make_weight(graph, cases[c].dtype, cases[c].rank, cases[c].dims);
        tn_value part = tn_graph_weight_part(graph, whole, cases[c].axis, cases[c].begin,
                                             cases[c].count);
        tn_value slice = tn_graph_slice(graph, whole, cases[c].axis, cases[c].begin,
                                        cases[c].count);
        assert_string_equal(test_shape(graph, part), cases[c].shape);
        const tni_value *p = test_at(graph, part), *s = test_at(graph, slice);
        assert_string_equal(p->name, "w");
        assert_true(tni_value_is_contiguous(p));
        assert_int_equal(p->source, TNI_WEIGHT);
        assert_int_not_equal(p->storage, s->storage);

        unsigned char want[MOST_BYTES], got[MOST_BYTES];
        uint64_t row = tn_dtype_bytes(p->dtype, p->dims[0]), bytes = 0;
        for (int64_t z = 0; z < p->dims[2]; z++)
            for (int64_t y = 0; y < p->dims[1]; y++, bytes += row)
                memcpy(want + bytes,
                       data + s->offset + (uint64_t)(y * s->strides[1] + z * s->strides[2]), row);
        assert_int_equal(graph->storages[p->storage].bytes, bytes);
        for (uint64_t from = 0; from <= bytes; from += 5) {
            tni_weight_gather(p, from, bytes - from, got);
            assert_memory_equal(got, want + from, bytes - from);
        }
        tn_graph_destroy(graph);
    }
}

static void a_part_that_is_one_piece_is_read_where_it_lies(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value w = make_weight(graph, TN_DTYPE_Q8_0, 2, (int64_t[]){ 64, 6 });
    tn_value rows = tn_graph_weight_part(graph, w, 1, 2, 3);
    assert_ptr_equal(test_at(graph, rows)->data, data + 2 * 68);
    assert_int_equal(test_at(graph, rows)->run_bytes, 0);
    tn_value fewer = tn_graph_weight_part(graph, rows, 1, 1, 2);   // of such a part in turn
    assert_ptr_equal(test_at(graph, fewer)->data, data + 3 * 68);
    tn_value all = tn_graph_weight_part(graph, w, 0, 0, 64);   // of every row
    assert_ptr_equal(test_at(graph, all)->data, data);
    assert_int_equal(test_at(graph, all)->run_bytes, 0);
    tn_value columns = tn_graph_weight_part(graph, fewer, 0, 32, 32);
    assert_ptr_equal(test_at(graph, columns)->data, data + 3 * 68 + 34);
    assert_int_equal(test_at(graph, columns)->run_bytes, 34);
    assert_int_equal(test_at(graph, columns)->run_stride, 68);
    tn_graph_destroy(graph);
}

static void what_is_no_part_is_refused_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        uint32_t of;   // 0 the weight, 1 an input, 2 columns of it, 3 a slice
        uint32_t axis;
        int64_t begin, count;
        tn_status status;
        const char *words;
    } cases[] = {
        { "an input", 1, 0, 0, 1, TN_E_ARG, "part of 'x': it is no weight" },
        { "a view", 3, 1, 0, 1, TN_E_ARG, "it is no weight" },
        { "columns", 2, 1, 0, 1, TN_E_ARG, "it does not lie in one piece" },
        { "too many", 0, 1, 3, 4, TN_E_SHAPE, "4 elements from 3 leave dim 1 of 6" },
        { "from below", 0, 1, -1, 2, TN_E_SHAPE, "2 elements from -1 leave dim 1 of 6" },
        { "less than none", 0, 1, 2, -1, TN_E_SHAPE, "-1 elements from 2 leave dim 1 of 6" },
        { "a sum that wraps", 0, 1, 2, INT64_MAX, TN_E_SHAPE, "leave dim 1 of 6" },
        { "a ninth dim", 0, 8, 0, 1, TN_E_SHAPE, "leave dim 8 of 0" },
        { "half a block", 0, 0, 16, 32, TN_E_SHAPE, "dim 0 of Q8_0 is cut at multiples of 32" },
        { "a block and a half", 0, 0, 0, 48, TN_E_SHAPE,
          "dim 0 of Q8_0 is cut at multiples of 32" },
    };
    for (size_t c = 0; c < TN_COUNT_OF(cases); c++) {
        tn_graph *graph = test_graph();
        tn_value of[4];
        of[0] = make_weight(graph, TN_DTYPE_Q8_0, 2, (int64_t[]){ 64, 6 });
        of[1] = test_value(graph, "x", "F32 {4}");
        of[2] = tn_graph_weight_part(graph, of[0], 0, 0, 32);
        of[3] = tn_graph_slice(graph, of[0], 1, 0, 3);
        assert_true(tn_value_is_none(tn_graph_weight_part(graph, of[cases[c].of], cases[c].axis,
                                                          cases[c].begin, cases[c].count)));
        test_refused(graph, cases[c].says, cases[c].status,
                     (const char *const[]){ cases[c].words, NULL });
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_has_the_bytes_of_the_slice),
        cmocka_unit_test(a_part_that_is_one_piece_is_read_where_it_lies),
        cmocka_unit_test(what_is_no_part_is_refused_in_words),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
