// Several sessions of one runtime on the same weights: each lies on a device once, however many use
// it and whichever goes first.
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tenon/lm.h>

#include "counting_alloc.h"
#include "failing_alloc.h"
#include "session_rig.h"
#include "sim_layers.h"

static const char *const packing[] = { "plugin.cpu.activations=q8", NULL };

static void need(tn_status status, const tn_error *err)
{
    if (status != TN_OK)
        fail_msg("%s: %s", tn_status_name(status), err->text);
}

// ------------------------------------------------------------------------------- whole models

enum { IDS = 7 };

static tn_model *open_model(void)
{
    tn_model *model = NULL;
    tn_error err = { 0 };
    need(tn_model_open(TEST_MODEL, NULL, &model, &err), &err);
    return model;
}

static tn_status create_context(tn_runtime *runtime, const tn_model *model, tlm_context **out,
                                tn_error *err)
{
    const tlm_context_options options = { .size = sizeof options,
                                          .context_tokens = 32,
                                          .batch_tokens = 8 };
    return tlm_context_create(runtime, model, &options, out, err);
}

static tlm_context *make_context(tn_runtime *runtime, const tn_model *model)
{
    tlm_context *context = NULL;
    tn_error err = { 0 };
    need(create_context(runtime, model, &context, &err), &err);
    return context;
}

static tn_memory_report memory_of(const tlm_context *context)
{
    tn_memory_report report = { .size = sizeof report };
    tlm_context_memory(context, &report);
    return report;
}

// A hash of the logits of a prompt and of a token behind it.
static tn_status eval(tlm_context *context, size_t vocabulary, uint64_t *out_hash, tn_error *err)
{
    const int32_t ids[IDS] = { 5, 9, 300, 2, 77, 41, 8 };
    const uint32_t counts[] = { IDS, 1 };
    const float *logits;
    *out_hash = UINT64_C(14695981039346656037);
    tn_status status = tlm_context_reset(context, err);
    for (int i = 0; i < 2 && status == TN_OK; i++) {
        status = tlm_eval(context, ids, counts[i], &logits, err);
        const unsigned char *bytes = (const unsigned char *)logits;
        for (size_t b = 0; b < vocabulary * sizeof *logits && status == TN_OK; b++)
            *out_hash = (*out_hash ^ bytes[b]) * UINT64_C(1099511628211);
    }
    return status;
}

static uint64_t hash_of(tlm_context *context)
{
    tlm_context_info info = { .size = sizeof info };
    uint64_t hash;
    tn_error err = { 0 };
    tlm_context_describe(context, &info);
    need(eval(context, info.vocabulary, &hash, &err), &err);
    return hash;
}

static void a_second_session_packs_nothing(void **state)
{
    (void)state;
    counting_alloc counting;
    counting_alloc_init(&counting);
    tn_runtime *runtime = rig_runtime_on(&counting.allocator, false, packing);
    tn_model *model = open_model();
    tlm_context *first = make_context(runtime, model);   // opens the device as well
    tlm_context_destroy(first);
    const int64_t without = counting.bytes;
    first = make_context(runtime, model);
    const int64_t one = counting.bytes - without;
    const uint64_t want = hash_of(first);
    const tn_memory_report alone = memory_of(first);
    assert_true(alone.weight_copied_bytes > UINT64_C(3000000) && alone.weight_shared_bytes == 0);
    tlm_context *second = make_context(runtime, model);
    const int64_t both = counting.bytes - without;
    const tn_memory_report shared = memory_of(second);
    assert_int_equal(shared.weight_copied_bytes, alone.weight_copied_bytes);
    assert_int_equal(shared.weight_shared_bytes, alone.weight_copied_bytes);
    assert_int_equal(memory_of(first).weight_shared_bytes, alone.weight_copied_bytes);
    if (both + (int64_t)alone.weight_copied_bytes > 2 * one + one / 50)
        fail_msg("one takes %" PRId64 " bytes, two %" PRId64, one, both);
    assert_int_equal(hash_of(second), want);
    tlm_context_destroy(first);
    assert_int_equal(memory_of(second).weight_shared_bytes, 0);
    assert_int_equal(hash_of(second), want);
    tlm_context_destroy(second);
    assert_int_equal(counting.bytes, without);
    tn_model_close(model);
    tn_runtime_destroy(runtime);
    assert_int_equal(counting.pieces, 0);
}

typedef struct user {
    tn_runtime *runtime;
    const tn_model *model;
    pthread_barrier_t *begin, *made;
    size_t vocabulary;
    uint64_t want;
    tlm_context *context;
    tn_error err;
    bool is_right;
} user;

// All are made before one is used, and some go while others come.
static void *use_model(void *argument)
{
    user *u = argument;
    uint64_t hash = 0;
    for (int again = 0; again < 3; again++) {
        (void)pthread_barrier_wait(u->begin);
        tn_status status = create_context(u->runtime, u->model, &u->context, &u->err);
        (void)pthread_barrier_wait(u->made);
        if (status == TN_OK)
            status = eval(u->context, u->vocabulary, &hash, &u->err);
        u->is_right = status == TN_OK && hash == u->want;
        if (again < 2 || !u->is_right) {
            tlm_context_destroy(u->context);
            u->context = NULL;
        }
    }
    return NULL;
}

static void sessions_made_at_once_pack_once(void **state)
{
    (void)state;
    enum { USERS = 4 };
    counting_alloc counting;
    counting_alloc_init(&counting);
    tn_runtime *runtime = rig_runtime_on(&counting.allocator, false,
                                         (const char *[]){ "threads=2", packing[0], NULL });
    tn_model *model = open_model();
    tlm_context *alone = make_context(runtime, model);
    const uint64_t want = hash_of(alone), packed = memory_of(alone).weight_copied_bytes;
    tlm_context_info info = { .size = sizeof info };
    tlm_context_describe(alone, &info);
    tlm_context_destroy(alone);
    const int64_t without = counting.bytes, one = counting.most - without;
    pthread_barrier_t begin, made;
    assert_int_equal(pthread_barrier_init(&begin, NULL, USERS), 0);
    assert_int_equal(pthread_barrier_init(&made, NULL, USERS), 0);
    user users[USERS];
    pthread_t threads[USERS];
    for (int i = 0; i < USERS; i++) {
        users[i] = (user){ .runtime = runtime,
                           .model = model,
                           .begin = &begin,
                           .made = &made,
                           .vocabulary = info.vocabulary,
                           .want = want };
        assert_int_equal(pthread_create(&threads[i], NULL, use_model, &users[i]), 0);
    }
    for (int i = 0; i < USERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < USERS; i++) {
        if (!users[i].is_right)
            fail_msg("session %d: %s", i, users[i].err.text);
        assert_int_equal(memory_of(users[i].context).weight_shared_bytes, packed);
    }
    if (counting.most - without > USERS * one - (USERS - 1) * (int64_t)packed + one / 20)
        fail_msg("one takes %" PRId64 " bytes, %d %" PRId64, one, USERS,
                 (int64_t)(counting.most - without));
    for (int i = 0; i < USERS; i++)
        tlm_context_destroy(users[i].context);
    assert_int_equal(counting.bytes, without);
    pthread_barrier_destroy(&begin);
    pthread_barrier_destroy(&made);
    tn_model_close(model);
    tn_runtime_destroy(runtime);
}

// --------------------------------------------------------------------------------- packs, in rooms

enum { PACKS = 6, ROW = 64, OUT = 32, BLOCK_BYTES = 34, PACK_BYTES = OUT * ROW / 32 * BLOCK_BYTES };

static unsigned char blocks[PACKS][PACK_BYTES];   // Q8_0
static float packs_input[ROW];

static int fill(void **state)
{
    for (uint32_t p = 0; p < PACKS; p++)
        rig_fill_q8_0(blocks[p], PACK_BYTES, p);
    rig_fill(packs_input, ROW, 5);
    return layers_fill(state);
}

// The products with packs `from` to `to`, one after another.
static tn_graph *packs_graph(uint32_t from, uint32_t to)
{
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 1, ROW, 0, 0);
    tn_value sum = rig_products(graph, x, blocks[0], ROW, OUT, from, to);
    // read where it lies
    tn_value bias = tn_graph_weight(graph, "bias", TN_DTYPE_F32, 1, (int64_t[]){ OUT }, packs_input,
                                    OUT * sizeof *packs_input);
    rig_finish(graph, tn_graph_add(graph, sum, bias));
    return graph;
}

typedef struct packs {
    float out[OUT];
} packs;

static packs run_packs(tn_session *session, const tn_graph *graph)
{
    packs got;
    rig_run(session, 0, graph, "x", packs_input, sizeof packs_input, NULL);
    rig_read(session, 0, graph, "out", got.out, sizeof got.out);
    return got;
}

static tn_session *packs_session(tn_runtime *runtime, const tn_graph *graph)
{
    return rig_session(runtime, &graph, 1, (const char *[]){ "cpu0", NULL });
}

// The packs of a session lie in one buffer; others use some of them, and make the rest.
static void a_buffer_stays_as_long_as_one_pack_of_it_is_used(void **state)
{
    (void)state;
    tn_graph *graphs[3] = { packs_graph(0, PACKS), packs_graph(2, 4), packs_graph(1, PACKS - 1) };
    packs want[3];
    for (int g = 0; g < 3; g++) {
        tn_runtime *runtime = rig_runtime(false, packing);
        tn_session *alone = packs_session(runtime, graphs[g]);
        assert_true(rig_memory(alone).weight_copied_bytes > 0);
        want[g] = run_packs(alone, graphs[g]);
        tn_session_destroy(alone);
        tn_runtime_destroy(runtime);
    }
    static const int orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                     { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    for (int come = 0; come < 6; come++)
        for (int go = 0; go < 6; go++) {
            counting_alloc counting;
            counting_alloc_init(&counting);
            tn_runtime *runtime = rig_runtime_on(&counting.allocator, false, packing);
            tn_session *sessions[3] = { NULL };
            tn_session_destroy(packs_session(runtime, graphs[0]));
            const int64_t without = counting.bytes;
            for (int i = 0; i < 3; i++)
                sessions[orders[come][i]] = packs_session(runtime, graphs[orders[come][i]]);
            for (int i = 0; i < 3; i++) {
                int gone = orders[go][i];
                tn_session_destroy(sessions[gone]);
                sessions[gone] = NULL;
                for (int g = 0; g < 3; g++) {
                    packs got;
                    if (sessions[g])
                        got = run_packs(sessions[g], graphs[g]);
                    if (sessions[g] && memcmp(&got, &want[g], sizeof got) != 0)
                        fail_msg("come %d, go %d: graph %d has other bytes", come, go, g);
                }
                if (i == 0) {   // the one that went comes again
                    sessions[gone] = packs_session(runtime, graphs[gone]);
                    packs got = run_packs(sessions[gone], graphs[gone]);
                    assert_memory_equal(&got, &want[gone], sizeof got);
                    tn_session_destroy(sessions[gone]);
                    sessions[gone] = NULL;
                }
            }
            assert_int_equal(counting.bytes, without);
            tn_runtime_destroy(runtime);
            assert_int_equal(counting.pieces, 0);
        }
    for (int g = 0; g < 3; g++)
        tn_graph_destroy(graphs[g]);
}

// With the last graph of the last session the bytes may go, and others may lie where they were.
static void with_the_last_use_the_bytes_may_change(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_runtime(false, packing);
    tn_graph *graph = packs_graph(0, 2);
    tn_session *first = packs_session(runtime, graph), *second = packs_session(runtime, graph);
    const packs want = run_packs(first, graph);
    assert_int_equal(tn_session_drop(first, 0, NULL), TN_OK);
    assert_int_equal(rig_memory(first).weight_copied_bytes, 0);
    packs got = run_packs(second, graph);
    assert_memory_equal(&got, &want, sizeof got);
    tn_session_destroy(second);
    blocks[1][5] ^= 0x55;
    tn_session *changed = packs_session(runtime, graph);
    got = run_packs(changed, graph);
    assert_memory_not_equal(&got, &want, sizeof got);
    blocks[1][5] ^= 0x55;
    tn_session_destroy(first);
    tn_session_destroy(changed);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

// ------------------------------------------------------------------------------------------ memory

static const char small_device[] =
    "[{\"name\":\"a\",\"memory_bytes\":160000,\"host_visible\":false,\"latency_us\":0.01}]";
static const char *const on_a[] = { "a", NULL };

// Eight weights take 131,072 bytes of 160,000.
static void a_second_session_fits_where_no_second_copy_does(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated(small_device, NULL);
    tn_graph *graph = layers_graph(1, false), *other = layers_graph_of(layers_others, 1, false);
    const int64_t tokens = 1;
    tn_session *sessions[3], *refused = NULL;
    tn_error err = { 0 };
    for (int i = 0; i < 3; i++) {
        const char *const *names = i == 1 ? a_and_cpu : on_a;
        sessions[i] = layers_session(runtime, &graph, 1, names, NULL);
        assert_int_equal(layers_weights_on(sessions[i], 0), LAYERS);
        layers_compare(runtime, sessions[i], &graph, &tokens, 1);
    }
    assert_int_equal(layers_memory(sessions[2], 0).weight_shared_bytes, LAYERS * WEIGHT_BYTES);
    assert_non_null(strstr(rig_explain(sessions[2]), "a: needs "));
    assert_non_null(strstr(rig_explain(sessions[2]), " 0 for weights"));
    assert_non_null(strstr(rig_explain(sessions[2]), "131072 bytes of weights were there already"));
    assert_non_null(strstr(rig_explain(sessions[2]), "131072 shared with other sessions"));
    assert_int_equal(layers_try(runtime, &other, 1, on_a, NULL, &refused, &err),
                     TN_E_DEVICE_MEMORY);
    const tn_pin pins[] = { { "w.3", rig_device(runtime, "a") } };
    const tn_placement asked = { .size = sizeof asked, .pins = pins, .pin_count = 1 };
    tn_session *pinned = layers_session(runtime, &graph, 1, a_and_cpu, &asked);
    assert_int_equal(layers_weights_on(pinned, 0), LAYERS);
    tn_session_destroy(pinned);
    for (int i = 0; i < 3; i++)
        tn_session_destroy(sessions[i]);
    tn_session *last = layers_session(runtime, &other, 1, on_a, NULL);
    layers_compare(runtime, last, &other, &tokens, 1);
    tn_session_destroy(last);
    tn_graph_destroy(graph);
    tn_graph_destroy(other);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

// Where only a part fits it is the same part, node by node and in whole layers.
static void what_is_there_in_part_is_used_in_part(void **state)
{
    (void)state;
    const tn_placement asked = { .size = sizeof asked, .layer_rule = TN_LAYERS_ALL };
    tn_graph *graph = layers_graph(1, false);
    const int64_t tokens = 1;
    for (int layers = 0; layers < 2; layers++) {
        tn_runtime *runtime = rig_simulated(
            "[{\"name\":\"a\",\"memory_bytes\":104000,\"host_visible\":false,\"latency_us\":0.01}]",
            NULL);
        const tn_placement *placement = layers ? &asked : NULL;
        tn_session *first = layers_session(runtime, &graph, 1, a_and_cpu, placement);
        tn_session *second = layers_session(runtime, &graph, 1, a_and_cpu, placement);
        const uint64_t had = layers_weights_on(first, 0);
        assert_in_range(had, LAYERS - 3, LAYERS - 1);
        assert_int_equal(layers_weights_on(second, 0), had);
        assert_int_equal(layers_memory(second, 0).weight_shared_bytes, had * WEIGHT_BYTES);
        layers_compare(runtime, second, &graph, &tokens, 1);
        tn_session_destroy(first);
        layers_compare(runtime, second, &graph, &tokens, 1);
        tn_session_destroy(second);
        tn_runtime_destroy(runtime);
    }
    tn_graph_destroy(graph);
}

// What a session has filled to the last byte has none for others: free is 0, which is told.
static void a_device_that_is_full_has_no_room(void **state)
{
    (void)state;
    tn_graph *graph = layers_graph(1, false), *other = layers_graph_of(layers_others, 1, false);
    const int64_t tokens = 1;
    uint64_t bytes = 1 << 30;
    for (int is_full = 0; is_full < 2; is_full++) {
        char devices[120];
        snprintf(devices, sizeof devices,
                 "[{\"name\":\"a\",\"memory_bytes\":%" PRIu64
                 ",\"host_visible\":false,\"latency_us\":0.01}]",
                 bytes);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tn_session *first = layers_session(runtime, &graph, 1, on_a, NULL);
        const tn_device_memory memory = layers_memory(first, 0);
        bytes = memory.weight_copied_bytes + memory.state_bytes + memory.peak_bytes;
        assert_int_equal(bytes % 64, 0);
        tn_device *list[] = { rig_device(runtime, "a"), rig_device(runtime, "cpu0") };
        tn_session_options options = { .size = sizeof options, .device_count = 1, .devices = list };
        tn_error err = { 0 };
        assert_int_equal(tn_session_fits(runtime, (const tn_graph *[]){ other }, 1, &options, &err),
                         is_full ? TN_E_DEVICE_MEMORY : TN_OK);
        tn_session *second = layers_session(runtime, &other, 1, a_and_cpu, NULL);
        assert_int_equal(layers_weights_on(second, 0), is_full ? 0 : LAYERS);
        layers_compare(runtime, second, &other, &tokens, 1);
        tn_session_destroy(second);
        tn_session_destroy(first);
        tn_runtime_destroy(runtime);
        assert_string_equal(rig_log(), "");
    }
    tn_graph_destroy(graph);
    tn_graph_destroy(other);
}

// Two devices that divide the layers by what is free divide them as they did.
static void a_second_session_divides_layers_alike(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"memory_bytes\":140000,\"host_visible\":false},"
        "{\"name\":\"b\",\"memory_bytes\":70000,\"host_visible\":false}]",
        NULL);
    const tn_placement asked = { .size = sizeof asked,
                                 .layer_rule = TN_LAYERS_ALL,
                                 .split_mode = TN_SPLIT_LAYER };
    tn_graph *graph = layers_graph(1, false);
    tn_session *sessions[3];
    for (int i = 0; i < 3; i++) {
        sessions[i] = layers_session(runtime, &graph, 1, a_b_and_cpu, &asked);
        for (uint32_t d = 0; d < 2; d++)
            assert_int_equal(layers_weights_on(sessions[i], d), layers_weights_on(sessions[0], d));
        assert_int_equal(rig_memory(sessions[i]).weight_shared_bytes,
                         i ? LAYERS * WEIGHT_BYTES : 0);
    }
    for (int i = 0; i < 3; i++)
        tn_session_destroy(sessions[i]);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

typedef struct maker {
    tn_runtime *runtime;
    tn_graph *graph;
    pthread_barrier_t *begin;
    tn_session *session;
    tn_status status;
    tn_error err;
} maker;

static void *make_on_a(void *argument)
{
    maker *m = argument;
    tn_device *a = tn_runtime_find_device(m->runtime, "a");
    const tn_session_options options = { .size = sizeof options, .device_count = 1, .devices = &a };
    (void)pthread_barrier_wait(m->begin);
    m->status = tn_session_create(m->runtime, (const tn_graph *[]){ m->graph }, 1, &options,
                                  &m->session, &m->err);
    return NULL;
}

static void sessions_made_at_once_fit_where_no_second_copy_does(void **state)
{
    (void)state;
    enum { MAKERS = 3, TIMES = 20 };
    tn_runtime *runtime = rig_simulated(small_device, NULL);
    tn_graph *graph = layers_graph(1, false);
    const int64_t tokens = 1;
    pthread_barrier_t begin;
    assert_int_equal(pthread_barrier_init(&begin, NULL, MAKERS), 0);
    for (int again = 0; again < TIMES; again++) {
        maker makers[MAKERS];
        pthread_t threads[MAKERS];
        for (int i = 0; i < MAKERS; i++) {
            makers[i] = (maker){ .runtime = runtime, .graph = graph, .begin = &begin };
            assert_int_equal(pthread_create(&threads[i], NULL, make_on_a, &makers[i]), 0);
        }
        for (int i = 0; i < MAKERS; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (int i = 0; i < MAKERS; i++) {
            need(makers[i].status, &makers[i].err);
            assert_int_equal(layers_memory(makers[i].session, 0).weight_shared_bytes,
                             LAYERS * WEIGHT_BYTES);
        }
        layers_compare(runtime, makers[again % MAKERS].session, &graph, &tokens, 1);
        for (int i = 0; i < MAKERS; i++)
            tn_session_destroy(makers[i].session);
    }
    pthread_barrier_destroy(&begin);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

// ---------------------------------------------------------------------------------------- failures

static void an_allocation_that_fails_leaves_the_others_their_weights(void **state)
{
    (void)state;
    failing_alloc failing;
    failing_alloc_init(&failing, 0);
    tn_runtime *runtime = rig_runtime_on(&failing.allocator, false, packing);
    tn_graph *few = packs_graph(1, 4), *all = packs_graph(0, PACKS);
    tn_session *first = packs_session(runtime, few);
    const packs want = run_packs(first, few);
    const uint64_t bytes = rig_memory(first).weight_copied_bytes;
    const int64_t alive = failing.alive;
    tn_session *second = NULL;
    tn_device *cpu = rig_device(runtime, "cpu0");
    const tn_session_options options = { .size = sizeof options,
                                         .device_count = 1,
                                         .devices = &cpu };
    bool had_its_turn = true;
    for (uint64_t n = 1; had_its_turn; n++) {   // some can be done without
        tn_error err = { 0 };
        tn_session_destroy(second);
        second = NULL;
        failing.fail_at = failing.calls + n;
        tn_status status = tn_session_create(runtime, (const tn_graph *[]){ all }, 1, &options,
                                             &second, &err);
        had_its_turn = failing.calls >= failing.fail_at;
        failing.fail_at = 0;
        if (status != TN_OK && status != TN_E_HOST_MEMORY && status != TN_E_DEVICE_MEMORY)
            fail_msg("the %" PRIu64 "-th: %s", n, err.text);
        if (!second && failing.alive != alive)
            fail_msg("%d allocations are left over after the %" PRIu64 "-th failed",
                     (int)(failing.alive - alive), n);
        packs got = run_packs(first, few);
        assert_memory_equal(&got, &want, sizeof got);
        assert_int_equal(rig_memory(first).weight_copied_bytes, bytes);
        assert_int_equal(rig_memory(first).weight_shared_bytes, second ? bytes : 0);
    }
    assert_int_equal(rig_memory(first).weight_shared_bytes, bytes);
    assert_int_equal(rig_memory(second).weight_shared_bytes, bytes);
    tn_session_destroy(second);
    tn_session_destroy(first);
    tn_graph_destroy(few);
    tn_graph_destroy(all);
    tn_runtime_destroy(runtime);
    assert_int_equal(failing.alive, 0);
}

// Each finds out by itself; what both used is given back once.
static void both_go_on_when_the_device_that_they_share_is_lost(void **state)
{
    (void)state;
    static float want[WIDTH * 2], got[WIDTH * 2];
    tn_graph *graph = layers_graph(2, false);
    bool is_over = false;
    tn_runtime *plain = rig_simulated("[]", NULL);
    tn_session *alone = layers_session(plain, &graph, 1, (const char *[]){ "cpu0", NULL }, NULL);
    layers_run(alone, 0, graph, 2, want);
    tn_session_destroy(alone);
    tn_runtime_destroy(plain);
    for (unsigned at = 1; !is_over; at++) {
        char devices[200];
        snprintf(devices, sizeof devices,
                 "[{\"name\":\"a\",\"host_visible\":false,\"latency_us\":0.01,\"fail\":{\"call\":"
                 "\"%s\",\"at\":%u,\"lost\":true}}]",
                 at % 2 ? "queue_submit" : "queue_copy", (at + 1) / 2);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tn_session *sessions[2];
        for (int i = 0; i < 2; i++)
            sessions[i] = layers_session(runtime, &graph, 1, a_and_cpu, NULL);
        for (int again = 0; again < 3; again++)
            for (int i = 0; i < 2; i++) {
                layers_run(sessions[i], 0, graph, 2, got);
                assert_memory_equal(got, want, sizeof want);
            }
        is_over = at % 2 && !strstr(rig_told(), "fails now") && at > 20;
        tn_session *third = layers_session(runtime, &graph, 1, a_and_cpu, NULL);
        tn_session_destroy(sessions[at % 3 == 0]);
        layers_run(sessions[at % 3 != 0], 0, graph, 2, got);
        assert_memory_equal(got, want, sizeof want);
        layers_run(third, 0, graph, 2, got);
        assert_memory_equal(got, want, sizeof want);
        tn_session_destroy(sessions[at % 3 != 0]);
        tn_session_destroy(third);
        tn_runtime_destroy(runtime);
        if (strstr(rig_log(), "not given back"))
            fail_msg("%u: %s", at, rig_log());
    }
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_session_packs_nothing),
        cmocka_unit_test(sessions_made_at_once_pack_once),
        cmocka_unit_test(a_buffer_stays_as_long_as_one_pack_of_it_is_used),
        cmocka_unit_test(with_the_last_use_the_bytes_may_change),
        cmocka_unit_test(a_second_session_fits_where_no_second_copy_does),
        cmocka_unit_test(what_is_there_in_part_is_used_in_part),
        cmocka_unit_test(a_device_that_is_full_has_no_room),
        cmocka_unit_test(a_second_session_divides_layers_alike),
        cmocka_unit_test(sessions_made_at_once_fit_where_no_second_copy_does),
        cmocka_unit_test(an_allocation_that_fails_leaves_the_others_their_weights),
        cmocka_unit_test(both_go_on_when_the_device_that_they_share_is_lost),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
