// case_versions.c: hosts of other releases. A struct that is passed is 8 bytes longer: with zeros
// there all works, with something else the plugin says that it does not understand. A struct that
// is to be filled is longer, or shorter: what is beyond its size is never written.
#include <stdio.h>
#include <stdlib.h>

#include "conform_internal.h"

// A struct with the field of a later release behind it, and bytes that are nobody's behind that.
#define LONGER(type)                                                                               \
    struct {                                                                                       \
        type s;                                                                                    \
        uint64_t later, beyond;                                                                    \
    }
#define BEYOND UINT64_C(0x1234567890abcdef)
#define SET_LONGER(x, type, ...)                                                                   \
    do {                                                                                           \
        (x).s = (type){ .size = sizeof(type) + 8, __VA_ARGS__ };                                   \
        (x).later = 0;                                                                             \
        (x).beyond = BEYOND;                                                                       \
    } while (0)

typedef enum longer {
    NOTHING,
    OPEN,
    ALLOC,
    SEMAPHORE,
    QUEUE,
    SLICE,
    NODE,
    VALUE,
    STORAGE,
    ATTRIBUTES,
    COMPILE,
    UNIT,
    BIND,
    BINDING,
    NOTICE,
    COPY,
    COPY_SYNC,
    SUBMIT,
    SYNC,
    LONGER_COUNT
} longer;

static const char *const names[] = {
    "nothing", "open",           "alloc",  "semaphore_options", "queue_options",
    "slice",   "node",           "value",  "storage",           "attributes",
    "compile", "claim",          "bind",   "binding",           "notice",
    "copy",    "sync_of_a_copy", "submit", "sync_of_a_submit"
};

typedef struct life {
    longer what;      // the struct whose later field says something
    uint32_t flags;   // set in that struct's flags in place of it
    bool is_over;     // the spoiled call was refused, as it must be
    kit_rig *r;
    kit_host host;
} life;

// Whether the struct is to be spoiled now.
static bool is_now(const life *l, longer which)
{
    return l->what == which;
}

#define SPOIL(l, x, which)                                                                         \
    do {                                                                                           \
        if (is_now((l), (which)) && (l)->flags)                                                    \
            (x).s.flags |= (l)->flags;                                                             \
        else if (is_now((l), (which)))                                                             \
            (x).later = 7;                                                                         \
    } while (0)
#define SPOIL_TAIL(l, x, which)                                                                    \
    do {                                                                                           \
        if (is_now((l), (which)))                                                                  \
            (x).later = 7;                                                                         \
    } while (0)

// true: go on.
static bool goes_on(life *l, tnp_status status, const char *call, longer first, longer last)
{
    bool is_spoiled = l->what >= first && l->what <= last;
    bool is_ignored = is_spoiled && l->flags && !(l->flags & 0xffff0000u);
    if (is_spoiled && !is_ignored) {
        kit_want(status, TNP_E_UNSUPPORTED, &l->r->err,
                 kit_text("%s with %s in its %s", call,
                          l->flags ? "a flag of the upper half" : "a later field that is not zero",
                          names[l->what]));
        l->is_over = true;
        return false;
    }
    kit_want(status, TNP_OK, &l->r->err,
             is_ignored ? kit_text("%s with a flag of the lower half, which may be ignored", call)
                        : kit_text("%s with a later field of zeros", call));
    return true;
}

static void heard(tnp_notice *notice, tnp_status status, const char *text)
{
    (void)status, (void)text;
    *(int *)notice->argument += 1;
}

static bool open_longer(life *l)
{
    kit_rig *r = l->r;
    uint32_t count;
    LONGER(tnp_device_info) info;
    LONGER(tnp_memory_info) memory;
    LONGER(tnp_link) link;
    LONGER(tnp_open) what;
    *r = (kit_rig){ .host = &l->host, .t = kit_table(), .err = { .size = sizeof r->err } };
    KIT_OK_OF(r->t->start(&l->host.table, &r->instance, &r->err), &r->err, "start");
    KIT_OK_OF(r->t->device_count(r->instance, &count, &r->err), &r->err, "device_count");
    SET_LONGER(info, tnp_device_info, .flags = 0);
    KIT_OK_OF(r->t->device_info(r->instance, kit.device, &info.s, &r->err), &r->err,
              "device_info of a longer struct");
    SET_LONGER(what, tnp_open, .id = info.s.id);
    SPOIL(l, what, OPEN);
    if (!goes_on(l, r->t->open(r->instance, &what.s, &r->device, &r->err), "open", OPEN, OPEN))
        return false;
    SET_LONGER(memory, tnp_memory_info, .flags = 0);
    KIT_OK_OF(r->t->memory_info(r->device, 0, &memory.s, &r->err), &r->err,
              "memory_info of a longer struct");
    SET_LONGER(link, tnp_link, .flags = 0);
    KIT_OK_OF(r->t->link(r->device, NULL, &link.s, &r->err), &r->err, "link of a longer struct");
    if (info.beyond != BEYOND || memory.beyond != BEYOND || link.beyond != BEYOND)
        kit_fail("a struct is filled within its size", "bytes behind it were written");
    if (info.s.size != sizeof info.s + 8 || memory.s.size != sizeof memory.s + 8)
        kit_fail("the size of a struct that is filled stays the caller's", "it was changed");
    r->info = info.s;
    r->memory = memory.s;
    return true;
}

static bool make_objects(life *l, tnp_buffer **buffer)
{
    kit_rig *r = l->r;
    LONGER(tnp_alloc) alloc;
    LONGER(tnp_semaphore_options) semaphore;
    LONGER(tnp_queue_options) queue;
    SET_LONGER(alloc, tnp_alloc, .bytes = 4096);
    SPOIL(l, alloc, ALLOC);
    SET_LONGER(semaphore, tnp_semaphore_options, .value = 0);
    SPOIL(l, semaphore, SEMAPHORE);
    SET_LONGER(queue, tnp_queue_options, .kind = TNP_QUEUE_COMPUTE, .pending = 4, .points = 2,
               .copies = 2, .updates = 1, .update_bytes = 64);
    SPOIL(l, queue, QUEUE);
    return goes_on(l, r->t->buffer_alloc(r->device, &alloc.s, buffer, &r->err), "buffer_alloc",
                   ALLOC, ALLOC) &&
           goes_on(l, r->t->semaphore_create(r->device, &semaphore.s, &r->done, &r->err),
                   "semaphore_create", SEMAPHORE, SEMAPHORE) &&
           goes_on(l, r->t->queue_create(r->device, &queue.s, &r->queue, &r->err), "queue_create",
                   QUEUE, QUEUE);
}

enum { COUNT = 100, BYTES = COUNT * sizeof(float), SECOND = 2048 };

typedef struct graph {
    kit_slice s;   // whose arrays point to the longer structs
    LONGER(tnp_slice) slice;
    LONGER(tnp_storage) storage[2];
    LONGER(tnp_value) value[2];
    LONGER(tnp_node) node;
    struct {
        uint32_t size, reserved;
        uint64_t later;
    } attributes;   // of an op that has none here
} graph;

static bool claim_longer(life *l, graph *g, kit_claims *claims)
{
    kit_rig *r = l->r;
    for (int i = 0; i < 2; i++) {
        g->storage[i].s = g->s.storages[i];
        g->value[i].s = g->s.values[i];
        g->storage[i].s.size += 8;
        g->value[i].s.size += 8;
        g->storage[i].later = g->value[i].later = 0;
        g->s.storage_pointers[i] = &g->storage[i].s;
        g->s.value_pointers[i] = &g->value[i].s;
    }
    g->node.s = g->s.nodes[0];
    g->node.s.size += 8;
    g->node.later = 0;
    g->s.node_pointers[0] = &g->node.s;
    g->attributes.size = sizeof g->attributes;
    g->node.s.attributes = &g->attributes;
    g->slice.s = g->s.slice;
    g->slice.s.size += 8;
    g->slice.later = 0;
    SPOIL_TAIL(l, g->slice, SLICE);
    SPOIL_TAIL(l, g->node, NODE);
    SPOIL(l, g->value[1], VALUE);
    SPOIL(l, g->storage[0], STORAGE);
    if (is_now(l, ATTRIBUTES))
        g->attributes.later = 7;
    memset(claims->is_refused, 0, sizeof claims->is_refused);
    claims->slice = &g->s;
    claims->count = 0;
    if (!goes_on(l, kit_ask(r, &g->slice.s, claims), "claim", SLICE, SLICE))
        return false;
    bool is_spoiled = l->what >= NODE && l->what <= ATTRIBUTES &&
                      (l->flags == 0 || (l->flags & 0xffff0000u));
    if (is_spoiled && (claims->count > 0 || !claims->is_refused[0]))
        kit_fail(kit_text("a node is refused whose %s has %s", names[l->what],
                          l->flags ? "a flag of the upper half that nobody knows"
                                   : "a later field that is not zero"),
                 "it is claimed");
    if (!is_spoiled && !kit_claim_of(claims, 0))
        kit_fail("a node is claimed whose structs are longer by zeros", "refused: %s",
                 claims->reasons[0]);
    l->is_over = is_spoiled;
    return !is_spoiled;
}

static bool make_program(life *l, graph *g, const kit_taken *claim, tnp_buffer *buffer,
                         tnp_program **program, tnp_bound **bound)
{
    kit_rig *r = l->r;
    LONGER(tnp_claim) unit;
    LONGER(tnp_compile) compile;
    LONGER(tnp_bind) bind;
    LONGER(tnp_binding) binding[2];
    const tnp_binding *bindings[] = { &binding[0].s, &binding[1].s };
    unit.s = claim->claim;
    unit.s.size = sizeof unit.s + 8;
    unit.later = 0;
    const tnp_claim *units[] = { &unit.s };
    SET_LONGER(compile, tnp_compile, .unit_count = 1, .slice = &g->slice.s, .units = units);
    for (uint32_t i = 0; i < 2; i++)
        SET_LONGER(binding[i], tnp_binding, .kind = TNP_BIND_STORAGE, .index = i, .buffer = buffer,
                   .offset = i * SECOND, .bytes = BYTES);
    SET_LONGER(bind, tnp_bind, .binding_count = 2, .bindings = bindings);
    SPOIL(l, unit, UNIT);
    SPOIL(l, compile, COMPILE);
    SPOIL(l, bind, BIND);
    SPOIL_TAIL(l, binding[1], BINDING);
    return goes_on(l, r->t->compile(r->device, &compile.s, program, &r->err), "compile", COMPILE,
                   UNIT) &&
           goes_on(l, r->t->bind(*program, &bind.s, bound, &r->err), "bind", BIND, BINDING);
}

static bool copy_longer(life *l, tnp_buffer *buffer, float *x, bool is_in)
{
    kit_rig *r = l->r;
    LONGER(tnp_copy) copy;
    LONGER(tnp_sync) sync;
    tnp_point point = { r->done, ++r->signal };
    SET_LONGER(sync, tnp_sync, .signal_count = 1, .signals = &point);
    SET_LONGER(copy, tnp_copy, .from_buffer = is_in ? NULL : buffer,
               .to_buffer = is_in ? buffer : NULL, .from_host = is_in ? x : NULL,
               .to_host = is_in ? NULL : x, .from_offset = SECOND, .bytes = BYTES, .rows = 1);
    const tnp_copy *copies[] = { &copy.s };
    SPOIL(l, copy, COPY);
    SPOIL(l, sync, COPY_SYNC);
    if (!goes_on(l, r->t->queue_copy(r->queue, copies, 1, &sync.s, &r->err), "queue_copy", COPY,
                 COPY_SYNC))
        return false;
    kit_wait_ok(r, r->done, r->signal, "a copy");
    return true;
}

static bool run_longer(life *l, tnp_bound *bound)
{
    kit_rig *r = l->r;
    LONGER(tnp_submit) submit;
    LONGER(tnp_sync) sync;
    tnp_point point = { r->done, ++r->signal };
    SET_LONGER(sync, tnp_sync, .signal_count = 1, .signals = &point);
    SET_LONGER(submit, tnp_submit, .sync = &sync.s, .bound = bound);
    const tnp_submit *submits[] = { &submit.s };
    SPOIL(l, submit, SUBMIT);
    SPOIL(l, sync, SYNC);
    if (!goes_on(l, r->t->queue_submit(r->queue, submits, 1, &r->err), "queue_submit", SUBMIT,
                 SYNC))
        return false;
    kit_wait_ok(r, r->done, r->signal, "the work");
    return true;
}

static bool notify_longer(life *l)
{
    kit_rig *r = l->r;
    LONGER(tnp_notice) notice;
    int count = 0;
    if (!TNP_CAN(tnp_plugin, r->t, semaphore_notify))
        return true;
    SET_LONGER(notice, tnp_notice, .value = r->signal, .reached = heard, .argument = &count);
    SPOIL_TAIL(l, notice, NOTICE);
    if (!goes_on(l, r->t->semaphore_notify(r->done, &notice.s, &r->err), "semaphore_notify", NOTICE,
                 NOTICE))
        return false;
    for (int i = 0; i < 5000 && *(volatile int *)&count == 0; i++)
        kit_sleep_ms(1);
    if (*(volatile int *)&count != 1)
        kit_fail("a notice of a value that is reached comes once", "%d times", count);
    return true;
}

static void live(longer what, uint32_t flags)
{
    life *l = kit_new(sizeof(life));
    graph *g = kit_new(sizeof(graph));
    kit_claims *claims = kit_new(sizeof(kit_claims));
    kit_rig *r = kit_new(sizeof(kit_rig));
    tnp_buffer *buffer = NULL;
    tnp_program *program = NULL;
    tnp_bound *bound = NULL;
    float x[COUNT], y[COUNT];
    kit_rig probe;
    kit_rig_open(&probe);
    tnp_op op = kit_chain_op(&probe);
    kit_rig_close(&probe);
    l->what = what;
    l->flags = flags;
    l->is_over = false;
    l->r = r;
    kit_host_init(&l->host);
    kit_chain(&g->s, op, 1, COUNT);
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)kit_random(0.5, 2);
    if (open_longer(l) && make_objects(l, &buffer) && claim_longer(l, g, claims)) {
        const kit_taken *claim = kit_claim_of(claims, 0);
        if (claim->claim.scratch_bytes > 0 || claim->claim.pack_count > 0)
            kit_skip("the claim asks for more than storages");
        if (make_program(l, g, claim, buffer, &program, &bound) &&
            copy_longer(l, buffer, x, true) && run_longer(l, bound) &&
            copy_longer(l, buffer, y, false) && notify_longer(l))
            kit_check_chain(op, x, y, COUNT, 1, "with longer structs");
    }
    if (bound)
        r->t->unbind(bound);
    if (program)
        r->t->program_destroy(program);
    if (r->queue)
        r->t->queue_destroy(r->queue);
    r->queue = NULL;
    if (buffer)
        r->t->buffer_free(buffer);
    kit_rig_close(r);
}

static void longer_structs_with_zeros_work(const kit_case *c)
{
    (void)c;
    live(NOTHING, 0);
}

static longer named(const char *name, const char *prefix)
{
    for (int i = OPEN; i < LONGER_COUNT; i++)
        if (!strcmp(name + strlen(prefix), names[i]))
            return (longer)i;
    return NOTHING;
}

// What stands behind the fields of this release means something to a plugin of a later one.
static void skip_a_later_plugin(void)
{
    if (kit_table()->abi > TNP_ABI_CURRENT)
        kit_skip("the plugin is of a later release than the kit");
}

static void a_tail_is_refused(const kit_case *c)
{
    skip_a_later_plugin();
    live(named(c->name, "versions.a_tail_is_refused."), 0);
}
static void an_upper_flag_is_refused(const kit_case *c)
{
    skip_a_later_plugin();
    live(named(c->name, "versions.an_upper_flag_is_refused."), 1u << 29);
}
static void a_lower_flag_is_ignored(const kit_case *c)
{
    live(named(c->name, "versions.a_lower_flag_is_ignored."), 1u << 13);
}

// ------------------------------------------------------------------------------------- out-structs

// A host of before: its structs end earlier. Room behind them is another's.
static void shorter_structs_are_not_overrun(const kit_case *c)
{
    union {
        tnp_device_info info;
        tnp_memory_info memory;
        tnp_error err;
        unsigned char bytes[1024];
    } out;
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
#define CUT(type, field, call)                                                                     \
    do {                                                                                           \
        uint32_t room = offsetof(type, field);                                                     \
        memset(out.bytes, 0x5a, sizeof out.bytes);                                                 \
        memset(out.bytes, 0, room);                                                                \
        memcpy(out.bytes, &room, sizeof room);                                                     \
        (void)(call);                                                                              \
        for (size_t i = room; i < sizeof out.bytes; i++)                                           \
            if (out.bytes[i] != 0x5a)                                                              \
                kit_fail("a struct is filled within its size",                                     \
                         "a " #type " of %u bytes is written at byte %zu", room, i);               \
    } while (0)
    CUT(tnp_device_info, memory_bytes, r.t->device_info(r.instance, kit.device, &out.info, &r.err));
    CUT(tnp_memory_info, max_buffer_bytes, r.t->memory_info(r.device, 0, &out.memory, &r.err));
    tnp_alloc none = { .size = sizeof none };
    tnp_buffer *buffer = NULL;
    uint32_t room = 40;   // a text of 32 bytes
    memset(out.bytes, 0x5a, sizeof out.bytes);
    memset(out.bytes, 0, room);
    memcpy(out.bytes, &room, sizeof room);
    (void)r.t->buffer_alloc(r.device, &none, &buffer, &out.err);
    for (size_t i = room; i < sizeof out.bytes; i++)
        if (out.bytes[i] != 0x5a)
            kit_fail("an error is filled within its size", "one of 40 bytes is written at byte %zu",
                     i);
#undef CUT
    kit_rig_close(&r);
}

// A host of a later release: longer table, longer sink, a newer abi.
static void a_newer_host_is_fine(const kit_case *c)
{
    skip_a_later_plugin();
    kit_host *host = kit_new(sizeof(kit_host));
    static struct {
        tnp_host table;
        void *later[4];
    } newer;
    kit_rig r;
    (void)c;
    kit_host_init(host);
    newer.table = host->table;
    newer.table.size = sizeof newer;
    newer.table.abi = TNP_ABI(1, 7);
    for (int i = 0; i < 4; i++)
        newer.later[i] = &newer;   // tails of tables are ignored, whatever they hold
    uint32_t count;
    memset(&r, 0, sizeof r);
    r.host = host;
    r.t = kit_table();
    r.err.size = sizeof r.err;
    KIT_OK_OF(r.t->start(&newer.table, &r.instance, &r.err), &r.err, "start by a newer host");
    KIT_OK_OF(r.t->device_count(r.instance, &count, &r.err), &r.err, "device_count");
    r.info.size = sizeof r.info;
    KIT_OK_OF(r.t->device_info(r.instance, kit.device, &r.info, &r.err), &r.err, "device_info");
    tnp_open what = { .size = sizeof what, .id = r.info.id };
    KIT_OK_OF(r.t->open(r.instance, &what, &r.device, &r.err), &r.err, "open");
    kit_rig_close(&r);
}

static const kit_row rows[] = {
    { "longer_structs_with_zeros_work", longer_structs_with_zeros_work },
    { "shorter_structs_are_not_overrun", shorter_structs_are_not_overrun },
    { "a_newer_host_is_fine", a_newer_host_is_fine },
};

static bool has_flags(longer which)
{
    return which != SLICE && which != NODE && which != ATTRIBUTES && which != BINDING &&
           which != NOTICE;
}

void kit_list_versions(kit_list *list)
{
    static const struct {
        const char *name;
        void (*run)(const kit_case *c);
        bool is_of_flags;
    } each[] = { { "a_tail_is_refused", a_tail_is_refused, false },
                 { "an_upper_flag_is_refused", an_upper_flag_is_refused, true },
                 { "a_lower_flag_is_ignored", a_lower_flag_is_ignored, true } };
    kit_list_rows(list, "versions", rows, sizeof rows / sizeof *rows);
    for (size_t e = 0; e < sizeof each / sizeof *each; e++)
        for (int i = OPEN; i < LONGER_COUNT; i++) {
            kit_case one = { .run = each[e].run };
            if (each[e].is_of_flags && !has_flags((longer)i))
                continue;
            snprintf(one.name, sizeof one.name, "versions.%s.%s", each[e].name, names[i]);
            kit_list_add(list, &one);
        }
}
