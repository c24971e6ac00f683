// The sampler: greedy, the steps, the draws of a seed, and logits that make no sense.
//   sampler DRAWS
// DRAWS: tests/data/sampler/draws.json, which an independent reference made.
#include "lm_test.h"

#include <math.h>
#include <string.h>

#include "sampler_steps.h"

enum { VOCABULARY = 1000 };

static const char *draws_path;

// 7919 and 1000 have no common factor: each of 0.00, 0.01 … 9.99 stands once.
static void fill(float *logits)
{
    for (uint32_t i = 0; i < VOCABULARY; i++)
        logits[i] = (float)(i * 7919 % VOCABULARY) / 100.0f;
}

static tlm_sampler *create(float temperature, uint32_t top_k, float top_p, float min_p,
                           uint64_t seed)
{
    tlm_sampler_options options;
    tlm_sampler_defaults(&options);
    options.temperature = temperature;
    options.top_k = top_k;
    options.top_p = top_p;
    options.min_p = min_p;
    options.seed = seed;
    tlm_sampler *sampler = NULL;
    tn_error err = { 0 };
    if (tlm_sampler_create(VOCABULARY, &options, NULL, &sampler, &err) != TN_OK)
        fail_msg("%s", err.text);
    return sampler;
}

static int32_t sample(tlm_sampler *sampler, const float *logits)
{
    int32_t id = -1;
    tn_error err = { 0 };
    if (tlm_sample(sampler, logits, VOCABULARY, &id, &err) != TN_OK)
        fail_msg("%s", err.text);
    return id;
}

static tlm_sampler *create_by(const tlm_sampler_options *options)
{
    tlm_sampler *sampler = NULL;
    tn_error err = { 0 };
    if (tlm_sampler_create(VOCABULARY, options, NULL, &sampler, &err) != TN_OK)
        fail_msg("%s", err.text);
    return sampler;
}

static double number_of(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static void read_options(const json_t *row, tlm_logit_bias *biases, tlm_sampler_options *out)
{
    const json_t *list = json_object_get(row, "biases");
    tlm_sampler_defaults(out);
    out->temperature = (float)number_of(row, "temperature");
    out->top_k = (uint32_t)number_of(row, "top_k");
    out->top_p = (float)number_of(row, "top_p");
    out->min_p = (float)number_of(row, "min_p");
    out->seed = (uint64_t)json_integer_value(json_object_get(row, "seed"));
    out->repetition_penalty = (float)number_of(row, "repetition");
    out->frequency_penalty = (float)number_of(row, "frequency");
    out->presence_penalty = (float)number_of(row, "presence");
    out->penalty_tokens = (uint32_t)number_of(row, "penalty_tokens");
    out->biases = biases;
    out->bias_count = (uint32_t)json_array_size(list);
    for (uint32_t i = 0; i < out->bias_count; i++) {
        const json_t *pair = json_array_get(list, i), *value = json_array_get(pair, 1);
        biases[i].id = (int32_t)json_integer_value(json_array_get(pair, 0));
        biases[i].bias = json_is_null(value) ? -INFINITY : (float)json_number_value(value);
    }
}

// As make.py describes them.
static void fill_logits(const json_t *row, float *logits)
{
    uint32_t step = (uint32_t)number_of(row, "step");
    for (uint32_t i = 0; i < VOCABULARY; i++)
        logits[i] = (float)(i * 7919 % VOCABULARY / step * step) / 100.0f -
                    (float)number_of(row, "shift");
}

static void rows_draw_the_ids_of_the_reference(void **state)
{
    (void)state;
    json_t *rows = test_golden(draws_path), *row, *id;
    size_t r, t;
    json_array_foreach(rows, r, row)
    {
        static tlm_logit_bias biases[VOCABULARY];
        static float logits[VOCABULARY];
        tlm_sampler_options options;
        tn_error err = { 0 };
        read_options(row, biases, &options);
        fill_logits(row, logits);
        tlm_sampler *sampler = create_by(&options);
        json_array_foreach(json_object_get(row, "prompt"), t, id)
        {
            int32_t seen = (int32_t)json_integer_value(id);
            assert_int_equal(tlm_sampler_accept(sampler, &seen, 1, &err), TN_OK);
        }
        json_array_foreach(json_object_get(row, "ids"), t, id)
        {
            int32_t got = sample(sampler, logits);
            if (got != json_integer_value(id))
                fail_msg("draw %zu of row %zu is %d, expected %d", t, r, got,
                         (int)json_integer_value(id));
        }
        tlm_sampler_destroy(sampler);
    }
    assert_true(r > 0);
    json_decref(rows);
}

// The weight is an exp of our own, so that no C library's makes a difference: within a unit or two
// of the last place of the true one.
static void weights_are_those_of_exp(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 400000; i++) {
        tlm_candidate list[] = { { 0, 0 }, { 1, (float)i * -0.00192f } };
        tlm_candidates c = { list, 2, true };
        double x = (double)list[1].logit, want = exp(x), got = tlm_candidate_weight(&c, 1);
        if (!(fabs(got - want) <= 4.5e-16 * want + 1e-307))
            fail_msg("exp(%.17g) is %.17g, expected %.17g", x, got, want);
    }
    tlm_candidate list[] = { { 0, 3e38f }, { 1, -3e38f } };
    assert_true(tlm_candidate_weight(&(tlm_candidates){ list, 2, true }, 0) == 1);
    assert_true(tlm_candidate_weight(&(tlm_candidates){ list, 2, true }, 1) == 0);
}

static const tlm_logit_bias biases[] = { { 321, -INFINITY }, { 7, 8 }, { 0, 9.25f } };

static void biases_that_exclude_all_are_an_error_in_words(void **state)
{
    (void)state;
    float logits[VOCABULARY];
    for (uint32_t i = 0; i < VOCABULARY; i++)
        logits[i] = i == 321 ? 0 : -INFINITY;
    tlm_sampler_options options;
    tlm_sampler_defaults(&options);
    options.biases = biases;
    options.bias_count = COUNT_OF(biases);
    tlm_sampler *sampler = create_by(&options);
    int32_t id;
    tn_error err = { 0 };
    assert_int_equal(tlm_sample(sampler, logits, VOCABULARY, &id, &err), TN_E_DATA);
    assert_string_equal(err.text, "sample: all tokens that have a logit are excluded");
    logits[5] = -1;
    assert_int_equal(tlm_sample(sampler, logits, VOCABULARY, &id, &err), TN_OK);
    assert_int_equal(id, 5);
    tlm_sampler_destroy(sampler);
}

static void penalties_keep_logits_finite(void **state)
{
    (void)state;
    float logits[VOCABULARY] = { 3e38f, -3e38f };
    tlm_sampler_options options;
    tlm_sampler_defaults(&options);
    options.temperature = 1;
    options.repetition_penalty = 0.001f;
    options.frequency_penalty = -1000;
    tlm_sampler *sampler = create_by(&options);
    tn_error err = { 0 };
    assert_int_equal(tlm_sampler_accept(sampler, (const int32_t[]){ 0, 1 }, 2, &err), TN_OK);
    for (int t = 0; t < 20; t++)
        assert_int_equal(sample(sampler, logits), 0);
    tlm_sampler_destroy(sampler);
}

static void ids_that_are_no_tokens_are_not_accepted(void **state)
{
    (void)state;
    tlm_sampler_options options;
    tlm_sampler_defaults(&options);
    options.presence_penalty = 1;
    tlm_sampler *sampler = create_by(&options);
    tn_error err = { 0 };
    assert_int_equal(tlm_sampler_accept(sampler, (const int32_t[]){ 1, VOCABULARY }, 2, &err),
                     TN_E_DATA);
    assert_string_equal(err.text, "sampler: id 1 of 2 is 1000, but the ids are 0 to 999");
    assert_int_equal(tlm_sampler_accept(sampler, (const int32_t[]){ -1 }, 1, &err), TN_E_DATA);
    assert_int_equal(tlm_sampler_accept(sampler, NULL, 0, &err), TN_OK);
    tlm_sampler_destroy(sampler);
}

static void penalties_and_biases_outside_their_range_are_refused(void **state)
{
    (void)state;
    static const tlm_logit_bias foreign[] = { { VOCABULARY, 1 } }, twice[] = { { 4, 1 }, { 4, 1 } },
                                nan[] = { { 4, NAN } }, infinite[] = { { 4, INFINITY } };
    static const struct {
        float repetition, frequency, presence;
        uint32_t tokens;
        const tlm_logit_bias *biases;
        uint32_t bias_count;
        const char *must_say;
    } cases[] = {
        { -1, 0, 0, 0, NULL, 0, "repetition_penalty is -1" },
        { NAN, 0, 0, 0, NULL, 0, "repetition_penalty is nan" },
        { 1e9f, 0, 0, 0, NULL, 0, "repetition_penalty is 1e+09" },
        { 1, NAN, 0, 0, NULL, 0, "frequency_penalty is nan" },
        { 1, 0, INFINITY, 0, NULL, 0, "presence_penalty is inf" },
        { 1, 0, 1, UINT32_MAX, NULL, 0, "penalty_tokens is 4294967295" },
        { 1, 0, 0, 0, NULL, 3, "3 biases at NULL" },
        { 1, 0, 0, 0, twice, UINT32_MAX, "4294967295 biases for 1000 tokens" },
        { 1, 0, 0, 0, foreign, 1, "a bias for id 1000, but the ids are 0 to 999" },
        { 1, 0, 0, 0, twice, 2, "id 4 has two biases" },
        { 1, 0, 0, 0, nan, 1, "the bias of id 4 is nan" },
        { 1, 0, 0, 0, infinite, 1, "the bias of id 4 is inf" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        tlm_sampler_options options;
        tlm_sampler_defaults(&options);
        options.repetition_penalty = cases[i].repetition;
        options.frequency_penalty = cases[i].frequency;
        options.presence_penalty = cases[i].presence;
        options.penalty_tokens = cases[i].tokens;
        options.biases = cases[i].biases;
        options.bias_count = cases[i].bias_count;
        tlm_sampler *sampler = (tlm_sampler *)&options;
        tn_error err = { 0 };
        assert_int_equal(tlm_sampler_create(VOCABULARY, &options, NULL, &sampler, &err), TN_E_ARG);
        assert_null(sampler);
        if (!strstr(err.text, cases[i].must_say))
            fail_msg("want \"%s\", got \"%s\"", cases[i].must_say, err.text);
    }
}

// A program built before there were penalties passes a shorter struct.
static void shorter_options_have_no_penalties(void **state)
{
    (void)state;
    tlm_sampler_options options;
    tlm_sampler_defaults(&options);
    options.size = offsetof(tlm_sampler_options, repetition_penalty);
    options.temperature = 0;
    options.presence_penalty = 100;
    options.bias_count = 7;
    float logits[VOCABULARY];
    fill(logits);
    tlm_sampler *sampler = create_by(&options);
    for (int t = 0; t < 3; t++)
        assert_int_equal(sample(sampler, logits), 321);
    tlm_sampler_destroy(sampler);
}

static void greedy_takes_the_best_and_the_lowest_of_equals(void **state)
{
    (void)state;
    float logits[VOCABULARY];
    fill(logits);
    tlm_sampler *sampler = create(0, 40, 0.95f, 0.05f, 0);
    assert_int_equal(sample(sampler, logits), 321);   // 321 * 7919 % 1000 = 999
    logits[500] = logits[400] = 100;
    assert_int_equal(sample(sampler, logits), 400);
    tlm_sampler_destroy(sampler);
}

static void steps_that_keep_one_are_greedy(void **state)
{
    (void)state;
    static const struct {
        float temperature, top_p, min_p;
        uint32_t top_k;
    } cases[] = { { 5, 1, 0, 1 }, { 5, 1e-6f, 0, 0 }, { 5, 1, 1, 0 }, { 1e-30f, 1, 0, 0 } };
    float logits[VOCABULARY];
    fill(logits);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        tlm_sampler *sampler = create(cases[i].temperature, cases[i].top_k, cases[i].top_p,
                                      cases[i].min_p, i);
        for (int t = 0; t < 20; t++)
            assert_int_equal(sample(sampler, logits), 321);
        tlm_sampler_destroy(sampler);
    }
}

static void excluded_tokens_are_never_drawn(void **state)
{
    (void)state;
    float logits[VOCABULARY];
    for (uint32_t i = 0; i < VOCABULARY; i++)
        logits[i] = i == 3 || i == 8 ? 0 : -INFINITY;
    tlm_sampler *sampler = create(1, 40, 0.95f, 0.05f, 5);
    for (int t = 0; t < 50; t++) {
        int32_t id = sample(sampler, logits);
        assert_true(id == 3 || id == 8);
    }
    tlm_sampler_destroy(sampler);
}

static void logits_that_make_no_sense_are_an_error_in_words(void **state)
{
    (void)state;
    float logits[VOCABULARY];
    fill(logits);
    tlm_sampler *sampler = create(0, 40, 0.95f, 0.05f, 0);
    int32_t id;
    tn_error err = { 0 };
    assert_int_equal(tlm_sample(sampler, logits, VOCABULARY - 1, &id, &err), TN_E_ARG);
    logits[17] = NAN;
    assert_int_equal(tlm_sample(sampler, logits, VOCABULARY, &id, &err), TN_E_DATA);
    assert_string_equal(err.text, "sample: the logit of token 17 is not a number");
    logits[17] = INFINITY;
    assert_int_equal(tlm_sample(sampler, logits, VOCABULARY, &id, &err), TN_E_DATA);
    for (uint32_t i = 0; i < VOCABULARY; i++)
        logits[i] = -INFINITY;
    assert_int_equal(tlm_sample(sampler, logits, VOCABULARY, &id, &err), TN_E_DATA);
    tlm_sampler_destroy(sampler);
}

static void options_outside_their_range_are_refused(void **state)
{
    (void)state;
    static const struct {
        float temperature, top_p, min_p;
        const char *must_say;
    } cases[] = {
        { -1, 1, 0, "temperature is -1" }, { NAN, 1, 0, "temperature" }, { 1, 0, 0, "top_p is 0" },
        { 1, 1.5f, 0, "top_p is 1.5" },    { 1, 1, -1, "min_p is -1" },  { 1, 1, NAN, "min_p" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        tlm_sampler_options options;
        tlm_sampler_defaults(&options);
        options.temperature = cases[i].temperature;
        options.top_p = cases[i].top_p;
        options.min_p = cases[i].min_p;
        tlm_sampler *sampler = (tlm_sampler *)&options;
        tn_error err = { 0 };
        assert_int_equal(tlm_sampler_create(VOCABULARY, &options, NULL, &sampler, &err), TN_E_ARG);
        assert_null(sampler);
        assert_non_null(strstr(err.text, cases[i].must_say));
    }
}

int main(int argc, char **argv)
{
    draws_path = argc > 1 ? argv[1] : "";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_draw_the_ids_of_the_reference),
        cmocka_unit_test(weights_are_those_of_exp),
        cmocka_unit_test(biases_that_exclude_all_are_an_error_in_words),
        cmocka_unit_test(penalties_keep_logits_finite),
        cmocka_unit_test(ids_that_are_no_tokens_are_not_accepted),
        cmocka_unit_test(penalties_and_biases_outside_their_range_are_refused),
        cmocka_unit_test(shorter_options_have_no_penalties),
        cmocka_unit_test(greedy_takes_the_best_and_the_lowest_of_equals),
        cmocka_unit_test(steps_that_keep_one_are_greedy),
        cmocka_unit_test(excluded_tokens_are_never_drawn),
        cmocka_unit_test(logits_that_make_no_sense_are_an_error_in_words),
        cmocka_unit_test(options_outside_their_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
