// Models in several files: opened by the first, and what is wrong with one of them is told with its
// name.
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "failing_alloc.h"
#include "folder.h"

static test_folder folder;
static char model_path[TEST_PATH_BYTES];

static int make_folder(void **state)
{
    (void)state;
    test_folder_make(&folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

// How a part differs from a right one.
typedef struct part {
    const char *name;                    // NULL: "m-0000N-of-00003.gguf"
    int number, count;                   // 0: as it should be; else this less 1
    int total;                           // of tensors; 0: 5
    const char *tensors;                 // a letter each; NULL: as it should be
    const char *family;                  // general.architecture in a further part
    uint32_t alignment;                  // 0: not told
    bool is_missing, is_cut, is_alone;   // alone: without a word on parts
} part;

enum { PARTS = 3, F32 = 0, TENSOR_BYTES = 32 };
static const char *const letters[PARTS] = { "ab", "", "cde" };

static const char *name_of(const part *p, int index)
{
    static char name[64];
    snprintf(name, sizeof name, "m-%05d-of-%05d.gguf", index + 1, PARTS);
    return p->name ? p->name : name;
}

// Tensor 'c' is 8 floats of 'c'.
static void build(gguf_builder *b, const part *p, int index)
{
    const char *tensors = p->tensors ? p->tensors : letters[index];
    const uint32_t alignment = p->alignment ? p->alignment : 32;
    gguf_builder_init(b, 3);
    if (index == 0 || p->family)
        gguf_builder_key_string(b, "general.architecture", p->family ? p->family : "llama");
    if (p->alignment)
        gguf_builder_key_u32(b, "general.alignment", p->alignment);
    if (!p->is_alone) {
        gguf_builder_key(b, "split.no", TN_KEY_U16);
        gguf_builder_u16(b, (uint16_t)(p->number ? p->number - 1 : index));
        gguf_builder_key(b, "split.count", TN_KEY_U16);
        gguf_builder_u16(b, (uint16_t)(p->count ? p->count - 1 : PARTS));
        gguf_builder_key(b, "split.tensors.count", TN_KEY_I32);
        gguf_builder_u32(b, (uint32_t)(p->total ? p->total : 5));
    }
    for (size_t i = 0; i < strlen(tensors); i++)
        gguf_builder_tensor(b, (const char[]){ tensors[i], '\0' }, 1, (const uint64_t[]){ 8 }, F32,
                            i * alignment);
    gguf_builder_align(b, alignment);
    for (size_t i = 0; i < strlen(tensors); i++) {
        gguf_builder_align(b, alignment);
        for (int j = 0; j < 8; j++)
            gguf_builder_f32(b, (float)tensors[i]);
    }
    b->bytes -= p->is_cut ? 1 : 0;
}

static void write_parts(const part *parts)
{
    test_folder_remove(&folder);
    test_folder_make(&folder);
    for (int i = 0; i < PARTS; i++) {
        if (parts[i].is_missing)
            continue;
        gguf_builder b;
        build(&b, &parts[i], i);
        test_folder_write(&folder, name_of(&parts[i], i), b.data, b.bytes);
        gguf_builder_finish(&b);
    }
    snprintf(model_path, sizeof model_path, "%s", test_folder_path(&folder, name_of(&parts[0], 0)));
}

static tn_status open_flags(const char *path, uint32_t flags, tn_model **out_model, tn_error *err)
{
    const tn_model_options options = { .size = sizeof options, .flags = flags };
    return tn_model_open(path, &options, out_model, err);
}

static void the_first_part_opens_all(void **state)
{
    (void)state;
    write_parts((part[PARTS]){ { .alignment = 64 } });   // each file has its own alignment
    for (uint32_t flags = 0; flags <= TN_MODEL_IN_MEMORY; flags++) {
        tn_model *model;
        tn_error err = { 0 };
        if (open_flags(model_path, flags, &model, &err) != TN_OK)
            fail_msg("%s", err.text);
        tn_model_info info = { .size = sizeof info };
        tn_model_describe(model, &info);
        assert_int_equal(info.part_count, PARTS);
        assert_int_equal(info.tensor_count, 5);
        assert_int_equal(info.problem_count, 0);
        assert_int_equal(info.is_mapped, flags == 0);
        assert_string_equal(info.path, model_path);
        check_walk(model);
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < PARTS; i++) {
            tn_model_part about = { .size = sizeof about };
            assert_int_equal(tn_model_part_at(model, i, &about, &err), TN_OK);
            assert_string_equal(about.path,
                                test_folder_path(&folder, name_of(&(part){ 0 }, (int)i)));
            assert_int_equal(about.tensor_count, strlen(letters[i]));
            assert_int_equal(about.alignment_bytes, i == 0 ? 64 : 32);
            bytes += about.file_bytes;
        }
        assert_int_equal(bytes, info.file_bytes);
        tn_model_part none = { .size = sizeof none, .path = "x" };
        assert_int_equal(tn_model_part_at(model, PARTS, &none, &err), TN_E_NOT_FOUND);
        assert_null(none.path);
        for (const char *letter = "abcde"; *letter; letter++) {
            tn_model_tensor tensor = { .size = sizeof tensor };
            const char name[] = { *letter, '\0' };
            assert_int_equal(tn_model_find_tensor(model, name, &tensor, &err), TN_OK);
            assert_int_equal(tensor.part, *letter < 'c' ? 0 : 2);
            const float value = (float)*letter;
            assert_memory_equal((const float *)tensor.data + 7, &value, sizeof value);
        }
        assert_int_equal(tn_model_check(model, &err), TN_OK);
        tn_model_close(model);
    }
}

static const struct {
    const char *says;
    part parts[PARTS];
    const char *names, *must_say;   // the file that is named, and what is said of it
} broken[] = {
    { "a part is missing",
      { { 0 }, { 0 }, { .is_missing = true } },
      "m-00003-of-00003.gguf",
      "No such file or directory (part 3 of 3 of the model)" },
    { "two are missing",
      { { 0 }, { .is_missing = true }, { .is_missing = true } },
      "m-00002-of-00003.gguf",
      "(part 2 of 3 of the model)" },
    { "the third is cut",
      { { 0 }, { 0 }, { .is_cut = true } },
      "m-00003-of-00003.gguf",
      "tensor 2 'e': ends outside the file" },
    { "counts that disagree",
      { { 0 }, { .count = 5 }, { 0 } },
      "m-00002-of-00003.gguf",
      "split.count is 4, but " },
    { "a part of no model",
      { { 0 }, { 0 }, { .is_alone = true } },
      "m-00003-of-00003.gguf",
      "split.count is 1, but " },
    { "a part twice",
      { { 0 }, { 0 }, { .number = 2 } },
      "m-00003-of-00003.gguf",
      "split.no is 1, but by its name it is 2" },
    { "tensors twice",
      { { 0 }, { 0 }, { .tensors = "cba" } },
      "m-00003-of-00003.gguf",
      "tensor 'a' comes twice: it is also in " },
    { "a tensor twice in one part",
      { { 0 }, { 0 }, { .tensors = "ccd" } },
      "m-00003-of-00003.gguf",
      "tensor 'c' comes twice" },
    { "too few tensors",
      { { 0 }, { 0 }, { .tensors = "cd" } },
      "m-00001-of-00003.gguf",
      "split.tensors.count is 5, but the files together have 4 tensors" },
    { "totals that disagree",
      { { 0 }, { 0 }, { .total = 9 } },
      "m-00003-of-00003.gguf",
      "split.tensors.count is 9, but the files together have 5 tensors" },
    { "a part of another model",
      { { 0 }, { 0 }, { .family = "gemma3" } },
      "m-00003-of-00003.gguf",
      "key 0 'general.architecture': differs from that of " },
    { "an alignment that is none",
      { { 0 }, { 0 }, { .alignment = 3 } },
      "m-00003-of-00003.gguf",
      "'general.alignment' is 3" },
    { "a first part that is named otherwise",
      { { .name = "model.gguf" }, { 0 }, { 0 } },
      "model.gguf",
      "its name does not end in -00001-of-00003.gguf: rename it" },
    { "a first part named as one of two",
      { { .name = "m-00001-of-00002.gguf" }, { 0 }, { 0 } },
      "m-00001-of-00002.gguf",
      "its name does not end in -00001-of-00003.gguf" },
};

static void what_is_wrong_with_a_part_is_told_with_its_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < TN_COUNT_OF(broken); i++)
        for (uint32_t flags = 0; flags <= TN_MODEL_IN_MEMORY; flags++) {
            write_parts(broken[i].parts);
            tn_model *model = (tn_model *)&folder;
            tn_error err = { 0 };
            char begin[2 * TEST_PATH_BYTES];
            snprintf(begin, sizeof begin, "%s: ", test_folder_path(&folder, broken[i].names));
            tn_status status = open_flags(model_path, flags, &model, &err);
            if (status != TN_E_FILE || err.status != status || model)
                fail_msg("%s: %s, \"%s\"", broken[i].says, tn_status_name(status), err.text);
            if (strncmp(err.text, begin, strlen(begin)) != 0 ||
                !strstr(err.text, broken[i].must_say) || strchr(err.text, '\n'))
                fail_msg("%s: \"%s\"", broken[i].says, err.text);
        }
}

static void another_part_says_which_to_open(void **state)
{
    (void)state;
    write_parts((part[PARTS]){ { 0 } });
    tn_model *model;
    tn_error err = { 0 };
    char says[2 * TEST_PATH_BYTES];
    assert_int_equal(
        open_flags(test_folder_path(&folder, "m-00002-of-00003.gguf"), 0, &model, &err), TN_E_FILE);
    snprintf(says, sizeof says,
             "m-00002-of-00003.gguf: is part 2 of 3 of a model; open its first part, %s,",
             test_folder_path(&folder, "m-00001-of-00003.gguf"));
    if (!strstr(err.text, says))
        fail_msg("%s", err.text);
}

// The parts, and copies of a whole file, one behind the other in one file.
static void parts_joined_by_cat_are_told(void **state)
{
    (void)state;
    static const struct {
        part first, second;
        const char *must_say;
    } cases[] = {
        { { 0 }, { 0 }, "named NAME-00001-of-00003.gguf" },
        { { .tensors = "" }, { 0 }, "named NAME-00001-of-00003.gguf" },
        { { .is_alone = true }, { .is_alone = true }, "named NAME-00001-of-00002.gguf" },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++)
        for (int padding = 0; padding < 2; padding++) {
            gguf_builder b, second;
            build(&b, &cases[i].first, 0);
            char begins[64];
            if (padding)
                gguf_builder_align(&b, 32);
            snprintf(begins, sizeof begins, "a second GGUF file begins at its byte %zu", b.bytes);
            build(&second, &cases[i].second, 2);
            gguf_builder_bytes(&b, second.data, second.bytes);
            void *block;
            tn_model *model;
            tn_error err = { 0 };
            assert_int_equal(check_open(b.data, b.bytes, NULL, &block, &model, &err), TN_E_FILE);
            if (!strstr(err.text, begins) || !strstr(err.text, "`cat`") ||
                !strstr(err.text, cases[i].must_say))
                fail_msg("%s", err.text);
            free(block);
            gguf_builder_finish(&b);
            gguf_builder_finish(&second);
        }
}

static void inspecting_shows_what_is_there_and_every_problem(void **state)
{
    (void)state;
    write_parts((part[PARTS]){ { 0 }, { .is_missing = true }, { .is_cut = true, .total = 4 } });
    tn_model *model;
    tn_error err = { 0 };
    if (open_flags(model_path, TN_MODEL_INSPECT, &model, &err) != TN_OK)
        fail_msg("%s", err.text);
    tn_model_info info = { .size = sizeof info };
    tn_model_describe(model, &info);
    assert_int_equal(info.part_count, 2);
    assert_int_equal(info.tensor_count, 5);
    assert_int_equal(info.problem_count, 2);
    assert_non_null(strstr(tn_model_problem(model, 0), "m-00002-of-00003.gguf: No such file"));
    assert_non_null(strstr(tn_model_problem(model, 1), "m-00003-of-00003.gguf: tensor 2 'e'"));
    assert_null(tn_model_problem(model, 2));
    tn_model_tensor tensor = { .size = sizeof tensor };
    assert_int_equal(tn_model_find_tensor(model, "d", &tensor, &err), TN_OK);
    assert_non_null(tensor.data);
    assert_int_equal(tensor.part, 1);   // of the files that are there
    assert_int_equal(tn_model_find_tensor(model, "e", &tensor, &err), TN_OK);
    assert_null(tensor.data);
    assert_int_equal(tensor.bytes, 0);
    tn_model_close(model);
}

static tn_status open_parts(const tn_allocator *allocator, void *context)
{
    const tn_model_options options = { .size = sizeof options,
                                       .flags = *(const uint32_t *)context,
                                       .allocator = allocator };
    tn_model *model;
    tn_error err = { 0 };
    const tn_status status = tn_model_open(model_path, &options, &model, &err);
    if (status != TN_OK && status != TN_E_HOST_MEMORY)
        fail_msg("%s", err.text);
    tn_model_close(model);
    return status;
}

static void each_failing_allocation_is_told_and_leaves_nothing(void **state)
{
    (void)state;
    write_parts((part[PARTS]){ { 0 }, { 0 }, { .is_cut = true } });
    uint32_t flags[] = { TN_MODEL_INSPECT, 0, TN_MODEL_IN_MEMORY };
    for (size_t i = 0; i < TN_COUNT_OF(flags); i++) {
        for_each_failing_allocation(open_parts, &flags[i]);
        write_parts((part[PARTS]){ { 0 }, { 0 }, { 0 } });
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_part_opens_all),
        cmocka_unit_test(what_is_wrong_with_a_part_is_told_with_its_name),
        cmocka_unit_test(another_part_says_which_to_open),
        cmocka_unit_test(parts_joined_by_cat_are_told),
        cmocka_unit_test(each_failing_allocation_is_told_and_leaves_nothing),
        cmocka_unit_test(inspecting_shows_what_is_there_and_every_problem),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
