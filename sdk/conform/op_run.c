// op_run.c: one case of an op: a slice of one node, claimed, compiled, bound once, and run three
// times: as it is; with other rubbish wherever nothing was written; with other contents.
#include <stdlib.h>

#include "op_work.h"

static void run_round(kit_rig *r, kit_op_work *w, int round, unsigned char poison)
{
    static const char *const when[] = { "at the first run", "with other rubbish around",
                                        "run again with other contents" };
    tnp_update updates[8];
    int32_t lengths[8];
    uint32_t count = 0;
    ref_tensor in[KIT_OPERANDS];
    kit_op_set_contents(w, round, poison);
    for (int i = 0; i < KIT_OPERANDS; i++)
        in[i] = kit_op_tensor(w, &w->of[i], w->p.image);
    for (const char *l = w->c->limited; *l && w->c->by_update; l++, count++) {
        lengths[count] = (int32_t)w->count[(int)*l];
        updates[count] = (tnp_update){ .storage = w->s.values[w->length[(int)*l] - 1].storage,
                                       .bytes = sizeof *lengths,
                                       .data = &lengths[count] };
    }
    KIT_OK_OF(kit_program_run(r, &w->p, updates, count), &r->err, "the work");
    kit_op_compare(w, in, when[round]);
    kit_op_check_untouched(w);
}

// The pair that the case is about, among those that the claim permits.
static bool is_permitted(const kit_op_work *w, const kit_taken *claim)
{
    for (uint32_t i = 0; i < claim->claim.in_place_count; i++)
        if (claim->in_place[i].output == w->of[KIT_RESULT].value &&
            claim->in_place[i].input == w->of[w->c->in_place - 1].value)
            return true;
    return false;
}

// A whole number of any kind: near the borders of what can be, or anything.
static int32_t any_number(int64_t size)
{
    static const int32_t odd[] = { -1, INT32_MIN, INT32_MAX, 1 << 30, -256, 65536 };
    double which = kit_random(0, 4);
    if (which < 1)
        return odd[(int)kit_random(0, 6)];
    if (which < 2)
        return (int32_t)size + (int32_t)kit_random(-2, 3);
    return which < 3 ? (int32_t)kit_random(0, (double)size)
                     : (int32_t)(uint32_t)kit_random(0, 0x1p32);
}

// Some rounds whose indices and lengths are any bytes: the work may fail with TNP_E_DATA or give
// any result, but writes only elements of the result. Afterwards all is as it was.
static void run_wild(kit_rig *r, kit_op_work *w)
{
    for (int round = 0; round < 16; round++) {
        kit_op_set_contents(w, 0, round % 2 ? 0xff : 0x4b);
        kit_seed(kit_hash(w->c->sizes) + 31u * (uint64_t)round + 1);
        for (int i = 1; i < KIT_OPERANDS; i++) {
            ref_tensor t = kit_op_tensor(w, &w->of[i], w->p.image);
            int64_t at[TNP_MAX_DIMS] = { 0 };
            if (!w->of[i].is_there || t.dtype != TNP_DTYPE_I32 || ref_is_empty(&t))
                continue;
            do
                ref_set(&t, at,
                        any_number(w->size[(int)(w->of[i].index_of ? w->of[i].index_of : 'S')]));
            while (ref_next(t.dims, at));
        }
        for (const char *l = w->c->limited; *l; l++) {
            int32_t length = any_number(w->size[(int)*l]);
            memcpy(w->p.image + w->p.at[w->s.values[w->length[(int)*l] - 1].storage], &length,
                   sizeof length);
        }
        tnp_status status = kit_program_run(r, &w->p, NULL, 0);
        if (status != TNP_OK)
            kit_want(status, TNP_E_DATA, &r->err, "work whose indices or lengths are any numbers");
        kit_op_check_untouched(w);
    }
}

static void check_not_permitted(const kit_op_work *w, const kit_taken *claim)
{
    if (is_permitted(w, claim))
        kit_fail("no permission in place where another operand sees the bytes otherwise",
                 "it is given, and operand 1 is operand 0 a row further on");
}

static void run_claimed(kit_rig *r, kit_op_work *w, const kit_taken *claim)
{
    uint32_t from = w->c->in_place ? w->s.values[w->of[w->c->in_place - 1].value].storage + 1 : 0;
    uint32_t to = w->s.values[w->of[KIT_RESULT].value].storage;
    kit_program_place(r, &w->p, &w->s, &claim, 1, from, to);
    kit_program_make(r, &w->p, 0);
    unsigned char *before = malloc(w->p.bytes);
    if (!before)
        kit_fail("memory for the case", "it is not there");
    if (w->c->is_wild)
        run_wild(r, w);
    run_round(r, w, 0, 0xff);
    memcpy(before, w->p.back, w->p.bytes);
    run_round(r, w, 1, 0x4b);
    kit_op_check_same(w, before);
    run_round(r, w, 2, 0xff);
    free(before);
    kit_program_free(r, &w->p);
}

void kit_run_op(const kit_case *c)
{
    kit_op_work *work = kit_new(sizeof(kit_op_work));
    kit_rig r;
    kit_op_work *w = work;
    kit_op_read(w, c->op);
    kit_rig_open(&r);
    kit_op_build(w);
    memset(w->p.at, 0, sizeof w->p.at);
    kit_op_fill_constants(w);
    kit_claim(&r, &w->s, &w->claims);
    const kit_taken *claim = kit_claim_of(&w->claims, 0);
    if (!claim)
        kit_will_skip("refused: %s", w->claims.reasons[0]);
    else if (c->op->in_place && c->op->sharing == KIT_SHIFTED)
        check_not_permitted(w, claim);
    else if (c->op->in_place && !is_permitted(w, claim))
        kit_will_skip("the claim does not permit it");
    else
        run_claimed(&r, w, claim);
    for (int i = 0; i < KIT_OPERANDS; i++)
        free(w->of[i].constant);
    kit_rig_close(&r);
}
