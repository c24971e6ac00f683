// Header, keys and the table of tensors. Rows 1, 4, 5, 6, 7 and 9 of the cases that broke other
// programs.
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

static const uint64_t one_dim[] = { 8 };

// ------------------------------------------------------------------------------------------ header

static void build_empty(gguf_builder *b)
{
    *b = (gguf_builder){ 0 };
}

static void build_other_magic(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    memcpy(b->data, "lmgg", 4);
}

static void build_three_bytes(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    b->bytes = 3;
}

static void build_version_1(gguf_builder *b)
{
    gguf_builder_init(b, 1);
}

static void build_version_4(gguf_builder *b)
{
    gguf_builder_init(b, 4);
}

static void build_version_0(gguf_builder *b)
{
    gguf_builder_init(b, 0);
}

static void build_big_endian(gguf_builder *b)
{
    gguf_builder_init(b, 0x03000000);
}

static void build_many_tensors(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_zeros(b, 76);   // 100 bytes
    gguf_builder_set_u64(b, 8, (uint64_t)1 << 60);
}

static void build_many_keys(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_zeros(b, 76);
    gguf_builder_set_u64(b, 16, (uint64_t)1 << 60);
}

static void build_one_key_too_many(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_key(b, "a", TN_KEY_U8);
    gguf_builder_u8(b, 0);
    gguf_builder_set_u64(b, 16, 2);
}

static void build_negative_tensors(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_set_u64(b, 8, UINT64_MAX);
}

static const check_case headers[] = {
    { "an empty file", build_empty, "is empty" },
    { "three bytes", build_three_bytes, "the file has 3" },
    { "another format", build_other_magic, "begins with the bytes 6c 6d 67 67" },
    { "version 0", build_version_0, "version 0, only 2 and 3" },
    { "version 1", build_version_1, "version 1, only 2 and 3" },
    { "version 4", build_version_4, "version 4, only 2 and 3" },
    { "a big-endian file", build_big_endian, "big-endian" },
    { "2^60 tensors in 100 bytes", build_many_tensors, "number of tensors is 1152921504606846976" },
    { "2^60 keys in 100 bytes", build_many_keys, "number of keys is 1152921504606846976" },
    { "-1 tensors", build_negative_tensors, "number of tensors is 18446744073709551615" },
    { "one key more than fits", build_one_key_too_many, "only 1 fit" },
};

static void a_wrong_header_is_refused(void **state)
{
    (void)state;
    check_refused(headers, TN_COUNT_OF(headers));
}

// --------------------------------------------------------------------------------------- alignment

static void build_alignment(gguf_builder *b, uint32_t alignment)
{
    gguf_builder_init(b, 3);
    gguf_builder_key_u32(b, "general.alignment", alignment);
}

static void build_alignment_0(gguf_builder *b)
{
    build_alignment(b, 0);
}

static void build_alignment_3(gguf_builder *b)
{
    build_alignment(b, 3);
}

static void build_alignment_4(gguf_builder *b)
{
    build_alignment(b, 4);
}

static void build_alignment_2_31(gguf_builder *b)
{
    build_alignment(b, 1u << 31);
}

static void build_alignment_u64(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_key(b, "general.alignment", TN_KEY_U64);
    gguf_builder_u64(b, 32);
}

static void build_alignment_string(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_key_string(b, "general.alignment", "32");
}

static void build_alignment_array(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_array(b, "general.alignment", TN_KEY_U32, 0);
}

static const check_case alignments[] = {
    { "alignment 0", build_alignment_0, "'general.alignment' is 0, a power of two from 8" },
    { "alignment 3", build_alignment_3, "'general.alignment' is 3, a power of two from 8" },
    { "alignment 4", build_alignment_4, "'general.alignment' is 4, a power of two from 8" },
    { "alignment 2^31", build_alignment_2_31, "'general.alignment' is 2147483648" },
    { "alignment as U64", build_alignment_u64, "of type U64, U32 was expected" },
    { "alignment as STRING", build_alignment_string, "of type STRING, U32 was expected" },
    { "alignment as ARRAY", build_alignment_array, "of type ARRAY, U32 was expected" },
};

static void a_wrong_alignment_is_refused(void **state)
{
    (void)state;
    check_refused(alignments, TN_COUNT_OF(alignments));
}

// -------------------------------------------------------------------------------------------- keys

static void build_unknown_type(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_key(b, "a", 13);
    gguf_builder_zeros(b, 64);
}

static void build_unknown_element_type(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_array(b, "a", 77, UINT64_MAX);
    gguf_builder_zeros(b, 64);
}

static void build_nested_array(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_array(b, "a", TN_KEY_ARRAY, 1);
    gguf_builder_zeros(b, 64);
}

static void build_long_array(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_array(b, "a", TN_KEY_U32, 17);
    gguf_builder_zeros(b, 64);
}

static void build_wrapping_array(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_array(b, "a", TN_KEY_U64, ((uint64_t)1 << 61) + 1);
    gguf_builder_zeros(b, 64);
}

static void build_many_strings(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_array(b, "a", TN_KEY_STRING, 9);
    gguf_builder_zeros(b, 64);
}

static void build_string_past_end(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_key(b, "a", TN_KEY_STRING);
    gguf_builder_u64(b, 65);
    gguf_builder_zeros(b, 64);
}

static void build_string_wraps(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_key(b, "a", TN_KEY_STRING);
    gguf_builder_u64(b, UINT64_MAX);
    gguf_builder_zeros(b, 64);
}

static void build_array_string_past_end(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_array(b, "a", TN_KEY_STRING, 2);
    gguf_builder_string(b, "fits");
    gguf_builder_u64(b, UINT64_MAX - 7);
    gguf_builder_zeros(b, 64);
}

static void build_name_past_end(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_key_u32(b, "a", 0);
    gguf_builder_set_u64(b, 24, 1000);
}

static void build_empty_name(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_key_u32(b, "fine", 1);
    gguf_builder_key_u32(b, "", 1);
}

static void build_name_with_nul(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_key_u32(b, "a?c", 1);
    b->data[33] = 0;
}

static void build_name_with_newline(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_key_u32(b, "a\nb", 1);
}

static void build_long_name(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_u64(b, 70000);
    for (unsigned i = 0; i < 70000; i++)
        gguf_builder_u8(b, 'a');
    gguf_builder_u32(b, TN_KEY_U32);
    gguf_builder_u32(b, 1);
    b->data[16] = 1;
}

static void build_key_twice(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_key_u32(b, "a.b", 1);
    gguf_builder_key_u32(b, "a.c", 1);
    gguf_builder_key_string(b, "a.b", "again");
}

static void build_truth_of_2(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_key(b, "a", TN_KEY_BOOL);
    gguf_builder_u8(b, 2);
}

static const check_case keys[] = {
    { "a key of an unknown type", build_unknown_type, "key 0 'a': has the unknown type 13" },
    { "an array of an unknown type", build_unknown_element_type, "array of the unknown type 77" },
    { "an array of arrays", build_nested_array, "key 0 'a': is an array of arrays" },
    { "an array one element too long", build_long_array, "elements is 17, but only 16 fit" },
    { "an array whose size wraps", build_wrapping_array, "but only 8 fit" },
    { "more strings than fit", build_many_strings, "elements is 9, but only 8 fit" },
    { "a string one byte too long", build_string_past_end, "takes 65 bytes from byte" },
    { "a string whose end wraps", build_string_wraps, "takes 18446744073709551615 bytes" },
    { "a string of an array past the end", build_array_string_past_end,
      "takes 18446744073709551608" },
    { "a name past the end", build_name_past_end, "key 0: its name takes 1000 bytes" },
    { "an empty name", build_empty_name, "key 1: its name is empty" },
    { "a name with a NUL", build_name_with_nul, "key 0: its name has the byte 0x00" },
    { "a name of two lines", build_name_with_newline, "key 0: its name has the byte 0x0a" },
    { "a name of 70,000 bytes", build_long_name, "key 0: its name has 70000 bytes" },
    { "a key that comes twice", build_key_twice, "key 'a.b' comes twice" },
    { "a truth value of 2", build_truth_of_2, "a BOOL is 2, 0 or 1 was expected" },
};

static void a_wrong_key_is_refused(void **state)
{
    (void)state;
    check_refused(keys, TN_COUNT_OF(keys));
}

// ------------------------------------------------------------------------------------------- parts

static void build_part(gguf_builder *b, uint16_t part, uint16_t parts)
{
    gguf_builder_init(b, 3);
    gguf_builder_key(b, "split.no", TN_KEY_U16);
    gguf_builder_u16(b, part);
    gguf_builder_key(b, "split.count", TN_KEY_U16);
    gguf_builder_u16(b, parts);
    gguf_builder_key(b, "split.tensors.count", TN_KEY_I32);
    gguf_builder_u32(b, 7);
}

static void build_second_part(gguf_builder *b)
{
    build_part(b, 1, 3);
}

static void build_parts_joined_by_cat(gguf_builder *b)
{
    build_part(b, 0, 2);
    gguf_builder second;
    build_part(&second, 1, 2);
    gguf_builder_bytes(b, second.data, second.bytes);
    gguf_builder_finish(&second);
}

static void build_no_such_part(gguf_builder *b)
{
    build_part(b, 3, 3);
}

static void build_single_part_lacks_tensors(gguf_builder *b)
{
    build_part(b, 0, 1);
}

static void build_parts_as_string(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_key_string(b, "split.count", "3");
}

static const check_case parts[] = {
    { "the second part alone", build_second_part,
      "is part 2 of 3 of a model; open its first part, NAME-00001-of-00003.gguf" },
    { "parts joined by cat", build_parts_joined_by_cat,
      "joined by `cat`; keep them as they came, named NAME-00001-of-00002.gguf" },
    { "part 4 of 3", build_no_such_part, "split.no is 3 and split.count 3" },
    { "counts that disagree", build_single_part_lacks_tensors,
      "split.tensors.count is 7, but the file has 0" },
    { "a count of parts as a string", build_parts_as_string, "'split.count' is of type STRING" },
};

static void a_part_of_a_model_is_refused(void **state)
{
    (void)state;
    check_refused(parts, TN_COUNT_OF(parts));
}

// ----------------------------------------------------------------------------------------- tensors

static void build_rank_0(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_tensor(b, "w", 0, one_dim, 0, 0);
    gguf_builder_zeros(b, 64);
}

static void build_rank_5(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_tensor(b, "w", 5, (const uint64_t[]){ 1, 1, 1, 1, 1 }, 0, 0);
    gguf_builder_zeros(b, 64);
}

static void build_rank_2_32(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_tensor(b, "w", 1, one_dim, 0, 0);
    gguf_builder_set_u32(b, 24 + 8 + 1, UINT32_MAX);
    gguf_builder_zeros(b, 64);
}

static void build_dim_0(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_tensor(b, "w", 2, (const uint64_t[]){ 8, 0 }, 0, 0);
    gguf_builder_zeros(b, 64);
}

static void build_negative_dim(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_tensor(b, "w", 1, (const uint64_t[]){ (uint64_t)-8 }, 0, 0);
    gguf_builder_zeros(b, 64);
}

static void build_tensor_without_name(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_tensor(b, "", 1, one_dim, 0, 0);
    gguf_builder_zeros(b, 64);
}

static void build_tensor_twice(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_tensor(b, "w", 1, one_dim, 0, 0);
    gguf_builder_tensor(b, "w", 1, one_dim, 0, 32);
    gguf_builder_align(b, 32);
    gguf_builder_zeros(b, 64);
}

static const check_case tensors[] = {
    { "a tensor without dims", build_rank_0, "tensor 0 'w': has 0 dims, 1 to 4" },
    { "a tensor of 5 dims", build_rank_5, "tensor 0 'w': has 5 dims, 1 to 4" },
    { "a tensor of 2^32 - 1 dims", build_rank_2_32, "tensor 0 'w': has 4294967295 dims, 1 to 4" },
    { "a dim of 0", build_dim_0, "tensor 0 'w': dims[1] is 0" },
    { "a negative dim", build_negative_dim, "tensor 0 'w': dims[0] is 18446744073709551608" },
    { "a tensor without a name", build_tensor_without_name, "tensor 0: its name is empty" },
    { "a tensor that comes twice", build_tensor_twice, "tensor 'w' comes twice" },
};

static void a_wrong_tensor_is_refused(void **state)
{
    (void)state;
    check_refused(tensors, TN_COUNT_OF(tensors));
}

// ----------------------------------------------------------------------------------------- allowed

static void versions_2_and_3_are_read_with_nothing_in_them(void **state)
{
    (void)state;
    for (uint32_t version = 2; version <= 3; version++) {
        gguf_builder b;
        gguf_builder_init(&b, version);
        void *block;
        tn_model *model;
        tn_error err;
        assert_int_equal(check_open(b.data, b.bytes, NULL, &block, &model, &err), TN_OK);
        tn_model_info info = { .size = sizeof info };
        tn_model_describe(model, &info);
        assert_int_equal(info.version, version);
        assert_int_equal(info.key_count + info.tensor_count, 0);
        assert_int_equal(info.alignment_bytes, 32);
        tn_model_close(model);
        free(block);
        gguf_builder_finish(&b);
    }
}

static void a_model_of_one_part_is_read(void **state)
{
    (void)state;
    gguf_builder b;
    build_part(&b, 0, 1);
    gguf_builder_set_u32(&b, b.bytes - 4, 0);   // split.tensors.count
    void *block;
    tn_model *model;
    tn_error err;
    assert_int_equal(check_open(b.data, b.bytes, NULL, &block, &model, &err), TN_OK);
    tn_model_close(model);
    free(block);
    gguf_builder_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_header_is_refused),
        cmocka_unit_test(a_wrong_alignment_is_refused),
        cmocka_unit_test(a_wrong_key_is_refused),
        cmocka_unit_test(a_part_of_a_model_is_refused),
        cmocka_unit_test(a_wrong_tensor_is_refused),
        cmocka_unit_test(versions_2_and_3_are_read_with_nothing_in_them),
        cmocka_unit_test(a_model_of_one_part_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
