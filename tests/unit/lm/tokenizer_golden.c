// Text to ids against the golden files: every prompt, case and passage, the stop ids, and the way
// back to text.
//   tokenizer_golden MODEL GOLDEN
// MODEL "" : skipped.
#include "lm_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *model_path, *golden_path;
static tn_model *model;
static tlm_tokenizer *tokenizer;
static json_t *golden;

static int open_all(void **state)
{
    (void)state;
    tn_error err = { 0 };
    model = test_open(model_path);
    golden = test_golden(golden_path);
    if (tlm_tokenizer_create(model, NULL, &tokenizer, &err) != TN_OK)
        fail_msg("%s", err.text);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    tlm_tokenizer_destroy(tokenizer);
    json_decref(golden);
    tn_model_close(model);
    return 0;
}

// The ids of an entry, in memory of the caller.
static int32_t *ids_of(const json_t *entry, uint32_t *out_count)
{
    const json_t *list = json_object_get(entry, "ids");
    *out_count = (uint32_t)json_array_size(list);
    int32_t *ids = calloc(*out_count + 1, sizeof *ids);
    assert_non_null(ids);
    for (uint32_t i = 0; i < *out_count; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return ids;
}

static void expect_entry(const json_t *entry, uint32_t flags, bool is_prefix)
{
    const json_t *text = json_object_get(entry, "text");
    const char *bytes = json_string_value(text);
    uint32_t count;
    int32_t *ids = ids_of(entry, &count);
    if (is_prefix) {   // the file keeps the first ids of a longer passage
        int32_t *got;
        uint32_t got_count;
        tn_error err = { 0 };
        assert_int_equal(
            tlm_tokenize(tokenizer, bytes, json_string_length(text), flags, &got, &got_count, &err),
            TN_OK);
        assert_true(got_count >= count);
        assert_memory_equal(got, ids, count * sizeof *ids);
        tlm_ids_free(tokenizer, got);
    } else {
        test_expect_ids(tokenizer, bytes, bytes, json_string_length(text), flags, ids, count);
    }
    free(ids);
}

static void cases_give_the_ids_of_the_file(void **state)
{
    (void)state;
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(golden, "tokenizer_cases"), i, entry) expect_entry(
        entry, json_is_true(json_object_get(entry, "parse_special")) ? 0 : TLM_TEXT_PLAIN, false);
    assert_true(i > 0);
}

static void prompts_give_the_ids_of_the_file(void **state)
{
    (void)state;
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(golden, "prompts"), i, entry) expect_entry(entry, 0, false);
    assert_true(i > 0);
}

static void passages_give_the_ids_of_the_file(void **state)
{
    (void)state;
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(golden, "nll"), i, entry) expect_entry(entry, 0, true);
    assert_true(i > 0);
}

static void bos_and_stop_ids_are_those_of_the_file(void **state)
{
    (void)state;
    const json_t *about = json_object_get(golden, "model");
    const json_t *bos = json_object_get(about, "bos"), *stops = json_object_get(about, "stop_ids");
    assert_int_equal(tlm_adds_bos(tokenizer), json_is_integer(bos));
    if (json_is_integer(bos))
        assert_int_equal(tlm_bos_id(tokenizer), json_integer_value(bos));
    uint32_t count;
    const int32_t *ids = tlm_stop_ids(tokenizer, &count);
    assert_int_equal(count, json_array_size(stops));
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(ids[i], json_integer_value(json_array_get(stops, i)));
        assert_true(tlm_is_stop(tokenizer, ids[i]));
    }
}

static void ids_give_the_text_back(void **state)
{
    (void)state;
    tlm_stream *stream;
    tn_error err = { 0 };
    assert_int_equal(tlm_stream_create(tokenizer, TLM_STREAM_CONTROL, &stream, &err), TN_OK);
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(golden, "tokenizer_cases"), i, entry)
    {
        const json_t *back = json_object_get(entry, "back");   // where it is not the text
        const json_t *text = back ? back : json_object_get(entry, "text");
        uint32_t count, first = tlm_adds_bos(tokenizer) ? 1 : 0;
        int32_t *ids = ids_of(entry, &count);
        char *out = calloc(json_string_length(text) + 1, 1);
        size_t used = 0, bytes;
        for (uint32_t t = first; t < count; t++) {
            const char *piece = tlm_stream_push(stream, ids[t], &bytes);
            assert_true(used + bytes <= json_string_length(text));
            memcpy(out + used, piece, bytes);
            used += bytes;
        }
        tlm_stream_finish(stream, &bytes);
        assert_int_equal(bytes, 0);
        assert_int_equal(used, json_string_length(text));
        assert_memory_equal(out, json_string_value(text), used);
        free(out);
        free(ids);
    }
    tlm_stream_destroy(stream);
}

// A token need not tokenize to itself, but to something that spells the same.
static void every_token_spells_what_its_text_tokenizes_to(void **state)
{
    (void)state;
    for (int32_t id = 0; id < tlm_token_count(tokenizer); id++) {
        if (tlm_token_type(tokenizer, id) != TLM_TOKEN_NORMAL)
            continue;
        size_t bytes, used = 0;
        const char *text = tlm_token_text(tokenizer, id, &bytes);
        int32_t *ids;
        uint32_t count;
        tn_error err = { 0 };
        assert_int_equal(tlm_tokenize(tokenizer, text, bytes, TLM_TEXT_CONTINUES | TLM_TEXT_PLAIN,
                                      &ids, &count, &err),
                         TN_OK);
        for (uint32_t i = 0; i < count; i++) {
            size_t piece_bytes;
            const char *piece = tlm_token_text(tokenizer, ids[i], &piece_bytes);
            assert_true(used + piece_bytes <= bytes);
            assert_memory_equal(piece, text + used, piece_bytes);
            used += piece_bytes;
        }
        if (used != bytes)
            fail_msg("token %d has %zu bytes, of which %zu came back", id, bytes, used);
        tlm_ids_free(tokenizer, ids);
    }
}

int main(int argc, char **argv)
{
    model_path = argc > 2 ? argv[1] : "";
    golden_path = argc > 2 ? argv[2] : "";
    if (access(model_path, R_OK) != 0) {
        printf("skipped: %s is not here; tests/fetch-models brings it\n", model_path);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_give_the_ids_of_the_file),
        cmocka_unit_test(prompts_give_the_ids_of_the_file),
        cmocka_unit_test(passages_give_the_ids_of_the_file),
        cmocka_unit_test(bos_and_stop_ids_are_those_of_the_file),
        cmocka_unit_test(ids_give_the_text_back),
        cmocka_unit_test(every_token_spells_what_its_text_tokenizes_to),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
