// chain.c: small slices for cases whose subject is not the op: chains of one unary op of F32 that
// the device takes, whichever that is; a product whose weights it wants packed.
#include <stdlib.h>

#include "conform_internal.h"
#include "reference/reference.h"

// Each keeps numbers from 0.5 to 2 within reach, however often it is done, and changes them.
static const tnp_op ops[] = { TNP_OP_SILU, TNP_OP_SIGMOID, TNP_OP_TANH, TNP_OP_GELU,
                              TNP_OP_SQRT, TNP_OP_SIN,     TNP_OP_COS,  TNP_OP_NEG,
                              TNP_OP_RELU, TNP_OP_ABS,     TNP_OP_RSQRT };

void kit_chain(kit_slice *s, tnp_op op, uint32_t nodes, int64_t count)
{
    kit_slice_init(s);
    for (uint32_t i = 0; i <= nodes; i++)
        kit_slice_value(s, TNP_DTYPE_F32, 1, &count, NULL, 0,
                        i == 0       ? TNP_STORAGE_ENTERS
                        : i == nodes ? TNP_STORAGE_LEAVES
                                     : 0);
    for (uint32_t i = 0; i < nodes; i++)
        kit_slice_node(s, op, NULL, &i, 1, i + 1);
}

tnp_op kit_chain_op(kit_rig *r)
{
    kit_slice *s = kit_new(sizeof(kit_slice));
    kit_claims *claims = kit_new(sizeof(kit_claims));
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        kit_chain(s, ops[i], 1, 64);
        kit_claim(r, s, claims);
        if (kit_claim_of(claims, 0))
            return ops[i];
    }
    kit_skip("the device takes none of the ops of one F32 operand that this case could use");
}

float kit_chain_value(tnp_op op, float x)
{
    float y = 0;
    ref_tensor in[KIT_OPERANDS] = { { .data = (char *)&x, .dtype = TNP_DTYPE_F32 } }, out;
    for (int d = 0; d < TNP_MAX_DIMS; d++) {
        in[0].dims[d] = 1;
        in[0].strides[d] = sizeof(float);
    }
    out = in[0];
    out.data = (char *)&y;
    (void)ref_run(op, NULL, in, &out);
    return y;
}

kit_program *kit_small_program(kit_rig *r, int64_t count)
{
    kit_slice *s = kit_new(sizeof *s);
    kit_claims *claims = kit_new(sizeof *claims);
    kit_program *p = kit_new(sizeof *p);
    kit_chain(s, kit_chain_op(r), 1, count);
    kit_claim(r, s, claims);
    const kit_taken *claim = kit_claim_of(claims, 0);
    if (!claim)
        kit_skip("refused: %s", claims->reasons[0]);
    kit_program_place(r, p, s, &claim, 1, 0, 0);
    kit_program_make(r, p, 0);
    return p;
}

void kit_check_chain(tnp_op op, const float *x, const float *y, int64_t count, uint32_t nodes,
                     const char *what)
{
    for (int64_t i = 0; i < count; i++) {
        float want = x[i];
        for (uint32_t n = 0; n < nodes; n++)
            want = kit_chain_value(op, want);
        float error = y[i] - want;
        if (!(error <= 1e-5f && error >= -1e-5f))
            kit_fail(kit_text("%s: element %lld is %.8g", what, (long long)i, (double)want), "%.8g",
                     (double)y[i]);
    }
}

static const kit_taken *with_pack(const kit_claims *claims)
{
    for (uint32_t i = 0; i < claims->count; i++) {
        const kit_taken *t = &claims->taken[i];
        if (t->claim.pack_count > 0 && !(t->packs[0].flags & TNP_PACK_BAKED))
            return t;
    }
    return NULL;
}

void kit_pack_product(kit_rig *r, kit_packed *k)
{
    enum { K = KIT_PACKED_K, N = KIT_PACKED_N };
    memset(k, 0, sizeof *k);
    kit_slice_init(&k->s);
    for (int i = 0; i < K * N; i++)
        k->weights[i] = (float)kit_random(-1, 1);
    uint32_t in[2] = { kit_slice_value(&k->s, TNP_DTYPE_F32, 2, (int64_t[]){ K, 3 }, NULL, 0,
                                       TNP_STORAGE_ENTERS),
                       kit_slice_value(&k->s, TNP_DTYPE_F32, 2, (int64_t[]){ K, N }, NULL, 0,
                                       TNP_STORAGE_ENTERS | TNP_STORAGE_CONSTANT) };
    uint32_t out = kit_slice_value(&k->s, TNP_DTYPE_F32, 2, (int64_t[]){ N, 3 }, NULL, 0,
                                   TNP_STORAGE_LEAVES);
    k->s.storages[1].data = k->weights;
    kit_slice_node(&k->s, TNP_OP_MATMUL, NULL, in, 2, out);
    kit_claim(r, &k->s, &k->claims);
    const kit_taken *packed = with_pack(&k->claims);
    if (!packed)
        kit_skip("no claim asks for a pack");
    k->pack = &packed->packs[0];
    k->groups = (N + k->pack->group_rows - 1) / k->pack->group_rows;
    k->bytes = k->groups * k->pack->group_bytes;
    k->all = malloc(k->bytes + KIT_BEHIND);
    k->apart = malloc(k->bytes + KIT_BEHIND);
    if (!k->all || !k->apart)
        kit_fail("memory for the case", "it is not there");
    memset(k->all, 0x11, k->bytes + KIT_BEHIND);
    KIT_OK_OF(r->t->pack(r->device, &k->s.values[1], k->pack->layout, k->weights, 0, k->groups,
                         k->all, &r->err),
              &r->err, "pack");
}

void kit_packed_free(kit_packed *k)
{
    free(k->all);
    free(k->apart);
}
