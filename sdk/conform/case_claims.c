// case_claims.c: what a device says to slices of several nodes, and what it makes of its words.
#include <math.h>
#include <stdlib.h>

#include "conform_internal.h"
#include "reference/reference.h"

static const tnp_norm_attr norm = { sizeof norm, 1e-5f };

static uint32_t vector(kit_slice *s, int64_t count, int64_t rows, uint32_t flags)
{
    return kit_slice_value(s, TNP_DTYPE_F32, 2, (int64_t[]){ count, rows }, NULL, 0, flags);
}

static uint32_t node(kit_slice *s, tnp_op op, const void *attr, uint32_t a, uint32_t b, uint32_t to)
{
    uint32_t inputs[2] = { a, b };
    return kit_slice_node(s, op, attr, inputs, b == TNP_NONE ? 1 : 2, to);
}

// x -> op -> a -> op -> b; x -> op -> c; b, c -> add. The way over c is beside that over a and b.
static void diamond(kit_slice *s, tnp_op op, int64_t count)
{
    kit_slice_init(s);
    uint32_t x = vector(s, count, 2, TNP_STORAGE_ENTERS), a = vector(s, count, 2, 0),
             b = vector(s, count, 2, 0), c = vector(s, count, 2, 0),
             y = vector(s, count, 2, TNP_STORAGE_LEAVES);
    node(s, op, NULL, x, TNP_NONE, a);
    node(s, op, NULL, x, TNP_NONE, c);
    node(s, op, NULL, a, TNP_NONE, b);
    node(s, TNP_OP_ADD, NULL, b, c, y);
}

// The feed-forward of a transformer: norm, two products, a gate, a product, a sum.
static void feed_forward(kit_slice *s)
{
    enum { K = 32, N = 48, M = 3 };
    kit_slice_init(s);
    const uint32_t constant = TNP_STORAGE_CONSTANT | TNP_STORAGE_ENTERS;
    uint32_t x = vector(s, K, M, TNP_STORAGE_ENTERS);
    uint32_t w = kit_slice_value(s, TNP_DTYPE_F32, 1, (int64_t[]){ K }, NULL, 0, constant);
    uint32_t gate_w = vector(s, K, N, constant), up_w = vector(s, K, N, constant),
             down_w = vector(s, N, K, constant);
    uint32_t normed = vector(s, K, M, 0), gate = vector(s, N, M, 0), up = vector(s, N, M, 0),
             both = vector(s, N, M, 0), down = vector(s, K, M, 0),
             y = vector(s, K, M, TNP_STORAGE_LEAVES);
    node(s, TNP_OP_RMS_NORM, &norm, x, w, normed);
    node(s, TNP_OP_MATMUL, NULL, normed, gate_w, gate);
    node(s, TNP_OP_MATMUL, NULL, normed, up_w, up);
    node(s, TNP_OP_SWIGLU, NULL, gate, up, both);
    node(s, TNP_OP_MATMUL, NULL, both, down_w, down);
    node(s, TNP_OP_ADD, NULL, down, x, y);
}

// A gate whose products have weights of F16 that begin at a word, and in the middle of one.
static void gate_of_weights_that_begin_elsewhere(kit_slice *s)
{
    enum { K = 32, N = 12 };
    kit_slice_init(s);
    const uint32_t constant = TNP_STORAGE_CONSTANT | TNP_STORAGE_ENTERS;
    uint32_t x = vector(s, K, 1, TNP_STORAGE_ENTERS), w[2];
    for (uint32_t i = 0; i < 2; i++)
        w[i] = kit_slice_value(s, TNP_DTYPE_F16, 2, (int64_t[]){ K, N }, NULL, 2 * i, constant);
    uint32_t gate = vector(s, N, 1, 0), up = vector(s, N, 1, 0),
             y = vector(s, N, 1, TNP_STORAGE_LEAVES);
    node(s, TNP_OP_MATMUL, NULL, x, w[0], gate);
    node(s, TNP_OP_MATMUL, NULL, x, w[1], up);
    node(s, TNP_OP_SWIGLU, NULL, gate, up, y);
}

// Claims that cover each node once: the largest first, or single nodes only. 0: none do.
static uint32_t cover(const kit_claims *claims, bool largest, const kit_taken **units)
{
    bool is_covered[KIT_NODES] = { false };
    const kit_taken *of[KIT_NODES] = { NULL };
    uint32_t nodes = claims->slice->slice.node_count, count = 0;
    for (uint32_t size = largest ? nodes : 1; size > 0; size--)
        for (uint32_t i = 0; i < claims->count; i++) {
            const kit_taken *t = &claims->taken[i];
            bool is_free = t->claim.node_count == size;
            for (uint32_t k = 0; k < t->claim.node_count; k++)
                is_free &= !is_covered[t->nodes[k]];
            for (uint32_t k = 0; k < t->claim.node_count && is_free; k++) {
                is_covered[t->nodes[k]] = true;
                of[t->nodes[k]] = t;
            }
        }
    // In an order that can be executed: a unit when all that its nodes need is made before.
    bool is_made[KIT_VALUES] = { false }, is_done[KIT_NODES] = { false };
    for (uint32_t v = 0; v < claims->slice->slice.value_count; v++) {
        is_made[v] = true;
        for (uint32_t n = 0; n < nodes; n++)
            is_made[v] &= claims->slice->outputs[n] != v;
    }
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t n = 0; n < nodes; n++) {
            bool is_ready = of[n] && !is_done[n];
            for (uint32_t k = 0; is_ready && k < of[n]->claim.node_count; k++) {
                const tnp_node *member = &claims->slice->nodes[of[n]->nodes[k]];
                for (uint32_t i = 0; i < member->input_count; i++) {
                    bool is_own = false;
                    for (uint32_t j = 0; j < of[n]->claim.node_count; j++)
                        is_own |= claims->slice->outputs[of[n]->nodes[j]] == member->inputs[i];
                    is_ready &= is_own || is_made[member->inputs[i]];
                }
            }
            for (uint32_t k = 0; is_ready && k < of[n]->claim.node_count; k++) {
                is_done[of[n]->nodes[k]] = true;
                is_made[claims->slice->outputs[of[n]->nodes[k]]] = true;
            }
            if (is_ready)
                units[count++] = of[n];
            is_new |= is_ready;
        }
    }
    for (uint32_t n = 0; n < nodes; n++)
        if (!is_done[n])
            return 0;
    return count;
}

static ref_tensor tensor(const kit_slice *s, uint32_t value, unsigned char *const *bytes)
{
    const tnp_value *v = &s->values[value];
    ref_tensor t = { .data = (char *)bytes[v->storage] + v->offset, .dtype = v->dtype };
    memcpy(t.dims, v->dims, sizeof t.dims);
    memcpy(t.strides, v->strides, sizeof t.strides);
    return t;
}

// Every node by the reference, over bytes of the host's own.
static void run_reference(const kit_slice *s, unsigned char *const *bytes)
{
    for (uint32_t n = 0; n < s->slice.node_count; n++) {
        ref_tensor in[KIT_OPERANDS] = { { 0 } }, out = tensor(s, s->outputs[n], bytes);
        for (uint32_t i = 0; i < s->nodes[n].input_count; i++)
            in[i] = tensor(s, s->inputs[n][i], bytes);
        (void)ref_run(s->nodes[n].op, s->nodes[n].attributes, in, &out);
    }
}

static void run_units(kit_rig *r, kit_slice *s, const kit_taken *const *units, uint32_t count,
                      unsigned char *const *bytes, const char *what)
{
    kit_program *p = kit_new(sizeof(kit_program));
    kit_program_place(r, p, s, units, count, 0, 0);
    kit_program_make(r, p, 0);
    for (int round = 0; round < 2; round++) {
        kit_program_fill(p, round ? 0x4b : 0xff);
        for (uint32_t i = 0; i < s->slice.storage_count; i++)
            if (s->storages[i].flags & TNP_STORAGE_ENTERS)
                memcpy(p->image + p->at[i], bytes[i], s->storages[i].bytes);
        KIT_OK_OF(kit_program_run(r, p, NULL, 0), &r->err, "the work");
        for (uint32_t i = 0; i < s->slice.storage_count; i++) {
            if (!(s->storages[i].flags & TNP_STORAGE_LEAVES))
                continue;
            for (uint64_t k = 0; k < s->storages[i].bytes / sizeof(float); k++) {
                float got, want;
                memcpy(&got, p->back + p->at[i] + k * sizeof got, sizeof got);
                memcpy(&want, bytes[i] + k * sizeof want, sizeof want);
                if (!(fabsf(got - want) <= 1e-4f * (1 + fabsf(want))))
                    kit_fail(kit_text("element %llu is %.8g, %s", (unsigned long long)k,
                                      (double)want, what),
                             "%.8g", (double)got);
            }
        }
    }
    kit_program_free(r, p);
}

// Numbers from 0.25 to 1, as halves or as floats.
static void fill(const tnp_value *v, unsigned char *bytes, uint64_t count)
{
    if (v->dtype == TNP_DTYPE_F16) {
        for (uint64_t k = 0; k < count / 2; k++) {
            uint16_t half = (uint16_t)kit_random(0x3400, 0x3c00);
            memcpy(bytes + k * sizeof half, &half, sizeof half);
        }
        return;
    }
    for (uint64_t k = 0; k < count / sizeof(float); k++) {
        float value = (float)kit_random(0.25, 1);
        memcpy(bytes + k * sizeof value, &value, sizeof value);
    }
}

static void run_both_ways(kit_rig *r, kit_slice *s)
{
    kit_claims *claims = kit_new(sizeof(kit_claims));
    unsigned char *bytes[KIT_VALUES];
    const kit_taken *units[KIT_NODES];
    for (uint32_t i = 0; i < s->slice.storage_count; i++) {
        bytes[i] = malloc(s->storages[i].bytes);
        if (!bytes[i])
            kit_fail("memory for the case", "it is not there");
        fill(&s->values[i], bytes[i], s->storages[i].bytes);   // a storage for each value
        if (s->storages[i].flags & TNP_STORAGE_CONSTANT)
            s->storages[i].data = bytes[i];
    }
    run_reference(s, bytes);
    kit_claim(r, s, claims);
    uint32_t single = cover(claims, false, units);
    if (single > 0)
        run_units(r, s, units, single, bytes, "node by node");
    uint32_t largest = cover(claims, true, units);
    if (largest > 0 && largest != single)
        run_units(r, s, units, largest, bytes, "in the largest units claimed");
    for (uint32_t i = 0; i < s->slice.storage_count; i++)
        free(bytes[i]);
    if (single == 0 && largest == 0)
        kit_skip("the device does not take all nodes of the slice");
}

static void a_chain_is_convex_and_runs(const kit_case *c)
{
    kit_slice *s = kit_new(sizeof(kit_slice));
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_chain(s, kit_chain_op(&r), 6, 65);
    run_both_ways(&r, s);
    kit_rig_close(&r);
}

static void a_diamond_is_convex_and_runs(const kit_case *c)
{
    kit_slice *s = kit_new(sizeof(kit_slice));
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    diamond(s, kit_chain_op(&r), 33);
    run_both_ways(&r, s);
    kit_rig_close(&r);
}

static void a_feed_forward_is_convex_and_runs(const kit_case *c)
{
    kit_slice *s = kit_new(sizeof(kit_slice));
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    feed_forward(s);
    run_both_ways(&r, s);
    kit_rig_close(&r);
}

static void a_gate_of_weights_that_begin_elsewhere_runs(const kit_case *c)
{
    kit_slice *s = kit_new(sizeof(kit_slice));
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    gate_of_weights_that_begin_elsewhere(s);
    run_both_ways(&r, s);
    kit_rig_close(&r);
}

// Slices at random: unary nodes and sums over any earlier values, some over one storage again.
static void random_slices_get_claims_that_keep_the_rules(const kit_case *c)
{
    kit_slice *s = kit_new(sizeof(kit_slice));
    kit_claims *claims = kit_new(sizeof(kit_claims));
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_op op = kit_chain_op(&r);
    for (int round = 0; round < 100; round++) {
        kit_slice_init(s);
        uint32_t last = vector(s, 17, 3, TNP_STORAGE_ENTERS), count = 3 + (uint32_t)(round % 10);
        for (uint32_t n = 0; n < count; n++) {
            uint32_t a = (uint32_t)kit_random(0, last + 1), b = (uint32_t)kit_random(0, last + 1);
            uint32_t to = vector(s, 17, 3, kit_random(0, 1) < 0.3 ? TNP_STORAGE_LEAVES : 0);
            bool is_sum = kit_random(0, 1) < 0.5;
            node(s, is_sum ? TNP_OP_ADD : op, NULL, a, is_sum ? b : TNP_NONE, to);
            last = to;
        }
        kit_claim(&r, s, claims);
    }
    kit_rig_close(&r);
}

static void another_instance_gives_the_same_answer(const kit_case *c)
{
    kit_slice *s = kit_new(sizeof(kit_slice));
    kit_claims *claims = kit_new((2) * sizeof(kit_claims));
    kit_rig r;
    (void)c;
    for (int i = 0; i < 2; i++) {
        kit_rig_open(&r);
        kit_chain(s, kit_chain_op(&r), 4, 1000);
        kit_claim(&r, s, &claims[i]);
        kit_rig_close(&r);
    }
    if (claims[0].count != claims[1].count)
        kit_fail("as many claims of an instance as of the next", "%u, then %u", claims[0].count,
                 claims[1].count);
    for (uint32_t i = 0; i < claims[0].count; i++) {
        const kit_taken *a = &claims[0].taken[i], *b = &claims[1].taken[i];
        if (memcmp(a->nodes, b->nodes, sizeof a->nodes) != 0 ||
            a->claim.cost_ns != b->claim.cost_ns || strcmp(a->name, b->name) != 0)
            kit_fail("the claims of an instance are those of the next",
                     "'%s' at %g ns, then '%s' at %g ns", a->name, a->claim.cost_ns, b->name,
                     b->claim.cost_ns);
    }
}

static void expect_refusal(kit_rig *r, const kit_slice *s, const char *what)
{
    kit_claims *claims = kit_new(sizeof(kit_claims));
    kit_claim(r, s, claims);
    for (uint32_t i = 0; i < claims->count; i++)
        for (uint32_t k = 0; k < claims->taken[i].claim.node_count; k++)
            if (claims->taken[i].nodes[k] == 0)
                kit_fail(kit_text("%s is refused", what), "it is claimed as '%s'",
                         claims->taken[i].name);
}

// Numbers of a later release, operands that an op did not have.
static void what_is_not_known_is_refused(const kit_case *c)
{
    kit_slice *s = kit_new(sizeof(kit_slice));
    static const uint32_t more[] = { 0, 0, 0, 0, 0, 0 };
    static const uint32_t left_out[] = { 0, TNP_NONE, TNP_NONE };
    kit_claims *claims = kit_new(sizeof(kit_claims));
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_op op = kit_chain_op(&r);
    kit_chain(s, 60000, 1, 64);
    expect_refusal(&r, s, "op 60000");
    kit_chain(s, 0x80000001u, 1, 64);
    expect_refusal(&r, s, "a private op");
    kit_chain(s, TNP_OP_RESHAPE, 1, 64);
    expect_refusal(&r, s, "an op that only makes a view");
    kit_chain(s, op, 1, 64);
    s->values[0].dtype = 200;
    expect_refusal(&r, s, "dtype 200");
    kit_chain(s, op, 1, 64);
    s->values[1].dtype = 0x80000001u;
    expect_refusal(&r, s, "a private dtype");
    kit_chain(s, op, 1, 64);
    s->nodes[0].inputs = more;
    s->nodes[0].input_count = 6;
    expect_refusal(&r, s, "an op with more inputs than it has");
    kit_chain(s, op, 1, 64);
    s->values[0].layout = 77;
    s->storages[0].flags |= TNP_STORAGE_CONSTANT;
    expect_refusal(&r, s, "a constant in a layout that the plugin has not made");
    kit_chain(s, op, 1, 64);
    s->nodes[0].inputs = left_out;
    s->nodes[0].input_count = 3;
    kit_claim(&r, s, claims);   // extra inputs that are left out say nothing
    if (!kit_claim_of(claims, 0))
        kit_fail("extra inputs that are left out change nothing", "refused: %s",
                 claims->reasons[0]);
    kit_rig_close(&r);
}

static void an_empty_slice_has_no_claims(const kit_case *c)
{
    kit_slice *s = kit_new(sizeof(kit_slice));
    kit_claims *claims = kit_new(sizeof(kit_claims));
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_slice_init(s);
    kit_claim(&r, s, claims);
    if (claims->count > 0)
        kit_fail("no claim of a slice without nodes", "%u", claims->count);
    kit_rig_close(&r);
}

static const kit_row rows[] = {
    { "a_chain_is_convex_and_runs", a_chain_is_convex_and_runs },
    { "a_diamond_is_convex_and_runs", a_diamond_is_convex_and_runs },
    { "a_feed_forward_is_convex_and_runs", a_feed_forward_is_convex_and_runs },
    { "a_gate_of_weights_that_begin_elsewhere_runs", a_gate_of_weights_that_begin_elsewhere_runs },
    { "random_slices_get_claims_that_keep_the_rules",
      random_slices_get_claims_that_keep_the_rules },
    { "another_instance_gives_the_same_answer", another_instance_gives_the_same_answer },
    { "what_is_not_known_is_refused", what_is_not_known_is_refused },
    { "an_empty_slice_has_no_claims", an_empty_slice_has_no_claims },
};

void kit_list_claims(kit_list *list)
{
    kit_list_rows(list, "claims", rows, sizeof rows / sizeof *rows);
}
