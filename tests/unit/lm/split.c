// Shares of devices: how sizes are cut, and which cuts a model allows.
#include "lm_test.h"

#include <string.h>

#include "split.h"

static tlm_split make_split(bool has_heads, uint32_t parts, const double *shares)
{
    tlm_split split = { .has_heads = has_heads, .parts = parts };
    for (uint32_t p = 0; p < parts; p++)
        split.shares[p] = shares ? shares[p] : 1;
    return split;
}

static void units_go_to_the_largest_remainders(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        uint32_t parts;
        double shares[4];
        int64_t total, unit, counts[4];
    } cases[] = {
        { "halves", 2, { 1, 1 }, 64, 32, { 32, 32 } },
        { "the earlier of equal remainders", 2, { 1, 1 }, 96, 32, { 64, 32 } },
        { "five at 0.5 : 1", 2, { 0.5, 1 }, 5, 1, { 2, 3 } },
        { "three heads over two", 2, { 1, 1 }, 3, 1, { 2, 1 } },
        { "three heads over four", 4, { 1, 1, 1, 1 }, 3, 1, { 1, 1, 1, 0 } },
        { "three heads at 5 : 2 : 1", 3, { 5, 2, 1 }, 3, 1, { 2, 1, 0 } },
        { "3 : 1 in blocks", 2, { 3, 1 }, 2048, 256, { 1536, 512 } },
        { "a last unit that is smaller", 2, { 1, 1 }, 100, 32, { 64, 36 } },
        { "a device without a share", 3, { 1, 0, 1 }, 4, 1, { 2, 0, 2 } },
        { "a first one without a share", 2, { 0, 7 }, 5, 2, { 0, 5 } },
        { "nothing", 2, { 1, 1 }, 0, 32, { 0, 0 } },
        { "tenths", 4, { 0.1, 0.2, 0.3, 0.4 }, 10, 1, { 1, 2, 3, 4 } },
        { "far apart", 2, { 1e300, 1e-300 }, 1000, 1, { 1000, 0 } },
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        tlm_split split = make_split(true, cases[c].parts, cases[c].shares);
        tlm_cut cut = tlm_split_cut(&split, cases[c].total, cases[c].unit);
        assert_int_equal(cut.begin[0], 0);
        assert_int_equal(cut.begin[cut.parts], cases[c].total);
        for (uint32_t p = 0; p < cut.parts; p++)
            if (tlm_cut_range(&cut, p).count != cases[c].counts[p])
                fail_msg("%s: part %u has %lld, expected %lld", cases[c].says, p,
                         (long long)tlm_cut_range(&cut, p).count, (long long)cases[c].counts[p]);
    }
}

// Any shares: every unit is somewhere, and nobody is a whole unit from its quota.
static void cuts_are_whole_and_near_their_quotas(void **state)
{
    (void)state;
    uint32_t random = 5;
    for (int times = 0; times < 2000; times++) {
        double shares[TLM_MOST_PARTS], sum = 0;
        random = random * 1664525 + 1013904223;
        uint32_t parts = 1 + (random >> 16) % TLM_MOST_PARTS;
        for (uint32_t p = 0; p < parts; p++) {
            random = random * 1664525 + 1013904223;
            shares[p] = (double)(random >> 24);
            sum += shares[p];
        }
        if (!(sum > 0))
            continue;
        random = random * 1664525 + 1013904223;
        int64_t unit = 1 + (random >> 20) % 40, units = (random >> 8) % 3000;
        tlm_split split = make_split(true, parts, shares);
        tlm_cut cut = tlm_split_cut(&split, units * unit, unit);
        assert_int_equal(cut.begin[parts], units * unit);
        for (uint32_t p = 0; p < parts; p++) {
            double off = (double)tlm_cut_range(&cut, p).count / (double)unit -
                         (double)units * shares[p] / sum;
            assert_int_equal(cut.begin[p] % unit, 0);
            assert_true(off > -1.000001 && off < 1.000001);
        }
    }
}

// A layer with these sizes, and output and down matrices of these types.
typedef struct sizes {
    int64_t heads, kv_heads, head_dim, feed_forward;
    tn_dtype output, down;
} sizes;

static void what_a_model_allows_is_divided_and_the_rest_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        sizes of;
        uint32_t parts;
        bool has_heads, has_columns;
        int64_t first_heads, first_columns;   // of the first part
        const char *note;
    } cases[] = {
        { "heads and blocks that fit",
          { 8, 4, 64, 1024, TN_DTYPE_Q4_K, TN_DTYPE_Q6_K },
          2,
          true,
          true,
          2,
          512,
          "" },
        { "three heads over two devices",
          { 9, 3, 64, 1536, TN_DTYPE_Q4_1, TN_DTYPE_Q4_1 },
          2,
          true,
          true,
          2,
          768,
          "" },
        { "two heads make a block",
          { 8, 4, 64, 1024, TN_DTYPE_Q4_K, TN_DTYPE_F16 },
          2,
          true,
          true,
          2,
          512,
          "" },
        { "one head for each block of 32",
          { 4, 4, 16, 64, TN_DTYPE_Q8_0, TN_DTYPE_Q8_0 },
          2,
          true,
          true,
          2,
          32,
          "" },
        { "one key head",
          { 4, 1, 256, 2048, TN_DTYPE_Q5_0, TN_DTYPE_Q4_K },
          2,
          false,
          true,
          0,
          1024,
          "the one key head of attention cannot be divided; rows of its matrices are divided "
          "instead, in 2 of 2 layers" },
        { "heads that make no blocks",
          { 9, 3, 64, 1536, TN_DTYPE_Q4_K, TN_DTYPE_Q4_1 },
          2,
          false,
          true,
          0,
          768,
          "attention cannot be divided by heads: the 192 columns of 'o' for each of 3 key heads do "
          "not make whole blocks of 256 (Q4_K); rows of its matrices" },
        { "one block a row",
          { 4, 2, 64, 256, TN_DTYPE_F16, TN_DTYPE_Q6_K },
          2,
          true,
          false,
          1,
          128,
          "the feed-forward cannot be divided by columns: 'down' has one block of 256 (Q6_K) a "
          "row; "
          "rows of its matrices" },
        { "neither",
          { 4, 1, 64, 256, TN_DTYPE_F16, TN_DTYPE_Q6_K },
          2,
          false,
          false,
          0,
          128,
          "cannot be divided; the feed-forward cannot be divided by columns: 'down' has one" },
        { "fewer heads than devices",
          { 6, 3, 32, 1024, TN_DTYPE_Q8_0, TN_DTYPE_Q8_0 },
          4,
          true,
          true,
          1,
          256,
          "the 3 key heads of attention are on 3 of 4 devices: their number" },
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        static tlm_hparams p;
        const sizes *of = &cases[c].of;
        p = (tlm_hparams){ .layers = 2,
                           .vocabulary = 64,
                           .heads = of->heads,
                           .kv_heads = of->kv_heads,
                           .head_dim = of->head_dim,
                           .feed_forward = of->feed_forward };
        tn_model_tensor tensors[2 * TLM_SLOTS] = { 0 };
        for (size_t layer = 0; layer < 2; layer++) {
            tensors[layer * TLM_SLOTS + TLM_ATTN_OUTPUT] = (tn_model_tensor){ .name = "o",
                                                                              .dtype = of->output };
            tensors[layer * TLM_SLOTS + TLM_FFN_DOWN] = (tn_model_tensor){ .name = "down",
                                                                           .dtype = of->down };
        }
        tlm_weights weights = { .tensors = tensors };
        tlm_split split = make_split(true, cases[c].parts, NULL);
        tlm_cut cut;
        char note[2 * TLM_NOTE_BYTES];
        print_message("%s\n", cases[c].says);
        assert_int_equal(tlm_split_heads(&split, &p, &weights, 0, &cut, NULL), cases[c].has_heads);
        if (cases[c].has_heads)
            assert_int_equal(tlm_cut_range(&cut, 0).count, cases[c].first_heads);
        assert_int_equal(tlm_split_feed_forward(&split, &p, &weights, 0, &cut, NULL),
                         cases[c].has_columns);
        assert_int_equal(tlm_cut_range(&cut, 0).count, cases[c].first_columns);
        tlm_split_describe(&split, &p, &weights, note);
        if (*cases[c].note ? !strstr(note, cases[c].note) : *note)
            fail_msg("%s: '%s', expected '%s'", cases[c].says, note, cases[c].note);

        split.has_heads = false;   // by rows all of it is divided, and nothing is to tell
        assert_false(tlm_split_heads(&split, &p, &weights, 0, &cut, NULL));
        assert_false(tlm_split_feed_forward(&split, &p, &weights, 0, &cut, NULL));
        tlm_split_describe(&split, &p, &weights, note);
        assert_string_equal(note, "");
    }
}

// Rows begin where bytes are as aligned as those of the matrix, unless that makes coarse shares.
static void rows_are_cut_at_32_where_there_are_many(void **state)
{
    (void)state;
    static const struct {
        int64_t rows, unit;
    } cases[] = { { 4096, 32 }, { 576, 32 }, { 500, 16 }, { 72, 4 }, { 10, 1 }, { 1, 1 } };
    tlm_split split = make_split(false, 2, (const double[]){ 1, 3 });
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        tlm_cut cut = tlm_split_rows(&split, cases[c].rows);
        assert_int_equal(cut.begin[2], cases[c].rows);
        assert_int_equal(cut.begin[1] % cases[c].unit, 0);
        assert_true(cut.begin[1] * 4 >= cases[c].rows - 4 * cases[c].unit);
        assert_true(cut.begin[1] * 4 <= cases[c].rows + 4 * cases[c].unit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_go_to_the_largest_remainders),
        cmocka_unit_test(cuts_are_whole_and_near_their_quotas),
        cmocka_unit_test(what_a_model_allows_is_divided_and_the_rest_is_told),
        cmocka_unit_test(rows_are_cut_at_32_where_there_are_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
