// The same ids in pieces of several sizes and on 1 to 8 threads: the same bits for every number of
// threads, and logits of other pieces within a bound.
//   lm_batches MODEL IDS BOUND
// IDS: how many. BOUND: of the difference of any logit from those of the ids one by one, relative
// to the spread of the logits.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/lm.h>
#include <unistd.h>

enum { MOST_THREADS = 8, PIECES = 4 };
static const uint32_t pieces[PIECES] = { 1, 7, 32, 512 };

static const char *model_path;
static uint32_t id_count, vocabulary;
static double bound;
static float *logits[PIECES];   // of one thread

static void need(tn_status status, const tn_error *err)
{
    if (status != TN_OK)
        fail_msg("%s: %s", tn_status_name(status), err->text);
}

static void eval_in_pieces(tlm_context *context, uint32_t piece, const float **out_logits)
{
    tn_error err = { 0 };
    int32_t ids[512];
    need(tlm_context_reset(context, &err), &err);
    for (uint32_t done = 0, count; done < id_count; done += count) {
        count = id_count - done < piece ? id_count - done : piece;
        for (uint32_t i = 0; i < count; i++)
            ids[i] = (int32_t)((done + i) * 7919 % vocabulary);
        need(tlm_eval(context, ids, count, out_logits, &err), &err);
    }
}

static void run_with(uint32_t threads, const tn_model *model)
{
    tn_runtime *runtime;
    tlm_context *context;
    tn_error err = { 0 };
    tn_runtime_options options = { .size = sizeof options, .threads = threads };
    need(tn_runtime_create(&options, &runtime, &err), &err);
    need(tlm_context_create(runtime, model, NULL, &context, &err), &err);
    tlm_context_info info = { .size = sizeof info };
    tlm_context_describe(context, &info);
    vocabulary = info.vocabulary;
    size_t bytes = vocabulary * sizeof(float);
    for (int p = 0; p < PIECES; p++) {
        const float *got;
        eval_in_pieces(context, pieces[p], &got);
        if (threads == 1) {
            assert_non_null(logits[p] = malloc(bytes));
            memcpy(logits[p], got, bytes);
        } else if (memcmp(logits[p], got, bytes) != 0) {
            fail_msg("pieces of %u: %u threads give other bits than one", pieces[p], threads);
        }
    }
    tlm_context_destroy(context);
    tn_runtime_destroy(runtime);
}

static void every_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    tn_model *model;
    tn_error err = { 0 };
    need(tn_model_open(model_path, NULL, &model, &err), &err);
    for (uint32_t threads = 1; threads <= MOST_THREADS; threads++)
        run_with(threads, model);
    tn_model_close(model);
}

static void pieces_of_other_sizes_differ_within_the_bound(void **state)
{
    (void)state;
    float least = INFINITY, most = -INFINITY;
    for (uint32_t i = 0; i < vocabulary; i++) {
        least = fminf(least, logits[0][i]);
        most = fmaxf(most, logits[0][i]);
    }
    for (int p = 0; p < PIECES; p++) {
        double worst = 0;
        for (uint32_t i = 0; i < vocabulary; i++)
            worst = fmax(worst, fabs((double)logits[p][i] - (double)logits[0][i]));
        worst /= (double)(most - least);
        printf("pieces of %u: %.2e of the spread, %.2e allowed\n", pieces[p], worst, bound);
        assert_true(worst <= bound);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fputs("use: lm_batches MODEL IDS BOUND\n", stderr);
        return 2;
    }
    model_path = argv[1];
    id_count = (uint32_t)strtoul(argv[2], NULL, 10);
    bound = strtod(argv[3], NULL);
    if (access(model_path, R_OK) != 0)
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(pieces_of_other_sizes_differ_within_the_bound),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int p = 0; p < PIECES; p++)
        free(logits[p]);
    return failed;
}
