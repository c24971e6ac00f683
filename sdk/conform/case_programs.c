// case_programs.c: programs bound, replayed, overlapping; nothing kept of what was lent.
#include <math.h>
#include <stdlib.h>

#include "conform_internal.h"

enum { COUNT = 65 };

static void fill_floats(float *x, int count)
{
    for (int i = 0; i < count; i++)
        x[i] = (float)kit_random(0.5, 2);
}

static void run_and_check(kit_rig *r, kit_program *p, tnp_op op, uint32_t nodes)
{
    float x[COUNT], y[COUNT];
    uint32_t last = p->slice->slice.storage_count - 1;
    fill_floats(x, COUNT);
    memcpy(p->image + p->at[0], x, sizeof x);
    KIT_OK_OF(kit_program_run(r, p, NULL, 0), &r->err, "the work");
    memcpy(y, p->back + p->at[last], sizeof y);
    kit_check_chain(op, x, y, COUNT, nodes, "a chain");
}

static void a_program_is_replayed_with_other_contents(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_program *p = kit_small_program(&r, COUNT);
    for (int i = 0; i < 50; i++)
        run_and_check(&r, p, p->slice->nodes[0].op, 1);
    kit_program_free(&r, p);
    kit_rig_close(&r);
}

static void a_program_is_bound_again_elsewhere(const kit_case *c)
{
    tnp_bound *bounds[2];
    uint64_t at[2][2];
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_program *p = kit_small_program(&r, COUNT);
    bounds[0] = p->bound;
    memcpy(at[0], p->at, sizeof at[0]);
    p->at[0] = at[0][1];   // the places change
    p->at[1] = at[0][0];
    memcpy(at[1], p->at, sizeof at[1]);
    KIT_OK_OF(kit_program_bind(&r, p, p->program, 0, &bounds[1]), &r.err, "bind, again");
    for (int i = 0; i < 6; i++) {
        p->bound = bounds[i % 2];
        memcpy(p->at, at[i % 2], sizeof at[0]);
        run_and_check(&r, p, p->slice->nodes[0].op, 1);
    }
    r.t->unbind(bounds[1]);
    p->bound = bounds[0];
    memcpy(p->at, at[0], sizeof at[0]);
    run_and_check(&r, p, p->slice->nodes[0].op, 1);
    kit_program_free(&r, p);
    kit_rig_close(&r);
}

// All of a slice is lent for the call.
static void nothing_of_the_slice_is_kept(const kit_case *c)
{
    kit_slice *s = kit_new(sizeof(kit_slice));
    kit_slice *lent = kit_new(sizeof(kit_slice));
    kit_claims *claims = kit_new(sizeof(kit_claims));
    kit_program *p = kit_new(sizeof(kit_program));
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_op op = kit_chain_op(&r);
    kit_chain(lent, op, 1, COUNT);
    kit_claim(&r, lent, claims);
    const kit_taken *claim = kit_claim_of(claims, 0);
    kit_program_place(&r, p, lent, &claim, 1, 0, 0);
    KIT_OK_OF(kit_program_compile(&r, p, &p->program), &r.err, "compile");
    kit_chain(s, op, 1, COUNT);
    p->slice = s;
    memset(lent, 0xa5, sizeof *lent);
    KIT_OK_OF(kit_program_bind(&r, p, p->program, 0, &p->bound), &r.err, "bind");
    memset(claims, 0xa5, sizeof *claims);
    p->unit_count = 0;
    run_and_check(&r, p, op, 1);
    kit_program_free(&r, p);
    kit_rig_close(&r);
}

// Of the keys the first alone has values that are numbers, and query 0 sees no other.
static void attend(kit_rig *r, uint32_t queries)
{
    enum { D = 32, S = 16 };
    static const tnp_attention_attr causal = { .size = sizeof causal,
                                               .flags = TNP_ATTENTION_CAUSAL,
                                               .scale = 1 };
    kit_slice *s = kit_new(sizeof(kit_slice));
    kit_claims *claims = kit_new(sizeof(kit_claims));
    kit_program *p = kit_new(sizeof(kit_program));
    const int64_t q[3] = { D, 1, queries }, k[3] = { D, 1, S };
    uint32_t in[4];
    kit_slice_init(s);
    for (uint32_t i = 0; i < 3; i++)
        in[i] = kit_slice_value(s, TNP_DTYPE_F32, 3, i ? k : q, NULL, 0, TNP_STORAGE_ENTERS);
    in[3] = kit_slice_value(s, TNP_DTYPE_I32, 1, q + 2, NULL, 0, TNP_STORAGE_ENTERS);
    uint32_t out = kit_slice_value(s, TNP_DTYPE_F32, 3, q, NULL, 0, TNP_STORAGE_LEAVES);
    kit_slice_node(s, TNP_OP_ATTENTION, &causal, in, 4, out);
    kit_claim(r, s, claims);
    const kit_taken *unit = kit_claim_of(claims, 0);
    if (!unit)
        kit_skip("refused: %s", claims->reasons[0]);
    kit_program_place(r, p, s, &unit, 1, 0, 0);
    kit_program_make(r, p, 0);
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t j = 0; j < D * (i ? S : queries); j++) {
            float x = i == 2 && j >= D ? NAN : 0.5f;
            memcpy(p->image + p->at[in[i]] + j * sizeof x, &x, sizeof x);
        }
    for (int32_t t = 0; t < (int32_t)queries; t++)
        memcpy(p->image + p->at[in[3]] + (uint32_t)t * sizeof t, &t, sizeof t);
    KIT_OK_OF(kit_program_run(r, p, NULL, 0), &r->err, "the work");
    for (uint32_t e = 0; e < D; e++) {
        float y;
        memcpy(&y, p->back + p->at[out] + e * sizeof y, sizeof y);
        if (y != 0.5f)
            kit_fail(kit_text("0.5 of the first of %u queries", queries), "%g", (double)y);
    }
    kit_program_free(r, p);
}

static void attention_is_not_changed_by_keys_that_a_query_does_not_see(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    attend(&r, 2);
    attend(&r, 12);
    kit_rig_close(&r);
}

// x0 -> x1 -> x2 -> x3 -> x4, where x2 has the bytes of x0 and x4 those of x2: units run as if in
// order, and the host reuses bytes by that.
static void units_over_the_same_bytes_run_in_order(const kit_case *c)
{
    kit_slice *s = kit_new(sizeof(kit_slice));
    kit_claims *claims = kit_new(sizeof(kit_claims));
    kit_program *p = kit_new(sizeof(kit_program));
    const kit_taken *units[4];
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_op op = kit_chain_op(&r);
    kit_chain(s, op, 4, COUNT);
    for (int i = 1; i < 4; i++)   // not inside a unit, so that each has a binding
        s->storages[i].flags |= TNP_STORAGE_LEAVES;
    kit_claim(&r, s, claims);
    for (uint32_t i = 0; i < 4; i++) {
        units[i] = kit_claim_of(claims, i);
        if (!units[i])
            kit_skip("refused: %s", claims->reasons[i]);
    }
    kit_program_place(&r, p, s, units, 4, 0, 0);
    p->at[2] = p->at[4] = p->at[0];
    p->at[3] = p->at[1];
    kit_program_make(&r, p, 0);
    for (int i = 0; i < 50; i++)
        run_and_check(&r, p, op, 4);
    kit_program_free(&r, p);
    kit_rig_close(&r);
}

// x -> y and y -> x in turn, a thousand times, against the same one by one.
static void a_thousand_submits_without_a_wait_give_the_serial_result(const kit_case *c)
{
    enum { SUBMITS = 1000 };
    tnp_bound *bounds[2];
    float x[COUNT], got[2][COUNT];
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_queue_options how = kit_queue_options(TNP_QUEUE_COMPUTE);
    how.pending = SUBMITS;
    tnp_queue *queue = NULL;
    KIT_OK_OF(r.t->queue_create(r.device, &how, &queue, &r.err), &r.err, "queue_create");
    kit_program *p = kit_small_program(&r, COUNT);
    bounds[0] = p->bound;
    uint64_t at = p->at[0];
    p->at[0] = p->at[1];
    p->at[1] = at;
    KIT_OK_OF(kit_program_bind(&r, p, p->program, 0, &bounds[1]), &r.err, "bind, again");
    fill_floats(x, COUNT);
    uint64_t value = 0;
    tnp_semaphore *done = kit_semaphore(&r, 0);
    for (int way = 0; way < 2; way++) {
        kit_upload(&r, p->buffer, at, x, sizeof x);
        for (int i = 0; i < SUBMITS; i++) {
            KIT_OK_OF(kit_submit(&r, queue, bounds[i % 2], NULL, 0, done, ++value), &r.err,
                      "queue_submit");
            if (way == 0)
                kit_wait_ok(&r, done, value, "a submit");
        }
        kit_wait_ok(&r, done, value, "the last of a thousand submits");
        kit_download(&r, p->buffer, at, got[way], sizeof x);
    }
    if (memcmp(got[0], got[1], sizeof x) != 0)
        kit_fail("a thousand submits without a wait give the bits of one after another",
                 "%.8g, one by one %.8g", (double)got[1][0], (double)got[0][0]);
    r.t->semaphore_destroy(done);
    r.t->unbind(bounds[1]);
    p->bound = bounds[0];
    r.t->queue_destroy(queue);
    kit_program_free(&r, p);
    kit_rig_close(&r);
}

// Data of an update is copied during the call, and is there for the work of its own submit only.
static void updates_come_with_their_submit(const kit_case *c)
{
    enum { SMALL = 16, WORKS = KIT_PENDING / 2 };
    float x[WORKS][SMALL], y[WORKS][SMALL], lent[SMALL];
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_program *p = kit_small_program(&r, SMALL);
    uint64_t first = r.signal;
    for (int i = 0; i < WORKS; i++) {
        fill_floats(x[i], SMALL);
        memcpy(lent, x[i], sizeof lent);
        tnp_update updates[2] = {
            { .storage = 0, .bytes = 8 * sizeof(float), .data = lent },
            { .storage = 0,
              .bytes = 8 * sizeof(float),
              .offset = 8 * sizeof(float),
              .data = lent + 8 },
        };
        tnp_point wait = { r.gate, 1 }, signal = { r.done, ++r.signal };
        tnp_sync sync = { .size = sizeof sync,
                          .wait_count = 1,
                          .signal_count = 1,
                          .waits = &wait,
                          .signals = &signal };
        tnp_submit work = { .size = sizeof work,
                            .update_count = 2,
                            .updates = updates,
                            .sync = &sync,
                            .bound = p->bound };
        const tnp_submit *works[] = { &work };
        KIT_OK_OF(r.t->queue_submit(r.queue, works, 1, &r.err), &r.err, "queue_submit");
        memset(lent, 0xff, sizeof lent);
        tnp_copy out = { .size = sizeof out,
                         .from_buffer = p->buffer,
                         .from_offset = p->at[1],
                         .to_host = y[i],
                         .bytes = sizeof y[i],
                         .rows = 1 };
        KIT_OK_OF(kit_copy(&r, r.queue, &out, NULL, 0, r.done, ++r.signal), &r.err, "queue_copy");
    }
    kit_want(r.t->semaphore_wait(r.done, first + 1, 0, &r.err), TNP_E_TIMEOUT, &r.err,
             "a wait for work that waits");
    KIT_OK_OF(r.t->semaphore_signal(r.gate, 1, &r.err), &r.err, "semaphore_signal");
    kit_wait_ok(&r, r.done, r.signal, "the last of several submits");
    for (int i = 0; i < WORKS; i++)
        kit_check_chain(p->slice->nodes[0].op, x[i], y[i], SMALL, 1,
                        "each submit has its own updates");
    kit_program_free(&r, p);
    kit_rig_close(&r);
}

static void an_inline_submit_gives_the_same(const kit_case *c)
{
    float x[COUNT], y[COUNT];
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_program *p = kit_small_program(&r, COUNT);
    for (int i = 0; i < 20; i++) {
        fill_floats(x, COUNT);
        kit_upload(&r, p->buffer, p->at[0], x, sizeof x);
        tnp_point signal = { r.done, ++r.signal };
        tnp_sync sync = { .size = sizeof sync, .signal_count = 1, .signals = &signal };
        tnp_submit work = {
            .size = sizeof work, .flags = TNP_SUBMIT_INLINE, .sync = &sync, .bound = p->bound
        };
        const tnp_submit *works[] = { &work };
        kit_begin_run_call("queue_submit inline");
        KIT_OK_OF(r.t->queue_submit(r.queue, works, 1, &r.err), &r.err, "queue_submit");
        kit_end_run_call();
        kit_wait_ok(&r, r.done, r.signal, "a submit inline");
        kit_download(&r, p->buffer, p->at[1], y, sizeof y);
        kit_check_chain(p->slice->nodes[0].op, x, y, COUNT, 1, "a submit inline");
    }
    kit_program_free(&r, p);
    kit_rig_close(&r);
}

// A span for each unit of each run, and for no other: what was claimed has run.
static void spans_tell_that_each_unit_ran(const kit_case *c)
{
    enum { RUNS = 5, UNITS = 3 };
    kit_slice *s = kit_new(sizeof(kit_slice));
    kit_claims *claims = kit_new(sizeof(kit_claims));
    kit_program *p = kit_new(sizeof(kit_program));
    const kit_taken *units[UNITS];
    uint32_t seen[RUNS][UNITS] = { { 0 } };
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_chain(s, kit_chain_op(&r), UNITS, COUNT);
    for (int i = 1; i < UNITS; i++)
        s->storages[i].flags |= TNP_STORAGE_LEAVES;
    kit_claim(&r, s, claims);
    for (uint32_t i = 0; i < UNITS; i++)
        if (!(units[i] = kit_claim_of(claims, i)))
            kit_skip("refused: %s", claims->reasons[i]);
    kit_program_place(&r, p, s, units, UNITS, 0, 0);
    kit_program_make(&r, p, TNP_BIND_TRACE);
    kit_upload(&r, p->buffer, 0, p->image, p->bytes);
    uint64_t begin = kit_now_ns(), first = r.signal + 1;
    for (int i = 0; i < RUNS; i++)
        KIT_OK_OF(kit_submit(&r, r.queue, p->bound, NULL, 0, r.done, ++r.signal), &r.err,
                  "queue_submit");
    kit_wait_ok(&r, r.done, r.signal, "the last of several submits");
    uint32_t count = atomic_load(&r.host->spans);
    for (uint32_t i = 0; i < count && i < KIT_SPANS; i++) {
        const tnp_span *span = &r.host->span[i].span;
        if (span->unit == TNP_NONE)
            continue;   // of a whole submission
        if (span->unit >= UNITS || span->run < first || span->run >= first + RUNS)
            kit_fail("spans of the units and runs that were submitted", "unit %u of run %llu",
                     span->unit, (unsigned long long)span->run);
        if (r.host->span[i].queue != r.queue)
            kit_fail("a span names its queue", "another pointer");
        if (span->end_ns < span->begin_ns || span->begin_ns + 3600000000000u < begin ||
            span->end_ns > kit_now_ns() + 3600000000000u)
            kit_fail("a span's times are on the clock of now_ns", "%llu to %llu, now %llu",
                     (unsigned long long)span->begin_ns, (unsigned long long)span->end_ns,
                     (unsigned long long)kit_now_ns());
        seen[span->run - first][span->unit]++;
    }
    for (int i = 0; i < RUNS; i++)
        for (int u = 0; u < UNITS; u++)
            if (seen[i][u] != 1)
                kit_fail("a span for each unit of each run, when they are asked for",
                         "%u of unit %d in run %d", seen[i][u], u, i);
    kit_program_free(&r, p);
    kit_rig_close(&r);
}

static void what_was_not_asked_for_has_no_span(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_program *p = kit_small_program(&r, COUNT);
    run_and_check(&r, p, p->slice->nodes[0].op, 1);
    if (atomic_load(&r.host->spans) > 0)
        kit_fail("no span of a bound that was made without TNP_BIND_TRACE", "%u",
                 atomic_load(&r.host->spans));
    kit_program_free(&r, p);
    kit_rig_close(&r);
}

// A result that neither leaves nor is read gets no bytes; the unit need not compute it.
static void a_result_that_nobody_needs_has_no_binding(const kit_case *c)
{
    kit_slice *s = kit_new(sizeof(kit_slice));
    kit_claims *claims = kit_new(sizeof(kit_claims));
    kit_program *p = kit_new(sizeof(kit_program));
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_chain(s, kit_chain_op(&r), 1, COUNT);
    s->storages[1].flags = 0;
    kit_claim(&r, s, claims);
    const kit_taken *claim = kit_claim_of(claims, 0);
    if (!claim)
        kit_skip("refused: %s", claims->reasons[0]);
    kit_program_place(&r, p, s, &claim, 1, 0, 0);
    kit_program_make(&r, p, 0);
    KIT_OK_OF(kit_program_run(&r, p, NULL, 0), &r.err, "the work");
    kit_program_free(&r, p);
    kit_rig_close(&r);
}

static void many_programs_live_side_by_side(const kit_case *c)
{
    enum { MANY = 20 };
    kit_program *p[MANY];
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    for (int i = 0; i < MANY; i++)
        p[i] = kit_small_program(&r, COUNT);
    for (int i = MANY - 1; i >= 0; i--)
        run_and_check(&r, p[i], p[i]->slice->nodes[0].op, 1);
    for (int i = 0; i < MANY; i += 2)
        kit_program_free(&r, p[i]);
    for (int i = 1; i < MANY; i += 2) {
        run_and_check(&r, p[i], p[i]->slice->nodes[0].op, 1);
        kit_program_free(&r, p[i]);
    }
    kit_rig_close(&r);
}

// Groups in any order, each alone, against all at once.
static void packs_come_in_any_order(const kit_case *c)
{
    kit_packed *k = kit_new(sizeof(kit_packed));
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_pack_product(&r, k);
    memset(k->apart, 0x11, k->bytes + KIT_BEHIND);
    for (uint64_t g = k->groups; g-- > 0;) {
        unsigned char *to = k->apart + g * k->pack->group_bytes, behind[KIT_BEHIND];
        memcpy(behind, to + k->pack->group_bytes, sizeof behind);
        KIT_OK_OF(
            r.t->pack(r.device, &k->s.values[1], k->pack->layout, k->weights, g, g + 1, to, &r.err),
            &r.err, "pack");
        if (memcmp(behind, to + k->pack->group_bytes, sizeof behind) != 0)
            kit_fail("pack writes the groups asked for and nothing else",
                     "it writes behind group %llu", (unsigned long long)g);
    }
    if (memcmp(k->all, k->apart, k->bytes) != 0)
        kit_fail("groups one by one are the bytes of all at once", "other bytes");
    kit_packed_free(k);
    kit_rig_close(&r);
}

static const kit_row rows[] = {
    { "a_program_is_replayed_with_other_contents", a_program_is_replayed_with_other_contents },
    { "a_program_is_bound_again_elsewhere", a_program_is_bound_again_elsewhere },
    { "nothing_of_the_slice_is_kept", nothing_of_the_slice_is_kept },
    { "attention_is_not_changed_by_keys_that_a_query_does_not_see",
      attention_is_not_changed_by_keys_that_a_query_does_not_see },
    { "units_over_the_same_bytes_run_in_order", units_over_the_same_bytes_run_in_order },
    { "a_thousand_submits_without_a_wait_give_the_serial_result",
      a_thousand_submits_without_a_wait_give_the_serial_result },
    { "updates_come_with_their_submit", updates_come_with_their_submit },
    { "an_inline_submit_gives_the_same", an_inline_submit_gives_the_same },
    { "spans_tell_that_each_unit_ran", spans_tell_that_each_unit_ran },
    { "what_was_not_asked_for_has_no_span", what_was_not_asked_for_has_no_span },
    { "a_result_that_nobody_needs_has_no_binding", a_result_that_nobody_needs_has_no_binding },
    { "many_programs_live_side_by_side", many_programs_live_side_by_side },
    { "packs_come_in_any_order", packs_come_in_any_order },
};

void kit_list_programs(kit_list *list)
{
    kit_list_rows(list, "programs", rows, sizeof rows / sizeof *rows);
}
