// program.c: a slice compiled, bound to one buffer, and run; guards around all that is bound.
#include <stdlib.h>

#include "conform_internal.h"

enum { LEAST_GUARD = 64 };

enum { OPEN = 0, GUARDED = 1, PACKED = 2 };   // what a byte of the buffer is, in `guards`

static uint64_t up(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

static uint64_t alignment_of(const kit_rig *r)
{
    return r->memory.alignment_bytes > LEAST_GUARD ? r->memory.alignment_bytes : LEAST_GUARD;
}

// The next place behind a guard.
static uint64_t place(const kit_rig *r, kit_program *p, uint64_t bytes)
{
    uint64_t at = up(p->bytes + LEAST_GUARD, alignment_of(r));
    p->bytes = at + bytes;
    return at;
}

static uint64_t groups_of(const tnp_value *v, const tnp_pack *pack)
{
    uint64_t rows = (uint64_t)v->dims[1], matrices = 1;
    for (int d = 2; d < TNP_MAX_DIMS; d++)
        matrices *= (uint64_t)v->dims[d];
    return matrices * ((rows + pack->group_rows - 1) / pack->group_rows);
}

// A storage whose values are all made and used inside one unit, and that neither enters nor leaves.
static bool stays_inside(const kit_program *p, uint32_t storage)
{
    const kit_slice *s = p->slice;
    if (s->storages[storage].flags & (TNP_STORAGE_ENTERS | TNP_STORAGE_LEAVES))
        return false;
    uint32_t unit_of[KIT_NODES], only = TNP_NONE;
    for (uint32_t u = 0; u < p->unit_count; u++)
        for (uint32_t i = 0; i < p->units[u]->claim.node_count; i++)
            unit_of[p->units[u]->nodes[i]] = u;
    for (uint32_t n = 0; n < s->slice.node_count; n++) {
        bool is_touched = s->values[s->outputs[n]].storage == storage;
        for (uint32_t i = 0; i < s->nodes[n].input_count; i++)
            is_touched |= s->inputs[n][i] != TNP_NONE &&
                          s->values[s->inputs[n][i]].storage == storage;
        if (is_touched && only != TNP_NONE && only != unit_of[n])
            return false;
        only = is_touched ? unit_of[n] : only;
    }
    return only != TNP_NONE;
}

static void mark_guards(kit_program *p)
{
    memset(p->guards, GUARDED, p->bytes);
    for (uint32_t i = 0; i < p->slice->slice.storage_count; i++)
        if (!p->is_inside[i])
            memset(p->guards + p->at[i], OPEN, p->slice->storages[i].bytes);
    for (uint32_t u = 0; u < p->unit_count; u++) {
        memset(p->guards + p->scratch_at[u], OPEN, p->units[u]->claim.scratch_bytes);
        for (uint32_t k = 0; k < p->units[u]->claim.pack_count; k++)
            memset(p->guards + p->pack_at[u][k], PACKED, p->pack_bytes[u][k]);
    }
}

void kit_program_place(kit_rig *r, kit_program *p, kit_slice *s, const kit_taken *const *units,
                       uint32_t unit_count, uint32_t in_place, uint32_t in_place_of)
{
    memset(p, 0, sizeof *p);
    p->slice = s;
    p->unit_count = unit_count;
    memcpy(p->units, units, unit_count * sizeof *units);
    for (uint32_t i = 0; i < s->slice.storage_count; i++) {
        p->is_inside[i] = stays_inside(p, i);
        if (!p->is_inside[i] && !(in_place && i == in_place_of))
            p->at[i] = place(r, p, s->storages[i].bytes);
    }
    if (in_place)
        p->at[in_place_of] = p->at[in_place - 1];
    for (uint32_t u = 0; u < unit_count; u++) {
        const tnp_claim *c = &units[u]->claim;
        if (c->scratch_bytes > 0)
            p->scratch_at[u] = place(r, p, c->scratch_bytes);
        for (uint32_t k = 0; k < c->pack_count; k++) {
            const tnp_pack *pack = &units[u]->packs[k];
            p->pack_bytes[u][k] = groups_of(&s->values[pack->value], pack) * pack->group_bytes;
            p->pack_at[u][k] = place(r, p, p->pack_bytes[u][k]);
        }
    }
    p->bytes = up(p->bytes + LEAST_GUARD, alignment_of(r));
    p->image = malloc(p->bytes);
    p->back = malloc(p->bytes);
    p->guards = malloc(p->bytes);
    if (!p->image || !p->back || !p->guards)
        kit_fail("memory for the case", "%llu bytes are not there", (unsigned long long)p->bytes);
    mark_guards(p);
    kit_program_fill(p, 0xff);
    p->buffer = kit_buffer(r, p->bytes);
}

void kit_program_fill(const kit_program *p, unsigned char poison)
{
    for (uint64_t i = 0; i < p->bytes; i++)
        if (p->guards[i] != PACKED)
            p->image[i] = p->guards[i] == GUARDED ? (unsigned char)(i * 131 + 17) : poison;
}

tnp_status kit_program_compile(kit_rig *r, const kit_program *p, tnp_program **out)
{
    const tnp_claim *units[KIT_NODES];
    for (uint32_t u = 0; u < p->unit_count; u++)
        units[u] = &p->units[u]->claim;
    tnp_compile what = {
        .size = sizeof what, .unit_count = p->unit_count, .slice = &p->slice->slice, .units = units
    };
    return r->t->compile(r->device, &what, out, &r->err);
}

static void add_binding(tnp_binding *list, uint32_t *count, const kit_program *p, uint32_t kind,
                        uint32_t index, uint32_t part, uint64_t at, uint64_t bytes)
{
    list[(*count)++] = (tnp_binding){ .size = sizeof *list,
                                      .kind = kind,
                                      .index = index,
                                      .part = part,
                                      .buffer = p->buffer,
                                      .offset = at,
                                      .bytes = bytes };
}

tnp_status kit_program_bind(kit_rig *r, const kit_program *p, tnp_program *program, uint32_t flags,
                            tnp_bound **out)
{
    tnp_binding list[KIT_VALUES + KIT_NODES * (1 + KIT_PACKS)];
    const tnp_binding *pointers[sizeof list / sizeof *list];
    uint32_t count = 0;
    for (uint32_t u = 0; u < p->unit_count; u++) {   // in no special order: storages last
        const tnp_claim *c = &p->units[u]->claim;
        if (c->scratch_bytes > 0)
            add_binding(list, &count, p, TNP_BIND_SCRATCH, u, 0, p->scratch_at[u],
                        c->scratch_bytes);
        for (uint32_t k = 0; k < c->pack_count; k++)
            if (!(p->units[u]->packs[k].flags & TNP_PACK_BAKED))
                add_binding(list, &count, p, TNP_BIND_PACKED, u, k, p->pack_at[u][k],
                            p->pack_bytes[u][k]);
    }
    for (uint32_t i = p->slice->slice.storage_count; i-- > 0;)
        if (!p->is_inside[i])
            add_binding(list, &count, p, TNP_BIND_STORAGE, i, 0, p->at[i],
                        p->slice->storages[i].bytes);
    for (uint32_t i = 0; i < count; i++)
        pointers[i] = &list[i];
    tnp_bind what = {
        .size = sizeof what, .flags = flags, .binding_count = count, .bindings = pointers
    };
    return r->t->bind(program, &what, out, &r->err);
}

// In two parts, the second first.
static void pack(kit_rig *r, kit_program *p, uint32_t u, uint32_t k)
{
    const tnp_pack *pack = &p->units[u]->packs[k];
    const tnp_value *v = &p->slice->values[pack->value];
    const tnp_storage *from = &p->slice->storages[v->storage];
    uint64_t groups = groups_of(v, pack), half = groups / 2;
    unsigned char *to = p->image + p->pack_at[u][k];
    if (!TNP_CAN(tnp_plugin, r->t, pack))
        kit_fail("a plugin that asks for packs has a call that packs", "there is none");
    const char *source = (const char *)from->data + v->offset;
    for (int part = 1; part >= 0; part--) {
        uint64_t begin = part ? half : 0, end = part ? groups : half;
        if (begin < end)
            KIT_OK_OF(r->t->pack(r->device, v, pack->layout, source, begin, end,
                                 to + begin * pack->group_bytes, &r->err),
                      &r->err, "pack");
    }
}

void kit_program_make(kit_rig *r, kit_program *p, uint32_t bind_flags)
{
    KIT_OK_OF(kit_program_compile(r, p, &p->program), &r->err, "compile of what was claimed");
    for (uint32_t u = 0; u < p->unit_count; u++)
        for (uint32_t k = 0; k < p->units[u]->claim.pack_count; k++)
            if (!(p->units[u]->packs[k].flags & TNP_PACK_BAKED))
                pack(r, p, u, k);
    KIT_OK_OF(kit_program_bind(r, p, p->program, bind_flags, &p->bound), &r->err, "bind");
}

static void check_guards(const kit_program *p)
{
    for (uint64_t i = 0; i < p->bytes; i++) {
        if (!p->guards[i] || p->back[i] == p->image[i])
            continue;
        for (uint32_t s = 0; s < p->slice->slice.storage_count; s++) {
            uint64_t end = p->at[s] + p->slice->storages[s].bytes;
            if (!p->is_inside[s] && i >= end && i < end + LEAST_GUARD)
                kit_fail("a program writes its bindings only",
                         "it writes byte %llu behind the %llu bytes of storage %u",
                         (unsigned long long)(i - end),
                         (unsigned long long)p->slice->storages[s].bytes, s);
        }
        kit_fail("a program writes its bindings only", "it writes byte %llu of the buffer, a guard",
                 (unsigned long long)i);
    }
}

tnp_status kit_program_run(kit_rig *r, kit_program *p, const tnp_update *updates, uint32_t count)
{
    kit_upload(r, p->buffer, 0, p->image, p->bytes);
    tnp_semaphore *done = kit_semaphore(r, 0);   // its own: work may fail it
    tnp_point signal = { done, 1 };
    tnp_sync sync = {
        .size = sizeof sync, .signal_count = 1, .signals = &signal, .run = r->signal
    };
    tnp_submit work = { .size = sizeof work,
                        .update_count = count,
                        .updates = updates,
                        .sync = &sync,
                        .bound = p->bound };
    const tnp_submit *works[] = { &work };
    kit_begin_run_call("queue_submit");
    KIT_OK_OF(r->t->queue_submit(r->queue, works, 1, &r->err), &r->err, "queue_submit");
    kit_end_run_call();
    tnp_status status = kit_wait(r, done, 1);
    if (status == TNP_E_TIMEOUT)
        kit_fail("the work ends and raises its signal", "it does not within 10 s");
    if (status != TNP_OK)
        kit_want(status, status, &r->err, "the work");
    tnp_error why = r->err;
    r->t->semaphore_destroy(done);
    kit_download(r, p->buffer, 0, p->back, p->bytes);
    check_guards(p);
    r->err = why;
    return status;
}

void kit_program_free(kit_rig *r, kit_program *p)
{
    if (p->bound)
        r->t->unbind(p->bound);
    if (p->program)
        r->t->program_destroy(p->program);
    if (p->buffer)
        r->t->buffer_free(p->buffer);
    free(p->image);
    free(p->back);
    free(p->guards);
    memset(p, 0, sizeof *p);
}
