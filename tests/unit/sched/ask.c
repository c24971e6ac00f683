// Asking: what a plugin answers is checked. A claim that breaks a rule is dropped, with the rule as
// the reason, and the rest goes on.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "failing_alloc.h"
#include "sched_test.h"

// Nodes:  0 a = neg x   1 b = neg a   2 c = exp a   3 d = add b c   4 e = mul d w
static rig r;
static tn_value x, a, b, c, d, e, w;
static tni_answers answers;

static int begin(void **state)
{
    (void)state;
    static const float data[12];
    rig_begin(&r, 1);
    r.fakes[0].cost_ns = 0;
    x = rig_input(&r, "x");
    a = tn_graph_op(r.graph, TNP_OP_NEG, "first", &x, 1, NULL);
    b = rig_op(&r, TNP_OP_NEG, a);
    c = rig_op(&r, TNP_OP_EXP, a);
    d = tn_graph_add(r.graph, b, c);
    w = tn_graph_weight(r.graph, "w", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 }, data, sizeof data);
    e = tn_graph_mul(r.graph, d, w);
    rig_finish(&r, e);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tni_answers_finish(&answers);
    rig_end(&r);
    return 0;
}

static tn_status ask(void)
{
    tni_answers_finish(&answers);
    return tni_ask(r.graph, r.list, r.device_count, false, &r.arena, &answers, &r.err);
}

// ----------------------------------------------------------------------------------- single claims

typedef struct wide_claim {   // as a later plugin may send it
    tnp_claim known;
    uint64_t later[2];
} wide_claim;

typedef struct wide_pack {
    tnp_pack known;
    uint64_t later;
} wide_pack;

typedef struct claim_case {
    const char *says;
    const char *words;   // of the refusal; NULL = it is taken
    uint32_t node_count, nodes[5];
    double cost_ns;         // and, where it is not as it should be:
    uint32_t flags, size;   // size 0 = as it should be
    uint64_t later;
    uint32_t in_place_count, output, input;   // values of the slice
    int packs;                                // 1: one, below; 2: a NULL among them; 3: no list
    wide_pack pack;
    bool can_pack, has_no_nodes, has_no_pairs;
} claim_case;

static void answer(const fake_device *device, const tnp_slice *slice, const tnp_claim_sink *sink)
{
    const claim_case *k = device->argument;
    (void)slice;
    tnp_in_place pair = { k->output, k->input };
    wide_pack pack = k->pack;
    const tnp_pack *packs[] = { k->packs == 2 ? NULL : &pack.known };
    wide_claim claim = { .known = fake_claim_on(k->nodes, k->node_count, k->cost_ns) };
    claim.known.size = k->size ? k->size : (uint32_t)sizeof claim;
    claim.known.flags = k->flags;
    claim.known.tag = 77;
    claim.known.in_place_count = k->in_place_count;
    claim.known.in_place = k->has_no_pairs ? NULL : &pair;
    claim.known.pack_count = k->packs != 0;
    claim.known.packs = k->packs == 3 ? NULL : packs;
    claim.later[1] = k->later;
    if (k->has_no_nodes)
        claim.known.nodes = NULL;
    sink->take(sink->context, &claim.known);
    tnp_claim good = fake_claim_on((uint32_t[]){ 4 }, 1, 5);
    sink->take(sink->context, &good);   // the rest goes on
}

#define PACK(...)                                                                                  \
    {                                                                                              \
        .known = {                                                                                 \
            .size = sizeof(tnp_pack),                                                              \
            .layout = 1,                                                                           \
            .group_rows = 2,                                                                       \
            .group_bytes = 32,                                                                     \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static void a_claim_that_breaks_a_rule_is_dropped_with_the_rule_as_the_reason(void **state)
{
    (void)state;
    // Values of the slice, by first use: 0 x, 1 a, 2 b, 3 c, 4 d, 5 w, 6 e.
    static const claim_case cases[] = {
        { "one node", NULL, 1, { 0 }, 10, .flags = 0 },
        { "all nodes", NULL, 5, { 0, 1, 2, 3, 4 }, 10, .flags = 0 },
        { "neighbours", NULL, 2, { 1, 2 }, 10, .flags = 0 },
        { "a flag that may be ignored", NULL, 1, { 0 }, 10, .flags = 1 },
        { "a pair in place", NULL, 1, { 3 }, 10, .in_place_count = 1, .output = 4, .input = 2 },
        { "a pack", NULL, 1, { 4 }, 10, .packs = 1, .can_pack = true, .pack = PACK(.value = 5) },
        { "a pack that is baked in",
          NULL,
          1,
          { 4 },
          10,
          .packs = 1,
          .pack = { .known = { .size = sizeof(tnp_pack), .flags = TNP_PACK_BAKED, .value = 5 } } },
        { "the smallest cost", NULL, 1, { 0 }, 5e-324, .flags = 0 },

        { "a path that leaves and comes back", "not convex", 2, { 0, 3 }, 10, .flags = 0 },
        { "one over two nodes", "not convex", 2, { 0, 4 }, 10, .flags = 0 },
        { "all but the middle", "not convex", 4, { 0, 1, 2, 4 }, 10, .flags = 0 },
        { "a node twice", "not ascending", 2, { 1, 1 }, 10, .flags = 0 },
        { "nodes that go down", "not ascending", 2, { 2, 1 }, 10, .flags = 0 },
        { "a node that is not there", "not in the slice", 1, { 5 }, 10, .flags = 0 },
        { "one that is far away", "not in the slice", 2, { 0, UINT32_MAX }, 10, .flags = 0 },
        { "no nodes", "no nodes", 0, { 0 }, 10, .flags = 0 },
        { "no list of nodes", "1 node and no list of them", 1, { 0 }, 10, .has_no_nodes = true },
        { "more nodes than there are",
          "has 6 nodes, the slice has 5",
          6,
          { 0, 1, 2, 3, 4 },
          10,
          .flags = 0 },
        { "a count that is garbage",
          "has 4294967295 nodes, the slice has 5",
          UINT32_MAX,
          { 0 },
          10,
          .flags = 0 },
        { "a cost that is no number", "cost is not a positive number", 1, { 0 }, NAN, .flags = 0 },
        { "no cost", "cost is not a positive number", 1, { 0 }, 0, .flags = 0 },
        { "a cost below 0", "cost is not a positive number", 1, { 0 }, -1, .flags = 0 },
        { "an infinite cost", "cost is not a positive number", 1, { 0 }, INFINITY, .flags = 0 },
        { "a flag that must be known",
          "flags that this host does not know",
          1,
          { 0 },
          10,
          .flags = 1u << 16 },
        { "the highest flag",
          "flags that this host does not know",
          1,
          { 0 },
          10,
          .flags = 1u << 31 },
        { "a tail that says something",
          "fields that this host does not know",
          1,
          { 0 },
          10,
          .later = 1 },
        { "a size that holds no nodes", "no nodes", 1, { 0 }, 10, .size = 8 },
        { "a pair with a value that is not there",
          "names a value that is not in the slice",
          1,
          { 3 },
          10,
          .in_place_count = 1,
          .output = 4,
          .input = 99 },
        { "a pair with an output that is not there",
          "names a value that is not in the slice",
          1,
          { 3 },
          10,
          .in_place_count = 1,
          .output = TNP_NONE,
          .input = 2 },
        { "an output of another node",
          "an output that it does not make",
          1,
          { 3 },
          10,
          .in_place_count = 1,
          .output = 6,
          .input = 2 },
        { "an output that is an input",
          "an output that it does not make",
          1,
          { 0 },
          10,
          .in_place_count = 1,
          .output = 0,
          .input = 0 },
        { "too many pairs",
          "more in-place pairs than operands",
          1,
          { 0 },
          10,
          .in_place_count = 65 },
        { "no list of pairs",
          "more in-place pairs than operands",
          1,
          { 0 },
          10,
          .in_place_count = 1,
          .has_no_pairs = true },
        { "a pack of what is made",
          "no constant",
          1,
          { 4 },
          10,
          .packs = 1,
          .can_pack = true,
          .pack = PACK(.value = 4) },
        { "a pack of what is not there",
          "no constant",
          1,
          { 4 },
          10,
          .packs = 1,
          .can_pack = true,
          .pack = PACK(.value = 99) },
        { "a pack without a layout",
          "no layout",
          1,
          { 4 },
          10,
          .packs = 1,
          .can_pack = true,
          .pack = { .known = { .size = sizeof(tnp_pack),
                               .value = 5,
                               .group_rows = 2,
                               .group_bytes = 32 } } },
        { "a pack without group rows",
          "no group size",
          1,
          { 4 },
          10,
          .packs = 1,
          .can_pack = true,
          .pack = { .known = { .size = sizeof(tnp_pack),
                               .value = 5,
                               .layout = 1,
                               .group_bytes = 32 } } },
        { "a pack with a flag that must be known",
          "fields that this host does not know",
          1,
          { 4 },
          10,
          .packs = 1,
          .can_pack = true,
          .pack = PACK(.value = 5, .flags = 1u << 17) },
        { "a pack with a tail",
          "fields that this host does not know",
          1,
          { 4 },
          10,
          .packs = 1,
          .can_pack = true,
          .pack = { { .size = sizeof(wide_pack),
                      .value = 5,
                      .layout = 1,
                      .group_rows = 2,
                      .group_bytes = 32 },
                    1 } },
        { "a pack that is not there",
          "a pack in its list is NULL",
          1,
          { 4 },
          10,
          .packs = 2,
          .can_pack = true },
        { "no list of packs",
          "its list of them is NULL",
          1,
          { 4 },
          10,
          .packs = 3,
          .can_pack = true },
        { "a pack by a plugin that cannot",
          "the plugin cannot pack",
          1,
          { 4 },
          10,
          .packs = 1,
          .pack = PACK(.value = 5) },
        { "a pack larger than can be",
          "exceeds 2^64 bytes",
          1,
          { 4 },
          10,
          .packs = 1,
          .can_pack = true,
          .pack = { .known = { .size = sizeof(tnp_pack),
                               .value = 5,
                               .layout = 1,
                               .group_rows = 1,
                               .group_bytes = UINT64_MAX } } },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        const claim_case *k = &cases[i];
        r.fakes[0].answer = answer;
        r.fakes[0].argument = k;
        r.devices[0].table = k->can_pack ? &fake_plugin_with_pack : &fake_plugin;
        r.log[0] = 0;
        if (ask() != TN_OK)
            fail_msg("%s: %s", k->says, r.err.text);
        bool is_taken = answers.claim_count == 2;
        if (is_taken != (k->words == NULL))
            fail_msg("%s: it is %s", k->says, is_taken ? "taken" : answers.refusals[0].reason);
        assert_true(answers.claims[answers.claim_count - 1].cost_ns == 5);
        if (is_taken) {
            assert_int_equal(answers.refusal_count, 0);
            assert_int_equal(answers.claims[0].node_count, k->node_count);
            assert_memory_equal(answers.claims[0].nodes, k->nodes,
                                k->node_count * sizeof *k->nodes);
            assert_int_equal(answers.claims[0].tag, 77);
            assert_int_equal(answers.claims[0].place, 0);
            continue;
        }
        assert_int_equal(answers.refusal_count, 1);
        const char *reason = answers.refusals[0].reason;
        if (strncmp(reason, "its claim was dropped: ", 23) != 0 || !strstr(reason, k->words))
            fail_msg("%s: \"%s\" does not say \"%s\"", k->says, reason, k->words);
        if (!strstr(k->words, "exceeds") && !strstr(r.log, "fake0: a claim on '"))
            fail_msg("%s: the log says \"%s\"", k->says, r.log);
    }
}

static void what_is_kept_is_in_the_words_of_the_graph(void **state)
{
    (void)state;
    static const claim_case k = { .node_count = 2,
                                  .nodes = { 3, 4 },
                                  .cost_ns = 10,
                                  .in_place_count = 1,
                                  .output = 4,
                                  .input = 2,
                                  .packs = 1,
                                  .pack = PACK(.value = 5) };
    r.fakes[0].answer = answer;
    r.fakes[0].argument = &k;
    r.devices[0].table = &fake_plugin_with_pack;
    assert_int_equal(ask(), TN_OK);
    const tni_claim *claim = &answers.claims[0];
    assert_int_equal(claim->in_place[0].output, d.index);
    assert_int_equal(claim->in_place[0].input, b.index);
    assert_int_equal(claim->packs[0].value, w.index);
    assert_int_equal(claim->packs[0].bytes, 2 * 32);   // three rows in groups of two
    assert_string_equal(claim->name, "fake");
}

// ---------------------------------------------------------------------------------------- refusals

static void refuse_oddly(const fake_device *device, const tnp_slice *slice,
                         const tnp_claim_sink *sink)
{
    (void)device, (void)slice;
    sink->refuse(sink->context, 1, "too\nmany \x1b[31mlines");
    sink->refuse(sink->context, 2, NULL);
    sink->refuse(sink->context, 3, "");
    sink->refuse(sink->context, 5, "not a node");
    sink->refuse(sink->context, UINT32_MAX, "not a node either");
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    sink->refuse(sink->context, 4, text);
}

static void reasons_are_safe_to_show(void **state)
{
    (void)state;
    r.fakes[0].answer = refuse_oddly;
    assert_int_equal(ask(), TN_OK);
    assert_int_equal(answers.refusal_count, 4);
    assert_int_equal(answers.refusals[0].node, 1);
    assert_string_equal(answers.refusals[0].reason, "too\\x0amany \\x1b[31mlines");
    assert_string_equal(answers.refusals[1].reason, "no reason given");
    assert_string_equal(answers.refusals[2].reason, "no reason given");
    assert_true(strlen(answers.refusals[3].reason) < 300);
}

// ----------------------------------------------------------------------------------------- devices

static void every_device_is_asked_once_and_answers_under_its_place(void **state)
{
    (void)state;
    rig_end(&r);
    rig_begin(&r, 3);
    x = rig_input(&r, "x");
    rig_finish(&r, rig_op(&r, TNP_OP_NEG, x));
    r.fakes[1].cost_ns = 0;
    r.fakes[1].refused_ops[0] = TNP_OP_NEG;
    assert_int_equal(ask(), TN_OK);
    assert_int_equal(answers.claim_count, 2);
    assert_int_equal(answers.claims[0].place, 0);
    assert_int_equal(answers.claims[1].place, 2);
    assert_int_equal(answers.refusals[0].place, 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(r.fakes[i].open_count, 1);
        assert_int_equal(r.fakes[i].claim_count, 1);
    }
    assert_int_equal(ask(), TN_OK);
    assert_int_equal(r.fakes[2].open_count, 1);
}

static void a_device_that_cannot_answer_is_named(void **state)
{
    (void)state;
    r.fakes[0].claim_status = TNP_E_DEVICE_LOST;
    assert_int_equal(ask(), TN_E_DEVICE_LOST);
    assert_string_equal(r.err.text, "fake0: claim: told not to answer");
    r.devices[0].opened = NULL;
    r.fakes[0].open_status = TNP_E_IO;
    assert_int_equal(ask(), TN_E_INTERNAL);
    assert_string_equal(r.err.text, "fake0: open: told not to open");
}

// The others go on; who asked is told.
static void a_device_that_fails_beside_others_takes_nothing_and_is_told(void **state)
{
    (void)state;
    rig_end(&r);
    rig_begin(&r, 2);
    rig_finish(&r, rig_op(&r, TNP_OP_NEG, rig_input(&r, "x")));
    r.fakes[1].claim_status = TNP_E_IO;
    assert_int_equal(ask(), TN_OK);
    assert_int_equal(answers.claim_count, 1);
    assert_int_equal(answers.failed_places, 2);
    assert_int_equal(answers.failure.status, TN_E_INTERNAL);
    assert_string_equal(answers.failure.text, "fake1: claim: told not to answer");
    assert_string_equal(answers.refusals[0].reason, answers.failure.text);
}

static void a_graph_without_nodes_asks_nobody(void **state)
{
    (void)state;
    rig_end(&r);
    rig_begin(&r, 2);
    rig_finish(&r, rig_input(&r, "x"));
    assert_int_equal(ask(), TN_OK);
    assert_int_equal(answers.claim_count, 0);
    assert_int_equal(r.fakes[0].claim_count, 0);
}

static tn_status ask_with(const tn_allocator *allocator, void *context)
{
    (void)context;
    tni_arena arena;
    tni_arena_init(&arena, allocator);
    tni_answers got = { 0 };
    tn_error err = { 0 };
    tn_status status = tni_ask(r.graph, r.list, 1, false, &arena, &got, &err);
    assert_true(status == TN_OK || status == TN_E_HOST_MEMORY);
    if (status == TN_OK)
        assert_int_equal(got.claim_count, 8);
    tni_answers_finish(&got);
    tni_arena_finish(&arena);
    return status;
}

static void memory_that_is_not_there_is_a_status(void **state)
{
    (void)state;
    static const claim_case k = { .node_count = 2,
                                  .nodes = { 3, 4 },
                                  .cost_ns = 10,
                                  .in_place_count = 1,
                                  .output = 4,
                                  .input = 2 };
    r.fakes[0].cost_ns = 10;
    r.fakes[0].claims[0] = (fake_claim){ 2, { 1, 2 }, 10 };
    r.fakes[0].answer = answer;
    r.fakes[0].argument = &k;
    for_each_failing_allocation(ask_with, NULL);
}

// A convexity that a state makes: a write must come between two nodes that are not joined by
// values.
static void a_path_through_a_storage_counts(void **state)
{
    (void)state;
    rig_end(&r);
    rig_begin(&r, 1);
    tn_value index = tn_graph_input(r.graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 3 });
    tn_value table = tn_graph_state(r.graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    x = rig_input(&r, "x");
    tn_value before = rig_op(&r, TNP_OP_NEG, table);   // 0 reads
    tn_graph_set_rows(r.graph, table, x, index);       // 1 writes
    tn_value after = rig_op(&r, TNP_OP_NEG, table);    // 2 reads again
    tn_graph_output(r.graph, "before", before);
    rig_finish(&r, after);
    r.fakes[0].claims[0] = (fake_claim){ 2, { 0, 2 }, 10 };
    r.fakes[0].claims[1] = (fake_claim){ 2, { 0, 1 }, 10 };
    r.fakes[0].claims[2] = (fake_claim){ 3, { 0, 1, 2 }, 10 };
    r.fakes[0].cost_ns = 0;
    assert_int_equal(ask(), TN_OK);
    assert_int_equal(answers.claim_count, 2);
    assert_int_equal(answers.refusal_count, 1);
    assert_non_null(strstr(answers.refusals[0].reason, "not convex"));
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(a_claim_that_breaks_a_rule_is_dropped_with_the_rule_as_the_reason),
        CASE(what_is_kept_is_in_the_words_of_the_graph),
        CASE(reasons_are_safe_to_show),
        CASE(every_device_is_asked_once_and_answers_under_its_place),
        CASE(a_device_that_cannot_answer_is_named),
        CASE(a_device_that_fails_beside_others_takes_nothing_and_is_told),
        CASE(a_graph_without_nodes_asks_nobody),
        CASE(memory_that_is_not_there_is_a_status),
        CASE(a_path_through_a_storage_counts),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
