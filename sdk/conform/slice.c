// slice.c: slices built by hand, what a plugin says to them, and whether that keeps the rules.
#include <math.h>
#include <stdio.h>

#include "conform_internal.h"

int64_t kit_block_elements(tnp_dtype dtype)
{
    switch (dtype) {
#define DTYPE(number, NAME, block_elements, block_bytes)                                           \
    case TNP_DTYPE_##NAME:                                                                         \
        return block_elements;
#include <tenon/dtypes.def>
    default:
        return 0;
    }
}

int64_t kit_block_bytes(tnp_dtype dtype)
{
    switch (dtype) {
#define DTYPE(number, NAME, block_elements, block_bytes)                                           \
    case TNP_DTYPE_##NAME:                                                                         \
        return block_bytes;
#include <tenon/dtypes.def>
    default:
        return 0;
    }
}

const char *kit_dtype_name(tnp_dtype dtype)
{
    switch (dtype) {
#define DTYPE(number, NAME, block_elements, block_bytes)                                           \
    case TNP_DTYPE_##NAME:                                                                         \
        return #NAME;
#include <tenon/dtypes.def>
    default:
        return "?";
    }
}

const char *kit_op_name(tnp_op op)
{
    switch (op) {
#define OP(number, NAME, name, ...)                                                                \
    case TNP_OP_##NAME:                                                                            \
        return #name;
#include <tenon/ops.def>
    default:
        return "?";
    }
}

void kit_slice_init(kit_slice *s)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < KIT_VALUES; i++) {
        s->storage_pointers[i] = &s->storages[i];
        s->value_pointers[i] = &s->values[i];
    }
    for (int i = 0; i < KIT_NODES; i++)
        s->node_pointers[i] = &s->nodes[i];
    s->slice = (tnp_slice){ .size = sizeof s->slice,
                            .values = s->value_pointers,
                            .nodes = s->node_pointers,
                            .storages = s->storage_pointers };
}

static uint64_t bytes_needed(const tnp_value *v)
{
    int64_t block = kit_block_elements(v->dtype);
    int64_t last = (v->dims[0] / block - 1) * v->strides[0];
    for (int i = 1; i < TNP_MAX_DIMS; i++)
        last += (v->dims[i] - 1) * v->strides[i];
    return v->offset + (uint64_t)(last + kit_block_bytes(v->dtype));
}

uint32_t kit_slice_value(kit_slice *s, tnp_dtype dtype, uint32_t rank, const int64_t *dims,
                         const int64_t *strides, uint64_t offset, uint32_t storage_flags)
{
    uint32_t index = s->slice.value_count++, storage = s->slice.storage_count++;
    tnp_value *v = &s->values[index];
    int64_t next = kit_block_bytes(dtype);
    *v = (tnp_value){ .size = sizeof *v,
                      .dtype = dtype,
                      .rank = rank,
                      .storage = storage,
                      .offset = offset,
                      .name = "v" };
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        v->dims[d] = d < rank ? dims[d] : 1;
        v->strides[d] = strides ? strides[d] : next;
        next *= d ? v->dims[d] : v->dims[0] / kit_block_elements(dtype);
    }
    s->storages[storage] = (tnp_storage){ .size = sizeof(tnp_storage),
                                          .flags = storage_flags,
                                          .bytes = bytes_needed(v) };
    return index;
}

uint32_t kit_slice_node(kit_slice *s, tnp_op op, const void *attr, const uint32_t *inputs,
                        uint32_t input_count, uint32_t output)
{
    uint32_t index = s->slice.node_count++;
    for (uint32_t i = 0; i < input_count; i++)
        s->inputs[index][i] = inputs[i];
    s->outputs[index] = output;
    s->nodes[index] = (tnp_node){ .size = sizeof(tnp_node),
                                  .op = op,
                                  .input_count = input_count,
                                  .output_count = 1,
                                  .inputs = s->inputs[index],
                                  .outputs = &s->outputs[index],
                                  .attributes = attr,
                                  .name = "n" };
    return index;
}

// ------------------------------------------------------------------------------------------ claims

static bool touches(const kit_slice *s, uint32_t node, uint32_t storage, bool only_writes)
{
    const tnp_node *n = &s->nodes[node];
    if (s->values[n->outputs[0]].storage == storage)
        return true;
    for (uint32_t i = 0; i < n->input_count && !only_writes; i++)
        if (n->inputs[i] != TNP_NONE && s->values[n->inputs[i]].storage == storage)
            return true;
    return false;
}

// What the header says of order: makers of inputs and extents, and earlier nodes that touch a
// storage it writes or write one that it touches.
static bool depends(const kit_slice *s, uint32_t later, uint32_t earlier)
{
    uint32_t written = s->values[s->outputs[earlier]].storage;
    const tnp_node *n = &s->nodes[later];
    if (touches(s, later, written, false) ||
        touches(s, earlier, s->values[n->outputs[0]].storage, false))
        return true;
    for (uint32_t i = 0; i <= n->input_count; i++) {
        uint32_t value = i < n->input_count ? n->inputs[i] : n->outputs[0];
        for (uint32_t d = 0; d < TNP_MAX_DIMS && value != TNP_NONE; d++) {
            uint32_t extent = s->values[value].extent[d];
            if (extent && s->values[extent - 1].storage == written)
                return true;
        }
    }
    return false;
}

bool kit_is_convex(const kit_slice *s, const uint32_t *nodes, uint32_t count, uint32_t *out_between)
{
    bool in_set[KIT_NODES] = { false }, left[KIT_NODES] = { false };
    for (uint32_t i = 0; i < count; i++)
        in_set[nodes[i]] = true;
    for (uint32_t i = 0; i < s->slice.node_count;
         i++)   // left: reached from the set by way of others
        for (uint32_t j = 0; j < i; j++) {
            if (!depends(s, i, j) || !(in_set[j] || left[j]))
                continue;
            if (in_set[i] && left[j]) {
                *out_between = j;
                return false;
            }
            left[i] |= !in_set[i];
        }
    return true;
}

static void check_pair(const kit_slice *s, const tnp_in_place *pair)
{
    if (pair->output >= s->slice.value_count || pair->input >= s->slice.value_count)
        kit_fail("a pair in place names values of the slice", "%u and %u", pair->output,
                 pair->input);
    const tnp_value *out = &s->values[pair->output], *in = &s->values[pair->input];
    bool is_alike = kit_block_bytes(in->dtype) == kit_block_bytes(out->dtype);
    for (int d = 0; d < TNP_MAX_DIMS; d++)   // the stride of a dim of 1 leads nowhere
        is_alike &= in->dims[d] == out->dims[d] &&
                    (in->dims[d] == 1 || in->strides[d] == out->strides[d]);
    if (!is_alike)
        kit_fail("a pair in place has the same dims, strides and element size",
                 "values %u and %u differ", pair->output, pair->input);
}

// Before anything of it is read.
static void check_list(const char *what, const void *list, uint32_t count, uint32_t most)
{
    if (count > most)
        kit_fail(kit_text("%u or fewer %s in a claim", most, what), "%u", count);
    if (count > 0 && !list)
        kit_fail(kit_text("a list of the %s of a claim", what), "NULL, and a count of %u", count);
}

static void check_claim(const kit_slice *s, const tnp_claim *c)
{
    uint32_t between;
    kit_check_text(c->name, 4096, "a claim's name");
    check_list("nodes", c->nodes, c->node_count, s->slice.node_count);
    check_list("pairs in place", c->in_place, c->in_place_count, KIT_PAIRS);
    check_list("packs", c->packs, c->pack_count, KIT_PACKS);
    if (c->node_count == 0)
        kit_fail("a claim has a node", "one has none");
    for (uint32_t i = 0; i < c->node_count; i++) {
        if (c->nodes[i] >= s->slice.node_count)
            kit_fail("a claim's nodes are those of the slice", "node %u of %u", c->nodes[i],
                     s->slice.node_count);
        if (i > 0 && c->nodes[i] <= c->nodes[i - 1])
            kit_fail("a claim's nodes are ascending, each there once", "node %u behind node %u",
                     c->nodes[i], c->nodes[i - 1]);
    }
    if (!isfinite(c->cost_ns) || c->cost_ns <= 0)
        kit_fail("a claim's cost is finite and above 0", "%g ns", c->cost_ns);
    if (!kit_is_convex(s, c->nodes, c->node_count, &between))
        kit_fail("a claim's nodes are convex", "a path leaves the set and comes back by node %u",
                 between);
    for (uint32_t i = 0; i < c->in_place_count; i++)
        check_pair(s, &c->in_place[i]);
    for (uint32_t i = 0; i < c->pack_count; i++) {
        const tnp_pack *p = c->packs[i];
        if (!p || p->size < sizeof p->size || p->size > KIT_STRUCT_BYTES)
            kit_fail("a pack of the size that its struct has", p ? "%u bytes" : "NULL",
                     p ? p->size : 0);
        if (p->value >= s->slice.value_count || p->layout == 0 || p->group_rows == 0 ||
            p->group_bytes == 0)
            kit_fail("a pack has a value, a layout, rows and bytes",
                     "value %u, layout %u, %llu rows, %llu bytes", p->value, p->layout,
                     (unsigned long long)p->group_rows, (unsigned long long)p->group_bytes);
        if (!(s->storages[s->values[p->value].storage].flags & TNP_STORAGE_CONSTANT))
            kit_fail("what is packed is a constant", "value %u is none", p->value);
    }
}

static void take(void *context, const tnp_claim *from)
{
    kit_claims *claims = context;
    tnp_claim c;
    if (!from || from->size < sizeof from->size || from->size > KIT_STRUCT_BYTES)
        kit_fail("a claim of the size that its struct has", from ? "%u bytes" : "NULL",
                 from ? from->size : 0);
    bool is_known = TNP_TAKE(&c, from) && !TNP_ALIEN(c.flags, 0);
    if (!is_known && kit.table->abi > TNP_ABI_CURRENT)
        return;   // a plugin of a later release: every host of this one drops it
    if (!is_known)
        kit_fail("a claim without fields and flags of a later release", "one that has them");
    check_claim(claims->slice, &c);
    if (claims->count == KIT_CLAIMS)
        return;
    kit_taken *t = &claims->taken[claims->count++];
    memset(t, 0, sizeof *t);
    t->claim = c;
    memcpy(t->nodes, c.nodes, c.node_count * sizeof *c.nodes);
    if (c.in_place_count > 0)
        memcpy(t->in_place, c.in_place, c.in_place_count * sizeof *c.in_place);
    for (uint32_t i = 0; i < c.pack_count; i++) {
        (void)TNP_TAKE(&t->packs[i], c.packs[i]);
        t->pack_pointers[i] = &t->packs[i];
    }
    snprintf(t->name, sizeof t->name, "%s", c.name);
    t->claim.nodes = t->nodes;
    t->claim.in_place = t->in_place;
    t->claim.packs = t->pack_pointers;
    t->claim.name = t->name;
}

static void refuse(void *context, uint32_t node, const char *reason)
{
    kit_claims *claims = context;
    if (node >= claims->slice->slice.node_count)
        kit_fail("what is refused is a node of the slice", "node %u of %u", node,
                 claims->slice->slice.node_count);
    kit_check_text(reason, 4096, "the reason of a refusal");
    if (!reason[0])
        kit_fail("a refusal has a reason in words", "an empty one");
    claims->is_refused[node] = true;
    snprintf(claims->reasons[node], sizeof claims->reasons[node], "%s", reason);
}

tnp_status kit_ask(kit_rig *r, const tnp_slice *s, kit_claims *out)
{
    tnp_claim_sink sink = { .size = sizeof sink, .context = out, .take = take, .refuse = refuse };
    return r->t->claim(r->device, s, &sink, &r->err);
}

static void check_same(const kit_taken *a, const kit_taken *b)
{
    tnp_claim x = a->claim, y = b->claim;
    x.nodes = y.nodes = NULL;
    x.in_place = y.in_place = NULL;
    x.packs = y.packs = NULL;
    x.name = y.name = NULL;
    bool is_same = !memcmp(&x, &y, sizeof x) && !memcmp(a->nodes, b->nodes, sizeof a->nodes) &&
                   !memcmp(a->in_place, b->in_place, sizeof a->in_place) &&
                   !memcmp(a->packs, b->packs, sizeof a->packs) && !strcmp(a->name, b->name);
    if (!is_same)
        kit_fail("the same slice gets the same answer",
                 "claim '%s' of node %u at %g ns, then '%s' of node %u at %g ns", a->name,
                 a->nodes[0], a->claim.cost_ns, b->name, b->nodes[0], b->claim.cost_ns);
}

void kit_claim(kit_rig *r, const kit_slice *s, kit_claims *out)
{
    kit_claims *again = kit_new(sizeof(kit_claims));
    for (int time = 0; time < 2; time++) {
        kit_claims *c = time ? again : out;
        c->count = 0;
        c->slice = s;
        memset(c->is_refused, 0, sizeof c->is_refused);
        KIT_OK_OF(kit_ask(r, &s->slice, c), &r->err, "claim");
    }
    if (again->count != out->count)
        kit_fail("the same slice gets the same answer", "%u claims, then %u", out->count,
                 again->count);
    for (uint32_t i = 0; i < out->count; i++)
        check_same(&out->taken[i], &again->taken[i]);
    for (uint32_t n = 0; n < s->slice.node_count; n++) {
        bool is_taken = false;
        for (uint32_t i = 0; i < out->count; i++)
            for (uint32_t j = 0; j < out->taken[i].claim.node_count; j++)
                is_taken |= out->taken[i].nodes[j] == n;
        if (!is_taken && !out->is_refused[n])
            kit_fail("each node is claimed, or refused with a reason", "node %u is neither", n);
    }
}

const kit_taken *kit_claim_of(const kit_claims *claims, uint32_t node)
{
    for (uint32_t i = 0; i < claims->count; i++)
        if (claims->taken[i].claim.node_count == 1 && claims->taken[i].nodes[0] == node)
            return &claims->taken[i];
    return NULL;
}
