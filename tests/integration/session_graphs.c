// Graphs that come to a session later and go before it does: they run inside what was reserved, and
// leave nothing behind.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "counting_alloc.h"
#include "folder.h"
#include "session_rig.h"

// ----------------------------------------------------------------------------------- a small model

enum { WIDTH = 8, HEADS = 2, HEAD = WIDTH / HEADS, WORDS = 16, MOST = 512 };

static float embedding[WIDTH * WORDS], square[4][WIDTH * WIDTH], norm[WIDTH];

static int fill(void **state)
{
    (void)state;
    rig_fill(embedding, WIDTH * WORDS, 1);
    rig_fill(norm, WIDTH, 2);
    for (uint32_t i = 0; i < 4; i++)
        rig_fill(square[i], WIDTH * WIDTH, 3 + i);
    return 0;
}

static tn_value weight(tn_graph *graph, const char *name, int i)
{
    return tn_graph_weight(graph, name, TN_DTYPE_F32, 2, (int64_t[]){ WIDTH, WIDTH }, square[i],
                           sizeof square[i]);
}

// A layer with a cache, for `tokens` tokens at a time: "out" {WIDTH, tokens}.
static tn_graph *make_model(const tn_allocator *allocator, int64_t tokens)
{
    tn_graph *graph = NULL;
    assert_int_equal(tn_graph_create(allocator, &graph, NULL), TN_OK);
    const int64_t cache[] = { WIDTH, MOST }, slots[] = { HEAD, HEADS, MOST };
    const int64_t heads[] = { HEAD, HEADS, tokens }, rows[] = { WIDTH, tokens };
    tn_value ids = tn_graph_input(graph, "ids", TN_DTYPE_I32, 1, &tokens);
    tn_value position = tn_graph_input(graph, "position", TN_DTYPE_I32, 1, &tokens);
    tn_value filled = tn_graph_input(graph, "filled", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    tn_value table = tn_graph_weight(graph, "table", TN_DTYPE_F32, 2, (int64_t[]){ WIDTH, WORDS },
                                     embedding, sizeof embedding);
    tn_value scale = tn_graph_weight(graph, "norm", TN_DTYPE_F32, 1, (int64_t[]){ WIDTH }, norm,
                                     sizeof norm);
    tn_value k = tn_graph_state(graph, "k", TN_DTYPE_F32, 2, cache);
    tn_value v = tn_graph_state(graph, "v", TN_DTYPE_F32, 2, cache);
    tn_value x = tn_graph_get_rows(graph, table, ids);
    tn_value h = tn_graph_rms_norm(graph, x, scale, 1e-5f);
    tn_value q = tn_graph_matmul(graph, h, weight(graph, "q", 0));
    k = tn_graph_set_rows(graph, k, tn_graph_matmul(graph, h, weight(graph, "wk", 1)), position);
    v = tn_graph_set_rows(graph, v, tn_graph_matmul(graph, h, weight(graph, "wv", 2)), position);
    k = tn_graph_limit(graph, tn_graph_reshape(graph, k, 3, slots), 2, filled);
    v = tn_graph_limit(graph, tn_graph_reshape(graph, v, 3, slots), 2, filled);
    tn_value a = tn_graph_attention(
        graph, tn_graph_reshape(graph, q, 3, heads), k, v, position, TN_NO_VALUE,
        &(tnp_attention_attr){
            .size = sizeof(tnp_attention_attr), .flags = TNP_ATTENTION_CAUSAL, .scale = 0.5f });
    tn_value o = tn_graph_matmul(graph, tn_graph_reshape(graph, a, 2, rows), weight(graph, "o", 3));
    rig_finish(graph, tn_graph_add(graph, o, x));
    return graph;
}

// The first `tokens` tokens of one text; the answers go to `out`.
static void run_model(tn_session *session, uint32_t number, const tn_graph *graph, int32_t tokens,
                      float *out)
{
    static int32_t ids[MOST], position[MOST];
    size_t bytes = (size_t)tokens * sizeof *ids;
    for (int32_t i = 0; i < MOST; i++) {
        ids[i] = i * 7 % WORDS;
        position[i] = i;
    }
    rig_run(session, number, graph, "ids", ids, bytes, "position", position, bytes, "filled",
            &tokens, sizeof tokens, NULL);
    rig_read(session, number, graph, "out", out, (uint64_t)tokens * WIDTH * sizeof *out);
}

static uint32_t add(tn_session *session, const tn_graph *graph)
{
    uint32_t number = UINT32_MAX;
    tn_error err = { 0 };
    if (tn_session_add(session, graph, &number, &err) != TN_OK)
        fail_msg("%s", err.text);
    return number;
}

static void drop(tn_session *session, uint32_t number)
{
    tn_error err = { 0 };
    if (tn_session_drop(session, number, &err) != TN_OK)
        fail_msg("%s", err.text);
}

// ----------------------------------------------------------------------------------------- reserve

// The first `tokens` answers do not depend on how many come after them: attention is causal.
static void need_same(const float *got, const float *want, int64_t count, int tokens)
{
    for (int64_t i = 0; i < count; i++)
        if (!(got[i] - want[i] < 1e-5f && want[i] - got[i] < 1e-5f))
            fail_msg("%d tokens: element %" PRId64 " is %g, not %g", tokens, i, (double)got[i],
                     (double)want[i]);
}

static void every_length_runs_inside_what_was_reserved(void **state)
{
    (void)state;
    static float want[MOST * WIDTH], got[MOST * WIDTH];
    counting_alloc c;
    counting_alloc_init(&c);
    tn_runtime *runtime = rig_runtime_on(&c.allocator, true,
                                         (const char *[]){ "plugin.partial.tell=1", NULL });
    tn_graph *largest = make_model(&c.allocator, MOST);
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ largest }, 1,
                                      (const char *[]){ "partial0", NULL });
    run_model(session, 0, largest, MOST, want);
    char *lines = strdup(rig_log());
    assert_non_null(strstr(lines, "a buffer is allocated"));
    tn_memory_report before = rig_memory(session);
    int64_t bytes = 0, pieces = 0;
    for (int tokens = 1; tokens <= MOST; tokens++) {
        tn_graph *graph = make_model(&c.allocator, tokens);
        uint32_t number = add(session, graph);
        run_model(session, number, graph, tokens, got);
        need_same(got, want, (int64_t)tokens * WIDTH, tokens);
        tn_memory_report report = rig_memory(session);
        assert_int_equal(report.arena_bytes, before.arena_bytes);
        assert_int_equal(report.weight_mapped_bytes, before.weight_mapped_bytes);
        assert_int_equal(report.weight_copied_bytes, before.weight_copied_bytes);
        drop(session, number);
        tn_graph_destroy(graph);
        assert_string_equal(rig_log(), lines);
        if (tokens == 1)   // the table of graphs has grown once
            bytes = c.bytes, pieces = c.pieces;
        if (c.bytes != bytes || c.pieces != pieces)
            fail_msg("after %d tokens %" PRId64 " bytes in %" PRId64 " pieces, not %" PRId64
                     " in %" PRId64,
                     tokens, c.bytes, c.pieces, bytes, pieces);
    }
    run_model(session, 0, largest, MOST, got);
    need_same(got, want, MOST * WIDTH, MOST);
    free(lines);
    tn_session_destroy(session);
    tn_graph_destroy(largest);
    tn_runtime_destroy(runtime);
    assert_int_equal(c.bytes, 0);
}

static void a_graph_added_and_dropped_a_thousand_times_leaves_nothing(void **state)
{
    (void)state;
    float want[MOST * WIDTH], got[MOST * WIDTH];
    counting_alloc c;
    counting_alloc_init(&c);
    tn_runtime *runtime = rig_runtime_on(&c.allocator, false, NULL);
    tn_graph *largest = make_model(&c.allocator, 64), *graph = make_model(&c.allocator, 9);
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ largest }, 1,
                                      (const char *[]){ "cpu0", NULL });
    int64_t bytes = 0, pieces = 0, most = 0;
    char *plan = NULL;
    for (int i = 0; i < 1000; i++) {
        c.most = c.bytes;
        uint32_t number = add(session, graph);
        assert_int_equal(number, i + 1);   // numbers are never given twice
        if (i % 100 == 0) {
            run_model(session, number, graph, 9, got);
            if (i == 0)
                memcpy(want, got, sizeof want);
            assert_memory_equal(got, want, 9 * WIDTH * sizeof *got);
        }
        int64_t now = c.most;
        if (i == 0)
            plan = strdup(rig_plan(session, number));
        assert_string_equal(rig_plan(session, number), plan);
        drop(session, number);
        if (i == 0)
            bytes = c.bytes, pieces = c.pieces;
        if (i == 1)
            most = now;
        if (c.bytes != bytes || c.pieces != pieces || (i > 1 && now != most))
            fail_msg("round %d: %" PRId64 " bytes in %" PRId64 " pieces, at most %" PRId64, i,
                     c.bytes, c.pieces, now);
    }
    free(plan);
    tn_session_destroy(session);
    tn_graph_destroy(largest);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    assert_int_equal(c.bytes, 0);
}

// ----------------------------------------------------------------------------------------- refused

// "out" = -x of so many floats, by way of as many more.
static tn_graph *make_chain(int64_t floats)
{
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 1, floats, 0, 0);
    rig_finish(graph, rig_op(graph, TNP_OP_NEG, rig_op(graph, TNP_OP_ABS, x)));
    return graph;
}

static void need_chain(tn_session *session, uint32_t number, const tn_graph *graph)
{
    float got[4];
    rig_run(session, number, graph, "x", (float[]){ 1, -2, 3, -4 }, (size_t)16, NULL);
    rig_read(session, number, graph, "out", got, sizeof got);
    assert_memory_equal(got, ((float[]){ -1, -2, -3, -4 }), sizeof got);
}

static void a_graph_beyond_what_is_reserved_is_refused_with_both_numbers(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_runtime(false, NULL);
    tn_graph *small = make_chain(4), *large = make_chain(17);
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ small }, 1,
                                      (const char *[]){ "cpu0", NULL });
    tn_session *alone = rig_session(runtime, (const tn_graph *[]){ large }, 1,
                                    (const char *[]){ "cpu0", NULL });
    tn_memory_report before = rig_memory(session), needed = rig_memory(alone);
    tn_error err = { 0 };
    char words[80];
    snprintf(words, sizeof words, " needs an arena of %" PRIu64 " bytes, %" PRIu64 " are reserved",
             needed.arena_bytes, before.arena_bytes);
    tn_session_destroy(alone);
    need_chain(session, 0, small);
    for (int i = 0; i < 3; i++) {
        uint32_t number = 77;
        assert_int_equal(tn_session_add(session, large, &number, &err), TN_E_DEVICE_MEMORY);
        assert_int_equal(number, 77);
        if (!strstr(err.text, words) || !strstr(err.text, "cpu0: "))
            fail_msg("\"%s\" does not say \"%s\"", err.text, words);
        tn_memory_report after = rig_memory(session);
        assert_memory_equal(&before, &after, sizeof after);
        need_chain(session, 0, small);
    }
    tn_session_destroy(session);
    tn_graph_destroy(small);
    tn_graph_destroy(large);
    tn_runtime_destroy(runtime);
}

static void a_graph_is_known_by_its_number_and_its_values_alone(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_runtime(false, NULL);
    tn_graph *first = make_chain(4), *second = make_chain(4), *open = rig_graph();
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ first }, 1,
                                      (const char *[]){ "cpu0", NULL });
    uint32_t number = add(session, second), other = 77;
    float floats[4] = { 1, 2, 3, 4 };
    tn_value out = tn_graph_find(second, "out");
    tn_feed feed = { tn_graph_find(second, "x"), floats, sizeof floats };
    tn_error err = { 0 };

    need_chain(session, number, second);
    assert_int_equal(tn_session_run(session, 0, &feed, 1, &err), TN_E_ARG);
    assert_string_equal(err.text, "tn_session_run: not a value of graph 0 of this session");
    need_chain(session, 0, first);
    assert_int_equal(tn_session_read(session, 0, out, floats, 16, &err), TN_E_ARG);
    assert_string_equal(err.text, "tn_session_read: not a value of graph 0 of this session");
    assert_int_equal(tn_session_read(session, number, out, floats, 16, &err), TN_E_ARG);
    assert_string_equal(err.text, "tn_session_read: graph 1 is not the one that ran last");

    need_chain(session, number, second);
    drop(session, number);
    assert_int_equal(tn_session_read(session, number, out, floats, 16, &err), TN_E_ARG);
    assert_string_equal(err.text, "tn_session_read: graph 1 was dropped");
    assert_int_equal(tn_session_run(session, number, &feed, 1, &err), TN_E_ARG);
    assert_string_equal(err.text, "tn_session_run: graph 1 was dropped");
    assert_int_equal(tn_session_drop(session, number, &err), TN_E_ARG);
    assert_string_equal(err.text, "tn_session_drop: graph 1 was dropped");
    assert_int_equal(tn_session_drop(session, 2, &err), TN_E_ARG);
    assert_string_equal(err.text, "tn_session_drop: there is no graph 2, the session was given 2");
    assert_int_equal(tn_session_add(session, open, &other, &err), TN_E_GRAPH);
    assert_string_equal(err.text, "tn_session_add: the graph is not finished");

    assert_int_equal(add(session, second), 2);   // not 1 again
    drop(session, 0);                            // one of creation too
    tn_graph_destroy(first);
    need_chain(session, 2, second);
    drop(session, 2);
    assert_int_equal(add(session, second), 3);
    need_chain(session, 3, second);
    tn_session_destroy(session);
    tn_graph_destroy(second);
    tn_graph_destroy(open);
    tn_runtime_destroy(runtime);
}

static tn_graph *make_counter(const char *name, tn_dtype type, int64_t rows)
{
    tn_graph *graph = rig_graph();
    tn_value state = tn_graph_state(graph, name, type, 2, (int64_t[]){ 4, rows });
    tn_value index = tn_graph_input(graph, "index", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    tn_value x = rig_input(graph, "x", 2, 4, 1, 0);
    rig_finish(graph, tn_graph_get_rows(graph, tn_graph_set_rows(graph, state, x, index), index));
    return graph;
}

static void states_of_a_graph_that_is_added_are_those_that_are_there(void **state)
{
    (void)state;
    static const struct {
        const char *name, *words;
        tn_dtype type;
        int64_t rows;
    } cases[] = {
        { "other", "the session has no state 'other'", TN_DTYPE_F32, 3 },
        { "s", "state 's' differs in type or dims", TN_DTYPE_F16, 3 },
        { "s", "state 's' differs in type or dims", TN_DTYPE_F32, 4 },
    };
    tn_runtime *runtime = rig_runtime(false, NULL);
    tn_graph *graph = make_counter("s", TN_DTYPE_F32, 3), *same;
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "cpu0", NULL });
    const float x[4] = { 1, 2, 3, 4 };
    const int32_t index = 1;
    float got[4];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tn_graph *wrong = make_counter(cases[i].name, cases[i].type, cases[i].rows);
        uint32_t number;
        tn_error err = { 0 };
        assert_int_equal(tn_session_add(session, wrong, &number, &err), TN_E_GRAPH);
        if (!strstr(err.text, cases[i].words))
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].words);
        tn_graph_destroy(wrong);
    }
    rig_run(session, 0, graph, "x", x, sizeof x, "index", &index, sizeof index, NULL);
    same = rig_graph();   // reads what the other wrote
    tn_value table = tn_graph_state(same, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    rig_finish(same, rig_op(same, TNP_OP_NEG, tn_graph_slice(same, table, 1, 1, 1)));
    uint32_t number = add(session, same);
    drop(session, 0);   // the name that the state had came from there
    tn_graph_destroy(graph);
    rig_run(session, number, same, NULL);
    rig_read(session, number, same, "out", got, sizeof got);
    assert_memory_equal(got, ((float[]){ -1, -2, -3, -4 }), sizeof got);
    assert_non_null(strstr(rig_explain(session), "1 state of 48 bytes\n"));
    tn_session_destroy(session);
    tn_graph_destroy(same);
    tn_runtime_destroy(runtime);
}

static tn_graph *make_cache(int64_t rows_at_once)
{
    tn_graph *graph = rig_graph();
    tn_value table = tn_graph_state(graph, "cache", TN_DTYPE_F32, 2, (int64_t[]){ 2, 6 });
    tn_value rows = rig_input(graph, "rows", 2, 2, rows_at_once, 0);
    tn_value index = tn_graph_input(graph, "index", TN_DTYPE_I32, 1, &rows_at_once);
    rig_finish(graph, tn_graph_set_rows(graph, table, rows, index));
    return graph;
}

// States depend on the graphs of creation: those that come and go later are not asked for.
static void a_snapshot_fits_whatever_was_added_or_dropped_since(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_runtime(false, NULL);
    tn_graph *three = make_cache(3), *one = make_cache(1);
    const float rows[6] = { 1, 2, 3, 4, 5, 6 };
    const int32_t at[3] = { 0, 2, 4 };
    float want[12], got[12];
    tn_snapshot *snapshot = NULL;
    tn_error err = { 0 };
    test_folder folder;
    test_folder_make(&folder);
    for (int later = 0; later < 2; later++) {   // saved before the changes, or after them
        tn_session *session = rig_session(runtime, (const tn_graph *[]){ three }, 1,
                                          (const char *[]){ "cpu0", NULL });
        rig_run(session, 0, three, "rows", rows, sizeof rows, "index", at, sizeof at, NULL);
        rig_read(session, 0, three, "out", want, sizeof want);
        const char *path = test_folder_path(&folder, later ? "later" : "before");
        if (!later)
            assert_int_equal(tn_session_save(session, path, NULL, &err), TN_OK);
        uint32_t number = add(session, one);
        drop(session, 0);
        if (later)
            assert_int_equal(tn_session_save(session, path, NULL, &err), TN_OK);
        assert_int_equal(tn_snapshot_open(path, NULL, &snapshot, &err), TN_OK);
        tn_session *fresh = rig_session(runtime, (const tn_graph *[]){ three }, 1,
                                        (const char *[]){ "cpu0", NULL });
        tn_session *restored = later ? fresh : session;
        assert_int_equal(tn_session_reset(session, &err), TN_OK);
        if (tn_session_restore(restored, snapshot, NULL, &err) != TN_OK)
            fail_msg("%s", err.text);
        rig_read(restored, later ? 0 : number, later ? three : one, "out", got, sizeof got);
        assert_memory_equal(got, want, sizeof got);
        tn_snapshot_close(snapshot);
        tn_session_destroy(fresh);
        tn_session_destroy(session);
    }
    test_folder_remove(&folder);
    tn_graph_destroy(three);
    tn_graph_destroy(one);
    tn_runtime_destroy(runtime);
}

// A device takes set_rows of one row, not of three: the state goes to where both can run, although
// the first graph alone would have it on the cheaper one.
static void a_state_comes_to_where_every_graph_can_run(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_runtime(
        true, (const char *[]){ "plugin.partial.cost=0.0001", "plugin.partial.most_rows=1", NULL });
    tn_graph *one = make_cache(1), *three = make_cache(3);
    const char *const devices[] = { "partial0", "cpu0", NULL };
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ one, three }, 2, devices);
    const float rows[6] = { 1, 2, 3, 4, 5, 6 }, row[2] = { 7, 8 };
    const float want[12] = { 1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 7, 8 };
    const int32_t at[3] = { 0, 2, 4 }, fifth = 5;
    float got[12];
    rig_run(session, 1, three, "rows", rows, sizeof rows, "index", at, sizeof at, NULL);
    rig_run(session, 0, one, "rows", row, sizeof row, "index", &fifth, sizeof fifth, NULL);
    rig_read(session, 0, one, "out", got, sizeof got);
    assert_memory_equal(got, want, sizeof got);
    rig_read(session, 1, three, "out", got, sizeof got);
    assert_memory_equal(got, want, sizeof got);
    tn_session_destroy(session);
    session = rig_session(runtime, (const tn_graph *[]){ one }, 1, devices);
    assert_non_null(strstr(rig_explain(session), "segment 0 on partial0"));
    tn_session_destroy(session);
    tn_graph_destroy(one);
    tn_graph_destroy(three);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

// The bytes of a weight may go with the graph, and others may come to lie at their place.
static void weights_go_with_the_last_graph_that_uses_them(void **state)
{
    (void)state;
    for (int hidden = 0; hidden < 2; hidden++) {
        tn_runtime *runtime = rig_runtime(
            true, (const char *[]){ hidden ? "plugin.partial.hidden=1" : NULL, NULL });
        tn_graph *first = make_chain(64);
        tn_session *session = rig_session(runtime, (const tn_graph *[]){ first }, 1,
                                          (const char *[]){ "partial0", NULL });
        float bytes[16];
        for (int i = 1; i <= 3; i++) {
            for (int k = 0; k < 16; k++)
                bytes[k] = (float)(i * (k % 5 == 0));   // i times the unit matrix
            uint32_t numbers[2];
            tn_graph *graphs[2];
            for (int g = 0; g < 2; g++) {
                graphs[g] = rig_graph();
                tn_value w = tn_graph_weight(graphs[g], "w", TN_DTYPE_F32, 2, (int64_t[]){ 4, 4 },
                                             bytes, sizeof bytes);
                rig_finish(graphs[g],
                           tn_graph_matmul(graphs[g], rig_input(graphs[g], "x", 2, 4, 1, 0), w));
                numbers[g] = add(session, graphs[g]);
                tn_memory_report report = rig_memory(session);
                assert_int_equal(report.weight_mapped_bytes + report.weight_copied_bytes,
                                 sizeof bytes);
            }
            drop(session, numbers[i % 2]);   // the other still needs it
            int left = !(i % 2);
            float got[4];
            rig_run(session, numbers[left], graphs[left], "x", (float[]){ 1, 2, 3, 4 }, (size_t)16,
                    NULL);
            rig_read(session, numbers[left], graphs[left], "out", got, sizeof got);
            for (int k = 0; k < 4; k++)
                assert_true(got[k] == (float)(i * (k + 1)));
            drop(session, numbers[left]);
            tn_memory_report report = rig_memory(session);
            assert_int_equal(report.weight_mapped_bytes + report.weight_copied_bytes, 0);
            tn_graph_destroy(graphs[0]);
            tn_graph_destroy(graphs[1]);
        }
        tn_session_destroy(session);
        tn_graph_destroy(first);
        tn_runtime_destroy(runtime);
        assert_string_equal(rig_log(), "");
    }
}

// c = a + b, and d = concat(c, b), or concat(c, a): nothing else differs.
static tn_graph *make_concat(bool with_a)
{
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 1, 64, 0, 0);
    tn_value a = rig_op(graph, TNP_OP_NEG, x), b = rig_op(graph, TNP_OP_ABS, x);
    tn_value c = tn_graph_add(graph, a, b);
    rig_finish(graph, tn_graph_op(graph, TNP_OP_CONCAT, "d", (tn_value[]){ c, with_a ? a : b }, 2,
                                  &(tnp_axis_attr){ sizeof(tnp_axis_attr), 0 }));
    return graph;
}

static void need_concat(tn_session *session, uint32_t number, const tn_graph *graph, bool with_a)
{
    float x[64], got[128];
    rig_fill(x, 64, number);
    rig_run(session, number, graph, "x", x, sizeof x, NULL);
    rig_read(session, number, graph, "out", got, sizeof got);
    for (int i = 0; i < 64; i++) {
        float positive = x[i] < 0 ? -x[i] : x[i];
        assert_true(got[i] == -x[i] + positive);
        assert_true(got[64 + i] == (with_a ? -x[i] : positive));
    }
}

static void graphs_that_differ_in_one_operand_are_two_plans(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_runtime(false, NULL);
    const char *const devices[] = { "cpu0", NULL };
    tn_graph *with_b = make_concat(false), *with_a = make_concat(true);
    enum { BOTH, ONE_IS_ADDED, ONE_AFTER_THE_OTHER, WAYS };
    for (int way = 0; way < WAYS; way++) {
        tn_session *session = rig_session(runtime, (const tn_graph *[]){ with_b, with_a },
                                          way == BOTH ? 2 : 1, devices);
        uint32_t number = way == ONE_IS_ADDED ? add(session, with_a) : 1;
        for (int again = 0; again < 2; again++) {
            need_concat(session, 0, with_b, false);
            if (way != ONE_AFTER_THE_OTHER)
                need_concat(session, number, with_a, true);
        }
        tn_session_destroy(session);
        if (way != ONE_AFTER_THE_OTHER)
            continue;
        session = rig_session(runtime, (const tn_graph *[]){ with_a }, 1, devices);
        need_concat(session, 0, with_a, true);
        tn_session_destroy(session);
    }
    tn_graph_destroy(with_b);
    tn_graph_destroy(with_a);
    tn_runtime_destroy(runtime);
}

// What one submit carries is told when the queue is made.
static void a_graph_with_more_inputs_than_those_before_it_runs(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_runtime(true, NULL);
    tn_graph *first = make_chain(1024), *graph = rig_graph();
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ first }, 1,
                                      (const char *[]){ "partial0", NULL });
    tn_value sum = rig_input(graph, "0", 1, 1, 0, 0);
    tn_feed feeds[100] = { { sum, &(float){ 0 }, sizeof(float) } };
    static const float zeros[1024];
    float numbers[100], got;
    for (int i = 1; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        numbers[i] = (float)i;
        feeds[i] = (tn_feed){ rig_input(graph, name, 1, 1, 0, 0), &numbers[i], sizeof(float) };
        sum = tn_graph_add(graph, sum, feeds[i].input);
    }
    rig_finish(graph, sum);
    uint32_t number = add(session, graph);
    tn_error err = { 0 };
    if (tn_session_run(session, number, feeds, 100, &err) != TN_OK)
        fail_msg("%s", err.text);
    rig_read(session, number, graph, "out", &got, sizeof got);
    assert_true(got == 4950);
    rig_run(session, 0, first, "x", zeros, sizeof zeros, NULL);
    tn_session_destroy(session);
    tn_graph_destroy(first);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

// ------------------------------------------------------------------------------------------ chunks

enum { LARGEST = 4096 };   // bytes of a buffer

// Several values alive at a time, some on each of two devices, and outputs that stay.
static tn_graph *make_wide(int64_t floats)
{
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 1, floats, 0, 0), sum = x, parts[5];
    for (int i = 0; i < 5; i++)
        parts[i] = rig_op(graph, i % 2 ? TNP_OP_SIGMOID : TNP_OP_TANH,
                          tn_graph_scale(graph, x, (float)(i + 1)));
    for (int i = 0; i < 5; i++)
        sum = tn_graph_add(graph, sum, parts[i]);
    tn_graph_output(graph, "part", parts[1]);
    rig_finish(graph, sum);
    return graph;
}

// Lines that partial0 writes for each buffer, since the runtime was made.
static uint64_t buffers_told(void)
{
    uint64_t count = 0;
    for (const char *at = rig_log(), *end; (end = strchr(at, '\n')); at = end + 1) {
        const char *said = strstr(at, "a buffer is allocated");
        assert_true(said && said < end);   // and nothing else
        count++;
    }
    return count;
}

// Answers how many buffers the arena of the first device needs.
static uint64_t run_wide(tn_runtime *runtime, const char *const *devices, int64_t floats,
                         float *out, float *part)
{
    static float x[LARGEST];
    size_t bytes = (size_t)floats * sizeof *x;
    tn_graph *graph = make_wide(floats);
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, devices);
    tn_device_memory memory = { .size = sizeof memory };
    assert_int_equal(tn_session_device_memory(session, 0, &memory, NULL), TN_OK);
    rig_fill(x, (size_t)floats, 1);
    for (int again = 0; again < 2; again++) {
        rig_run(session, 0, graph, "x", x, bytes, NULL);
        rig_read(session, 0, graph, "out", out, bytes);
        rig_read(session, 0, graph, "part", part, bytes);
    }
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    return (memory.peak_bytes + LARGEST - 1) / LARGEST;
}

static void an_arena_is_as_many_buffers_as_it_needs(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 1, 500, 512, 513, 1008, 1023, 1024 };   // 1,024 fill a buffer
    static float want[2][LARGEST], got[2][LARGEST];
    for (int hidden = 0; hidden < 2; hidden++)
        for (int split = 0; split < 2; split++) {
            tn_runtime *runtime = rig_runtime(
                true,
                (const char *[]){ "plugin.partial.largest=4096", "plugin.partial.cost=0.0001",
                                  "plugin.partial.update_bytes=64", "plugin.partial.tell=1",
                                  split ? "plugin.partial.refuse=37" : "plugin.partial.refuse=",
                                  hidden ? "plugin.partial.hidden=1" : NULL, NULL });
            const char *const both[] = { "partial0", "cpu0", NULL };
            uint64_t told = 0, most = 0;
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
                size_t bytes = (size_t)sizes[i] * sizeof(float);
                run_wide(runtime, (const char *[]){ "cpu0", NULL }, sizes[i], want[0], want[1]);
                uint64_t buffers = run_wide(runtime, both, sizes[i], got[0], got[1]);
                told += buffers;
                most = buffers > most ? buffers : most;
                assert_int_equal(buffers_told(), told);
                assert_memory_equal(want[0], got[0], bytes);
                assert_memory_equal(want[1], got[1], bytes);
            }
            assert_in_range(most, 3, 8);
            tn_runtime_destroy(runtime);
            assert_int_equal(buffers_told(), told);
        }
}

static void what_is_larger_than_a_buffer_is_refused_by_name(void **state)
{
    (void)state;
    static float bytes[LARGEST];
    static const struct {
        const char *words;
        int64_t value, weight, state;   // floats
    } cases[] = {
        { "value 'x' needs 4100 bytes in one buffer, the largest possible has 4096", 1025, 1, 1 },
        { "weight 'w' needs 4100 bytes in one buffer, the largest possible has 4096", 1, 1025, 1 },
        { "state 's' needs 4100 bytes in one buffer, the largest possible has 4096", 1, 1, 1025 },
        { NULL, 1024, 1024, 1024 },
    };
    tn_runtime *runtime = rig_runtime(
        true, (const char *[]){ "plugin.partial.largest=4096", "plugin.partial.hidden=1", NULL });
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tn_graph *graph = rig_graph();
        tn_value w = tn_graph_weight(graph, "w", TN_DTYPE_F32, 1, &cases[i].weight, bytes,
                                     (uint64_t)cases[i].weight * sizeof *bytes);
        tn_value s = tn_graph_state(graph, "s", TN_DTYPE_F32, 1, &cases[i].state);
        tn_graph_output(graph, "v",
                        rig_op(graph, TNP_OP_NEG, rig_input(graph, "x", 1, cases[i].value, 0, 0)));
        rig_finish(graph, tn_graph_add(graph, tn_graph_slice(graph, w, 0, 0, 1),
                                       tn_graph_slice(graph, s, 0, 0, 1)));
        tn_device *devices[] = { rig_device(runtime, "partial0") };
        tn_session_options options = { .size = sizeof options,
                                       .device_count = 1,
                                       .devices = devices };
        tn_session *session = NULL;
        tn_error err = { 0 };
        tn_status status = tn_session_create(runtime, (const tn_graph *[]){ graph }, 1, &options,
                                             &session, &err);
        if (status != (cases[i].words ? TN_E_DEVICE_MEMORY : TN_OK))
            fail_msg("case %zu: %s %s", i, tn_status_name(status), err.text);
        if (cases[i].words &&
            (!strstr(err.text, cases[i].words) || !strstr(err.text, "partial0: ")))
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].words);
        tn_session_destroy(session);
        tn_graph_destroy(graph);
    }
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_runs_inside_what_was_reserved),
        cmocka_unit_test(a_graph_added_and_dropped_a_thousand_times_leaves_nothing),
        cmocka_unit_test(a_graph_beyond_what_is_reserved_is_refused_with_both_numbers),
        cmocka_unit_test(a_graph_is_known_by_its_number_and_its_values_alone),
        cmocka_unit_test(states_of_a_graph_that_is_added_are_those_that_are_there),
        cmocka_unit_test(a_state_comes_to_where_every_graph_can_run),
        cmocka_unit_test(a_snapshot_fits_whatever_was_added_or_dropped_since),
        cmocka_unit_test(weights_go_with_the_last_graph_that_uses_them),
        cmocka_unit_test(an_arena_is_as_many_buffers_as_it_needs),
        cmocka_unit_test(what_is_larger_than_a_buffer_is_refused_by_name),
        cmocka_unit_test(graphs_that_differ_in_one_operand_are_two_plans),
        cmocka_unit_test(a_graph_with_more_inputs_than_those_before_it_runs),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
