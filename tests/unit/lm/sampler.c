// The sampler: greedy, the steps, the draws of a seed, and logits that make no sense.
#include "lm_test.h"

#include <math.h>
#include <string.h>

enum { VOCABULARY = 1000 };

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

// The ids come from sampler_reference.py.
static const struct {
    float temperature, top_p, min_p;
    uint32_t top_k;
    uint64_t seed;
    int32_t ids[8];
} draws[] = {
    { 0.8f, 0.95f, 0.05f, 40, 0, { 593, 815, 321, 877, 284, 531, 926, 988 } },
    { 0.8f, 0.95f, 0.05f, 40, 1, { 420, 667, 877, 815, 815, 988, 593, 778 } },
    { 1.5f, 1, 0, 0, 42, { 163, 667, 729, 544, 926, 263, 877, 682 } },
    { 2, 0.5f, 0, 0, 7, { 25, 321, 902, 198, 309, 136, 630, 741 } },
    { 2, 1, 0, 5, 7, { 642, 321, 605, 963, 963, 642, 963, 642 } },
};

static void a_seed_gives_the_same_ids_everywhere(void **state)
{
    (void)state;
    float logits[VOCABULARY];
    fill(logits);
    for (size_t i = 0; i < COUNT_OF(draws); i++) {
        tlm_sampler *sampler = create(draws[i].temperature, draws[i].top_k, draws[i].top_p,
                                      draws[i].min_p, draws[i].seed);
        for (size_t t = 0; t < COUNT_OF(draws[i].ids); t++) {
            int32_t id = sample(sampler, logits);
            if (id != draws[i].ids[t])
                fail_msg("draw %zu of row %zu is %d, expected %d", t, i, id, draws[i].ids[t]);
        }
        tlm_sampler_destroy(sampler);
    }
}

static const tlm_logit_bias biases[] = { { 321, -INFINITY }, { 7, 8 }, { 0, 9.25f } };
static const int32_t prompt[] = { 642, 963, 642 };

// Seed 3, top_k 40, top_p 0.95, min_p 0.05, all logits 5 lower. The ids come from
// sampler_reference.py.
static const struct {
    float temperature, repetition, frequency, presence;
    uint32_t tokens;
    bool has_biases, has_prompt;
    int32_t ids[8];
} penalties[] = {
    { 0, 1.1f, 0, 0, 64, false, false, { 321, 642, 963, 284, 605, 926, 247, 568 } },
    { 0, 0, 0.5f, 0, 64, false, false, { 321, 642, 963, 284, 605, 926, 247, 568 } },
    { 0, 0, 0, 0.02f, 3, false, false, { 321, 642, 963, 321, 321, 642, 963, 321 } },
    { 0, 2, 0.25f, 1, 4, true, true, { 7, 284, 605, 963, 642, 7, 284, 605 } },
    { 0.8f, 1.3f, 0, 0, 64, false, true, { 926, 988, 704, 605, 531, 309, 889, 482 } },
    { 0.8f, 0, 0.7f, 0.3f, 2, true, false, { 7, 383, 99, 7, 284, 741, 7, 593 } },
    { 1.5f, 0.9f, -0.01f, 0, 64, false, true, { 284, 346, 741, 963, 321, 420, 284, 593 } },
};

static tlm_sampler *create_by(const tlm_sampler_options *options)
{
    tlm_sampler *sampler = NULL;
    tn_error err = { 0 };
    if (tlm_sampler_create(VOCABULARY, options, NULL, &sampler, &err) != TN_OK)
        fail_msg("%s", err.text);
    return sampler;
}

static void biases_and_penalties_give_these_ids(void **state)
{
    (void)state;
    float logits[VOCABULARY];
    fill(logits);
    for (uint32_t i = 0; i < VOCABULARY; i++)
        logits[i] -= 5;
    for (size_t i = 0; i < COUNT_OF(penalties); i++) {
        tlm_sampler_options options;
        tlm_sampler_defaults(&options);
        options.temperature = penalties[i].temperature;
        options.seed = 3;
        options.repetition_penalty = penalties[i].repetition;
        options.frequency_penalty = penalties[i].frequency;
        options.presence_penalty = penalties[i].presence;
        options.penalty_tokens = penalties[i].tokens;
        options.biases = penalties[i].has_biases ? biases : NULL;
        options.bias_count = penalties[i].has_biases ? COUNT_OF(biases) : 0;
        tlm_sampler *sampler = create_by(&options);
        tn_error err = { 0 };
        if (penalties[i].has_prompt)
            assert_int_equal(tlm_sampler_accept(sampler, prompt, COUNT_OF(prompt), &err), TN_OK);
        for (size_t t = 0; t < COUNT_OF(penalties[i].ids); t++) {
            int32_t id = sample(sampler, logits);
            if (id != penalties[i].ids[t])
                fail_msg("draw %zu of row %zu is %d, expected %d", t, i, id, penalties[i].ids[t]);
        }
        tlm_sampler_destroy(sampler);
    }
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_gives_the_same_ids_everywhere),
        cmocka_unit_test(biases_and_penalties_give_these_ids),
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
