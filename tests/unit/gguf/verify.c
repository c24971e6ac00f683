// The table of tensors against the file. Rows 2 and 3 of the cases that broke other programs.
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

enum { F32 = 0, Q8_0 = 8, Q4_K = 12, IQ1_S = 19, I64 = 27, F64 = 28 };   // as in the file

// One tensor 'w' and `data_bytes` of data behind the table, which begins at a multiple of 32.
static void build_one(gguf_builder *b, uint32_t rank, const uint64_t *dims, uint32_t type,
                      uint64_t offset, size_t data_bytes)
{
    gguf_builder_init(b, 3);
    gguf_builder_tensor(b, "w", rank, dims, type, offset);
    gguf_builder_align(b, 32);
    gguf_builder_zeros(b, data_bytes);
}

// Two tensors of 64 bytes.
static void build_two(gguf_builder *b, uint64_t first, uint64_t second)
{
    gguf_builder_init(b, 3);
    gguf_builder_tensor(b, "first", 1, (const uint64_t[]){ 16 }, F32, first);
    gguf_builder_tensor(b, "second", 1, (const uint64_t[]){ 16 }, F32, second);
    gguf_builder_align(b, 32);
    gguf_builder_zeros(b, 160);
}

static void build_size_wraps(gguf_builder *b)
{
    // (2^42 + 1) * 2^22 elements: their bytes are 2^24 modulo 2^64
    build_one(b, 2, (const uint64_t[]){ ((uint64_t)1 << 42) + 1, (uint64_t)1 << 22 }, F32, 0, 64);
}

static void build_size_wraps_to_zero(gguf_builder *b)
{
    build_one(b, 4, (const uint64_t[]){ 1 << 16, 1 << 16, 1 << 16, 1 << 16 }, F32, 0, 64);
}

static void build_row_wraps(gguf_builder *b)
{
    build_one(b, 1, (const uint64_t[]){ (uint64_t)1 << 62 }, I64, 0, 64);
}

static void build_part_of_a_block(gguf_builder *b)
{
    build_one(b, 2, (const uint64_t[]){ 33, 32 }, Q8_0, 0, 2048);
}

static void build_part_of_a_large_block(gguf_builder *b)
{
    build_one(b, 1, (const uint64_t[]){ 128 }, Q4_K, 0, 2048);
}

static void build_iq1_s(gguf_builder *b)
{
    build_one(b, 1, (const uint64_t[]){ 256 }, IQ1_S, 0, 2048);
}

static void build_f64(gguf_builder *b)
{
    build_one(b, 1, (const uint64_t[]){ 8 }, F64, 0, 64);
}

static void build_removed_type(gguf_builder *b)
{
    build_one(b, 1, (const uint64_t[]){ 32 }, 4, 0, 64);
}

static void build_type_from_nowhere(gguf_builder *b)
{
    build_one(b, 1, (const uint64_t[]){ 32 }, UINT32_MAX, 0, 64);
}

static void build_offset_beyond(gguf_builder *b)
{
    build_one(b, 1, (const uint64_t[]){ 8 }, F32, 1 << 20, 64);
}

static void build_offset_wraps(gguf_builder *b)
{
    build_one(b, 1, (const uint64_t[]){ 8 }, F32, UINT64_MAX - 31, 64);
}

static void build_end_wraps(gguf_builder *b)
{
    build_one(b, 1, (const uint64_t[]){ (uint64_t)1 << 60 }, F32, UINT64_MAX - 127, 64);
}

static void build_unaligned(gguf_builder *b)
{
    build_one(b, 1, (const uint64_t[]){ 8 }, F32, 4, 64);
}

static void build_cut_by_one_byte(gguf_builder *b)
{
    build_one(b, 1, (const uint64_t[]){ 8 }, F32, 32, 63);
}

static void build_no_data(gguf_builder *b)
{
    build_one(b, 1, (const uint64_t[]){ 8 }, F32, 0, 0);
    b->bytes = 24 + 33;   // ends with the table
}

static void build_overlap(gguf_builder *b)
{
    build_two(b, 32, 64);
}

static void build_overlap_backwards(gguf_builder *b)
{
    build_two(b, 64, 32);
}

static void build_same_place(gguf_builder *b)
{
    build_two(b, 0, 0);
}

static const check_case sizes[] = {
    { "a size that wraps", build_size_wraps, "tensor 0 'w': its size wraps: dims 4398046511105" },
    { "a size that wraps to 0", build_size_wraps_to_zero, "tensor 0 'w': its size wraps" },
    { "a row that wraps", build_row_wraps, "tensor 0 'w': its size wraps" },
    { "a row of a block and a bit", build_part_of_a_block, "dims[0] is 33, a multiple of 32" },
    { "a row of half a block", build_part_of_a_large_block, "dims[0] is 128, a multiple of 256" },
    { "a type that is not known here", build_iq1_s, "tensor 0 'w': has the type 19 (IQ1_S)" },
    { "F64", build_f64, "tensor 0 'w': has the type 28 (F64)" },
    { "a type that was removed", build_removed_type, "tensor 0 'w': has the type 4 (unknown)" },
    { "a type from nowhere", build_type_from_nowhere, "has the type 4294967295 (unknown)" },
};

static void a_wrong_type_or_size_is_refused(void **state)
{
    (void)state;
    check_refused(sizes, TN_COUNT_OF(sizes));
}

static const check_case places[] = {
    { "an offset beyond the file", build_offset_beyond,
      "32 bytes at offset 1048576 of the data, which begins at byte 64, and the file has 128" },
    { "an offset that wraps", build_offset_wraps, "at offset 18446744073709551584" },
    { "an end that wraps", build_end_wraps, "ends outside the file" },
    { "an offset that is not aligned", build_unaligned,
      "its offset is 4, a multiple of the alignment 32 was expected; it has 32 bytes, the file "
      "128" },
    { "a last tensor cut by one byte", build_cut_by_one_byte, "and the file has 127" },
    { "a table and no data", build_no_data, "and the file has 57" },
    { "two that overlap", build_overlap,
      "tensor 1 'second': begins at byte 192 of the file, within 'first'" },
    { "two that overlap, the second first", build_overlap_backwards,
      "tensor 0 'first': begins at byte 192" },
    { "two at one place", build_same_place, "within '" },
};

static void a_wrong_place_is_refused(void **state)
{
    (void)state;
    check_refused(places, TN_COUNT_OF(places));
}

static void assert_opens(gguf_builder *b)
{
    void *block;
    tn_model *model;
    tn_error err = { 0 };
    if (check_open(b->data, b->bytes, NULL, &block, &model, &err) != TN_OK)
        fail_msg("refused: %s", err.text);
    check_walk(model);
    tn_model_close(model);
    free(block);
    gguf_builder_finish(b);
}

static void tensors_may_touch_lie_apart_and_come_in_any_order(void **state)
{
    (void)state;
    gguf_builder b;
    build_two(&b, 0, 64);
    assert_opens(&b);
    build_two(&b, 64, 0);
    assert_opens(&b);
    build_two(&b, 96, 0);
    assert_opens(&b);
}

static void data_follows_the_alignment_of_the_file(void **state)
{
    (void)state;
    gguf_builder b;
    gguf_builder_init(&b, 2);
    gguf_builder_key_u32(&b, "general.alignment", 4096);
    gguf_builder_tensor(&b, "w", 1, (const uint64_t[]){ 2 }, F32, 4096);
    gguf_builder_align(&b, 4096);
    gguf_builder_zeros(&b, 4096);
    gguf_builder_f32(&b, 1.5f);
    gguf_builder_f32(&b, -2);
    void *block;
    tn_model *model;
    tn_error err;
    assert_int_equal(check_open(b.data, b.bytes, NULL, &block, &model, &err), TN_OK);
    tn_model_tensor w = { .size = sizeof w };
    assert_int_equal(tn_model_find_tensor(model, "w", &w, &err), TN_OK);
    assert_int_equal(w.offset, 8192);
    assert_int_equal(w.bytes, 8);
    assert_memory_equal(w.data, ((const float[]){ 1.5f, -2 }), 8);
    tn_model_close(model);
    free(block);
    gguf_builder_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_type_or_size_is_refused),
        cmocka_unit_test(a_wrong_place_is_refused),
        cmocka_unit_test(tensors_may_touch_lie_apart_and_come_in_any_order),
        cmocka_unit_test(data_follows_the_alignment_of_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
