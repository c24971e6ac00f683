// growth.c: a host that plugins of this and of a later release are tried in. Built twice: with the
// headers as they are, and with those of grow_header.py, where all structs are longer, both tables
// have a further call, there is a further op, and a kind of claims that must be understood. Each
// host meets each plugin; each is asked only what both know, and says so when it is asked for more.
// Called as `growth PLUGIN.so`: a plugin whose first device takes silu.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <tenon/plugin.h>

#include "small_host.h"

enum { COUNT = 100, BYTES = COUNT * sizeof(float) };

static const char *path;

// What a later release adds.
#ifdef TNP_IS_LATER
enum { HOST_IS_LATER = 1 };
#define LATER_OF(struct_)     ((struct_)->later[0] | (struct_)->later[1])
#define SET_LATER(struct_, n) ((struct_)->later[1] = (n))
#else
enum { HOST_IS_LATER = 0, TNP_CLAIM_LATER = 0, TNP_OP_LATER = 0 };
#define LATER_OF(struct_)     0
#define SET_LATER(struct_, n) ((void)(n))
#endif

// The table that the plugin gets ends where readable memory does: who reads a call of a later host
// from it dies.
static const tnp_host *host_at_a_border(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    return memcpy(pages + page - sizeof host, &host, sizeof host);
}

// ------------------------------------------------------------------------------------------ a life

// The struct whose new field says something. Those up to NODE spoil more than one call.
typedef enum spoiled {
    NOTHING,
    OPEN,
    ALLOC,
    SEMAPHORE,
    QUEUE,
    SLICE,
    NODE,
    VALUE,
    STORAGE,
    OP,   // a node of an op that is new
    COMPILE,
    UNIT,
    BIND,
    BINDING,
    NOTICE,
    COPY,
    COPY_SYNC,
    SUBMIT,
    SYNC
} spoiled;

typedef struct life {
    spoiled what;
    bool is_later;   // the plugin: it knows all that this host may ask
    const tnp_plugin *table;
    tnp_instance *instance;
    tnp_device *device;
    tnp_buffer *buffer;
    tnp_semaphore *semaphore;
    tnp_queue *queue;
    tnp_program *program;
    tnp_bound *bound;
    uint64_t signal;
    uint32_t taken, refused, dropped, notices;
    uint32_t claim_flags;   // of all that were taken
    double cost_ns;
} life;

#define NEW(type, ...)                                                                             \
    (type)                                                                                         \
    {                                                                                              \
        .size = sizeof(type), __VA_ARGS__                                                          \
    }

// Sets the new field of a struct when this life is to spoil it.
#define SPOIL(life, struct_, which) SET_LATER(struct_, (life)->what == (which) ? 7u : 0u)

// Whether the life goes on after this call: it does not where the struct was spoiled.
static bool goes_on(const life *l, tnp_status status, const tnp_error *err, const char *call,
                    spoiled first, spoiled last)
{
    bool is_spoiled = !l->is_later && l->what >= first && l->what <= last;
    if (status != (is_spoiled ? TNP_E_UNSUPPORTED : TNP_OK))
        fail_msg("%s answers %d: %s", call, status, err->text);
    if (is_spoiled)
        assert_true(err->text[0]);
    assert_int_equal(LATER_OF(err), 0);
    return !is_spoiled;
}

static bool open_device(life *l)
{
    tnp_error err = { .size = sizeof err };
    uint32_t count = 0;
    tnp_device_info info = NEW(tnp_device_info, .flags = 0);
    host_calls = 0;
    assert_int_equal(l->table->start(host_at_a_border(), &l->instance, &err), TNP_OK);
    assert_int_equal(host_calls, l->is_later && HOST_IS_LATER ? 1 : 0);
    assert_int_equal(l->table->device_count(l->instance, &count, &err), TNP_OK);
    assert_true(count > 0);
    assert_int_equal(l->table->device_info(l->instance, 0, &info, &err), TNP_OK);
    assert_int_equal(info.size, sizeof info);
    assert_int_equal(LATER_OF(&info), 0);
    tnp_open what = NEW(tnp_open, .id = info.id);
    SPOIL(l, &what, OPEN);
    return goes_on(l, l->table->open(l->instance, &what, &l->device, &err), &err, "open", OPEN,
                   OPEN);
}

static bool make_objects(life *l)
{
    tnp_error err = { .size = sizeof err };
    tnp_memory_info memory = NEW(tnp_memory_info, .flags = 0);
    tnp_link link = NEW(tnp_link, .flags = 0);
    assert_int_equal(l->table->memory_info(l->device, 0, &memory, &err), TNP_OK);
    assert_int_equal(LATER_OF(&memory), 0);
    assert_int_equal(l->table->link(l->device, NULL, &link, &err), TNP_OK);
    assert_int_equal(LATER_OF(&link), 0);

    tnp_alloc alloc = NEW(tnp_alloc, .bytes = 4096);
    tnp_semaphore_options semaphore = NEW(tnp_semaphore_options, .value = 0);
    tnp_queue_options queue = NEW(tnp_queue_options, .kind = TNP_QUEUE_COMPUTE, .pending = 2,
                                  .points = 1, .copies = 1);
    SPOIL(l, &alloc, ALLOC);
    SPOIL(l, &semaphore, SEMAPHORE);
    SPOIL(l, &queue, QUEUE);
    return goes_on(l, l->table->buffer_alloc(l->device, &alloc, &l->buffer, &err), &err,
                   "buffer_alloc", ALLOC, ALLOC) &&
           goes_on(l, l->table->semaphore_create(l->device, &semaphore, &l->semaphore, &err), &err,
                   "semaphore_create", SEMAPHORE, SEMAPHORE) &&
           goes_on(l, l->table->queue_create(l->device, &queue, &l->queue, &err), &err,
                   "queue_create", QUEUE, QUEUE);
}

// As a host of each release does: what it cannot understand it drops.
static void take(void *context, const tnp_claim *given)
{
    life *l = context;
    tnp_claim claim;
    if (!TNP_TAKE(&claim, given) || TNP_ALIEN(claim.flags, TNP_CLAIM_LATER)) {
        l->dropped++;
        return;
    }
    l->taken++;
    l->claim_flags |= claim.flags;
    l->cost_ns = claim.cost_ns;
}
static void refuse(void *context, uint32_t node, const char *reason)
{
    life *l = context;
    (void)node;
    assert_true(reason[0]);
    l->refused++;
}

static bool make_program(life *l)
{
    static const uint32_t in = 0, out = 1, node_index = 0;
    tnp_error err = { .size = sizeof err };
    tnp_storage storage[2] = { NEW(tnp_storage, .flags = TNP_STORAGE_ENTERS, .bytes = BYTES),
                               NEW(tnp_storage, .flags = TNP_STORAGE_LEAVES, .bytes = BYTES) };
    tnp_value value[2];
    for (uint32_t i = 0; i < 2; i++) {
        value[i] = NEW(tnp_value, .dtype = TNP_DTYPE_F32, .rank = 1, .storage = i, .name = "v");
        for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
            value[i].dims[d] = d ? 1 : COUNT;
            value[i].strides[d] = d ? BYTES : (int64_t)sizeof(float);
        }
    }
    tnp_node node = NEW(tnp_node, .op = l->what == OP ? TNP_OP_LATER : TNP_OP_SILU,
                        .input_count = 1, .output_count = 1, .inputs = &in, .outputs = &out,
                        .name = "activation");
    const tnp_storage *storages[] = { &storage[0], &storage[1] };
    const tnp_value *values[] = { &value[0], &value[1] };
    const tnp_node *nodes[] = { &node };
    tnp_slice slice = NEW(tnp_slice, .value_count = 2, .node_count = 1, .storage_count = 2,
                          .values = values, .nodes = nodes, .storages = storages);
    tnp_claim_sink sink = NEW(tnp_claim_sink, .context = l, .take = take, .refuse = refuse);
    SPOIL(l, &slice, SLICE);
    SPOIL(l, &node, NODE);
    SPOIL(l, &value[1], VALUE);
    SPOIL(l, &storage[0], STORAGE);
    if (!goes_on(l, l->table->claim(l->device, &slice, &sink, &err), &err, "claim", SLICE, SLICE))
        return false;
    bool is_refused = !l->is_later && l->what >= NODE &&
                      l->what <= OP;   // such a node, not the call
    uint32_t offered = is_refused ? 0 : l->is_later ? 3 : 1;
    assert_int_equal(l->refused, is_refused ? 1 : 0);
    assert_int_equal(l->taken + l->dropped, offered);
    assert_int_equal(l->dropped, l->is_later && !HOST_IS_LATER ? 2 : 0);
    if (is_refused)
        return false;

    tnp_claim unit = NEW(tnp_claim, .flags = l->claim_flags, .node_count = 1, .nodes = &node_index,
                         .name = "silu", .cost_ns = l->cost_ns);
    const tnp_claim *units[] = { &unit };
    tnp_compile compile = NEW(tnp_compile, .unit_count = 1, .slice = &slice, .units = units);
    tnp_binding binding[2] = { NEW(tnp_binding, .kind = TNP_BIND_STORAGE, .index = 0,
                                   .buffer = l->buffer, .bytes = BYTES),
                               NEW(tnp_binding, .kind = TNP_BIND_STORAGE, .index = 1,
                                   .buffer = l->buffer, .offset = 1024, .bytes = BYTES) };
    const tnp_binding *bindings[] = { &binding[0], &binding[1] };
    tnp_bind bind = NEW(tnp_bind, .binding_count = 2, .bindings = bindings);
    SPOIL(l, &unit, UNIT);
    SPOIL(l, &compile, COMPILE);
    SPOIL(l, &bind, BIND);
    SPOIL(l, &binding[1], BINDING);
    return goes_on(l, l->table->compile(l->device, &compile, &l->program, &err), &err, "compile",
                   COMPILE, UNIT) &&
           goes_on(l, l->table->bind(l->program, &bind, &l->bound, &err), &err, "bind", BIND,
                   BINDING);
}

static void reached(tnp_notice *notice, tnp_status status, const char *text)
{
    life *l = notice->argument;
    assert_int_equal(status, TNP_OK);
    assert_string_equal(text, "");
    l->notices++;
}

static bool copy(life *l, void *to, const void *from, uint64_t offset)
{
    tnp_error err = { .size = sizeof err };
    tnp_point point = { l->semaphore, l->signal + 1 };
    tnp_sync sync = NEW(tnp_sync, .signal_count = 1, .signals = &point);
    tnp_copy what = NEW(tnp_copy, .from_buffer = to ? l->buffer : NULL,
                        .to_buffer = to ? NULL : l->buffer, .from_host = from, .to_host = to,
                        .bytes = BYTES, .rows = 1);
    *(to ? &what.from_offset : &what.to_offset) = offset;
    const tnp_copy *copies[] = { &what };
    SPOIL(l, &what, COPY);
    SPOIL(l, &sync, COPY_SYNC);
    if (!goes_on(l, l->table->queue_copy(l->queue, copies, 1, &sync, &err), &err, "queue_copy",
                 COPY, COPY_SYNC))
        return false;
    l->signal++;
    assert_int_equal(l->table->semaphore_wait(l->semaphore, l->signal, UINT64_MAX, &err), TNP_OK);
    return true;
}

static bool compute(life *l)
{
    float x[COUNT], y[COUNT];
    tnp_error err = { .size = sizeof err };
    for (int i = 0; i < COUNT; i++)
        x[i] = 0.1f * (float)(i - COUNT / 2);
    if (!copy(l, NULL, x, 0))
        return false;

    tnp_point point = { l->semaphore, l->signal + 1 };
    tnp_sync sync = NEW(tnp_sync, .signal_count = 1, .signals = &point);
    tnp_submit submit = NEW(tnp_submit, .sync = &sync, .bound = l->bound);
    const tnp_submit *submits[] = { &submit };
    SPOIL(l, &submit, SUBMIT);
    SPOIL(l, &sync, SYNC);
    if (!goes_on(l, l->table->queue_submit(l->queue, submits, 1, &err), &err, "queue_submit",
                 SUBMIT, SYNC))
        return false;
    l->signal++;

    assert_true(copy(l, y, NULL, 1024));
    for (int i = 0; i < COUNT; i++) {
        double want = (double)x[i] / (1 + exp(-(double)x[i]));
        assert_true(fabs((double)y[i] - want) <= 1e-6 * (fabs(want) + 1e-6));
    }
    return true;
}

static void be_told(life *l)
{
    tnp_error err = { .size = sizeof err };
    tnp_notice notice = NEW(tnp_notice, .value = l->signal, .reached = reached, .argument = l);
    SPOIL(l, &notice, NOTICE);
    if (!l->table->semaphore_notify)   // optional
        return;
    (void)goes_on(l, l->table->semaphore_notify(l->semaphore, &notice, &err), &err,
                  "semaphore_notify", NOTICE, NOTICE);
    assert_int_equal(l->notices,
                     l->what == NOTICE && !l->is_later ? 0 : 1);   // the value is reached already
}

static void end(life *l)
{
    if (l->bound)
        l->table->unbind(l->bound);
    if (l->program)
        l->table->program_destroy(l->program);
    if (l->queue)
        l->table->queue_destroy(l->queue);
    l->table->semaphore_destroy(l->semaphore);
    l->table->buffer_free(l->buffer);
    if (l->device)
        l->table->close(l->device);
    l->table->stop(l->instance);
}

// A call beyond the plugin's table does not exist.
static void call_later(const life *l)
{
#ifdef TNP_IS_LATER
    assert_int_equal(TNP_CAN(tnp_plugin, l->table, later_call) != 0, l->is_later);
    if (l->is_later)
        assert_int_equal(l->table->later_call(l->instance), 7);
#else
    assert_int_equal(l->table->size > sizeof(tnp_plugin), l->is_later);
#endif
}

static void live(spoiled what)
{
    life l = { .what = what, .table = load_plugin(path) };
    assert_non_null(l.table);
    l.is_later = l.table->abi > TNP_ABI(1, 0);
    if (open_device(&l) && make_objects(&l) && make_program(&l) && compute(&l))
        be_told(&l);
    call_later(&l);
    end(&l);
}

static void it_works_where_what_is_new_is_zero(void **state)
{
    (void)state;
    live(NOTHING);
}

// An older plugin refuses each struct, a later one does as it is told.
static void what_is_asked_for_more_is_understood_or_refused(void **state)
{
    (void)state;
    for (spoiled what = OPEN; what <= SYNC && HOST_IS_LATER; what++)
        live(what);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    path = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_works_where_what_is_new_is_zero),
        cmocka_unit_test(what_is_asked_for_more_is_understood_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
