// case_errors.c: every answer that plugin.h documents: the right status, a line that says why,
// outputs untouched, nothing taken, and the object good for what comes next.
#include "conform_internal.h"

static char untouched;   // what an output points to before a call that fails

// A call that fails leaves its output as it was.
#define REFUSED(r, want, type, out, call, text)                                                    \
    do {                                                                                           \
        type *out = (type *)&untouched;                                                            \
        tnp_status status_ = (call);                                                               \
        kit_want(status_, (want), &(r)->err, (text));                                              \
        if (out != (type *)&untouched)                                                             \
            kit_fail("outputs are untouched by a call that fails", "%s wrote one", (text));        \
    } while (0)

static void devices_and_memories_that_are_not_there(const kit_case *c)
{
    uint32_t count = 0;
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    KIT_OK_OF(r.t->device_count(r.instance, &count, &r.err), &r.err, "device_count");
    tnp_device_info info = { .size = sizeof info, .kind = 77 };
    kit_want(r.t->device_info(r.instance, count, &info, &r.err), TNP_E_ARG, &r.err,
             "device_info of one device too many");
    kit_want(r.t->device_info(r.instance, UINT32_MAX, &info, &r.err), TNP_E_ARG, &r.err,
             "device_info of device 2^32 - 1");
    if (info.kind != 77)
        kit_fail("outputs are untouched by a call that fails", "device_info wrote one");
    tnp_memory_info memory = { .size = sizeof memory, .pool = 77 };
    kit_want(r.t->memory_info(r.device, r.info.memory_count, &memory, &r.err), TNP_E_ARG, &r.err,
             "memory_info of one memory too many");
    if (memory.pool != 77)
        kit_fail("outputs are untouched by a call that fails", "memory_info wrote one");
    tnp_open what = { .size = sizeof what, .id = r.info.id ^ UINT64_C(0x5555555555555555) };
    REFUSED(&r, TNP_E_ARG, tnp_device, out, r.t->open(r.instance, &what, &out, &r.err),
            "open of a device that is not there");
    kit_rig_close(&r);
}

static void buffers_that_cannot_be(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_alloc none = { .size = sizeof none }, other = { .size = sizeof other, .bytes = 64 };
    other.memory = r.info.memory_count;
    REFUSED(&r, TNP_E_ARG, tnp_buffer, out, r.t->buffer_alloc(r.device, &none, &out, &r.err),
            "buffer_alloc of 0 bytes");
    REFUSED(&r, TNP_E_ARG, tnp_buffer, out, r.t->buffer_alloc(r.device, &other, &out, &r.err),
            "buffer_alloc in a memory that is not there");
    for (int i = 0; i < 3; i++) {
        static const uint64_t huge[] = { UINT64_MAX, UINT64_MAX - 63, UINT64_C(1) << 60 };
        tnp_alloc what = { .size = sizeof what, .bytes = huge[i] };
        tnp_buffer *out = (tnp_buffer *)&untouched;
        tnp_status status = r.t->buffer_alloc(r.device, &what, &out, &r.err);
        if (status != TNP_E_HOST_MEMORY && status != TNP_E_ARG)
            kit_want(status, TNP_E_DEVICE_MEMORY, &r.err, "buffer_alloc of more than there is");
        if (out != (tnp_buffer *)&untouched)
            kit_fail("outputs are untouched by a call that fails", "buffer_alloc wrote one");
    }
    r.t->buffer_free(kit_buffer(&r, 64));   // afterwards all is as before
    kit_rig_close(&r);
}

static void queues_that_cannot_be(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_queue_options how = kit_queue_options(TNP_QUEUE_COMPUTE);
    how.pending = 0;
    REFUSED(&r, TNP_E_ARG, tnp_queue, out, r.t->queue_create(r.device, &how, &out, &r.err),
            "queue_create for 0 pieces of work");
    if (r.info.update_bytes < UINT32_MAX) {
        how = kit_queue_options(TNP_QUEUE_COMPUTE);
        how.update_bytes = (uint32_t)r.info.update_bytes + 1;
        REFUSED(&r, TNP_E_ARG, tnp_queue, out, r.t->queue_create(r.device, &how, &out, &r.err),
                "queue_create for more bytes of updates than the device has");
    }
    how = kit_queue_options(TNP_QUEUE_COMPUTE);
    how.pending = UINT32_MAX;
    how.copies = how.points = UINT32_MAX;
    tnp_queue *out = (tnp_queue *)&untouched;
    tnp_status status = r.t->queue_create(r.device, &how, &out, &r.err);
    if (status == TNP_OK)
        kit_fail("queue_create for 2^96 copies fails", "TNP_OK");
    if (status != TNP_E_ARG && status != TNP_E_DEVICE_MEMORY)
        kit_want(status, TNP_E_HOST_MEMORY, &r.err, "queue_create for 2^96 copies");
    how = kit_queue_options(99);
    status = r.t->queue_create(r.device, &how, &out, &r.err);
    if (status != TNP_E_UNSUPPORTED)
        kit_want(status, TNP_E_ARG, &r.err, "queue_create of kind 99");
    kit_rig_close(&r);
}

static void semaphores_used_as_the_other_sort(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_want(r.t->semaphore_signal(r.done, 1, &r.err), TNP_E_ARG, &r.err,
             "semaphore_signal of a queue's semaphore");
    kit_want(r.t->semaphore_fail(r.gate, TNP_OK, "", &r.err), TNP_E_ARG, &r.err,
             "semaphore_fail with TNP_OK");
    kit_want(kit_submit(&r, r.queue, NULL, NULL, 0, r.gate, 1), TNP_E_ARG, &r.err,
             "queue_submit that would signal a host's semaphore");
    KIT_OK_OF(kit_submit(&r, r.queue, NULL, NULL, 0, r.done, 1), &r.err, "queue_submit");
    kit_wait_ok(&r, r.done, 1, "work behind calls that were refused");
    kit_rig_close(&r);
}

// One copy that is wrong, beside one that is right.
static void expect_bad_copy(kit_rig *r, tnp_buffer *buffer, const tnp_copy *bad, const char *text)
{
    unsigned char seen[2] = { 0 };
    tnp_copy good = { .size = sizeof good, .to_buffer = buffer, .bytes = 1, .rows = 1 };
    const tnp_copy *copies[] = { &good, bad };
    tnp_point point = { r->done, r->signal + 1 };
    tnp_sync sync = { .size = sizeof sync, .signal_count = 1, .signals = &point };
    unsigned char one = 1;
    kit_upload(r, buffer, 0, &one, 1);
    point.value = r->signal + 1;
    kit_want(r->t->queue_copy(r->queue, copies, 2, &sync, &r->err), TNP_E_ARG, &r->err, text);
    kit_download(r, buffer, 0, seen, 1);
    if (seen[0] != 1)
        kit_fail("all of a call is taken or none", "%s: the other copy was done", text);
}

static void copies_that_cannot_be(const kit_case *c)
{
    static char host[256];
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_buffer *buffer = kit_buffer(&r, 64);
    const tnp_copy in = {
        .size = sizeof in, .from_host = host, .to_buffer = buffer, .bytes = 8, .rows = 1
    };
    tnp_copy bad = in;
    bad.bytes = 0;
    expect_bad_copy(&r, buffer, &bad, "queue_copy of 0 bytes");
    bad = in;
    bad.rows = 0;
    expect_bad_copy(&r, buffer, &bad, "queue_copy of 0 rows");
    bad = in;
    bad.to_offset = 57;
    expect_bad_copy(&r, buffer, &bad, "queue_copy past the end of a buffer");
    bad.to_offset = UINT64_MAX - 3;
    expect_bad_copy(&r, buffer, &bad, "queue_copy at an offset near 2^64");
    bad = in;
    bad.rows = 5;
    bad.from_pitch = 8;
    bad.to_pitch = 15;
    expect_bad_copy(&r, buffer, &bad, "queue_copy whose last row ends past the buffer");
    bad.to_pitch = UINT64_MAX / 2;
    expect_bad_copy(&r, buffer, &bad, "queue_copy with a pitch near 2^63");
    bad = (tnp_copy){
        .size = sizeof bad, .from_buffer = buffer, .to_host = host, .bytes = 65, .rows = 1
    };
    expect_bad_copy(&r, buffer, &bad, "queue_copy of more than the source has");
    bad = (tnp_copy){ .size = sizeof bad, .from_host = host, .bytes = 8, .rows = 1 };
    expect_bad_copy(&r, buffer, &bad, "queue_copy to nowhere");
    r.t->buffer_free(buffer);
    kit_rig_close(&r);
}

static void more_than_the_queue_was_made_for(const kit_case *c)
{
    static char host[64];
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_buffer *buffer = kit_buffer(&r, 64);
    tnp_copy one = {
        .size = sizeof one, .from_host = host, .to_buffer = buffer, .bytes = 8, .rows = 1
    };
    const tnp_copy *copies[KIT_COPIES + 1];
    tnp_point points[KIT_POINTS + 1];
    for (int i = 0; i <= KIT_COPIES; i++)
        copies[i] = &one;
    for (int i = 0; i <= KIT_POINTS; i++)
        points[i] = (tnp_point){ r.gate, 0 };
    tnp_point signal = { r.done, 1 };
    tnp_sync sync = { .size = sizeof sync, .signal_count = 1, .signals = &signal };
    kit_want(r.t->queue_copy(r.queue, copies, KIT_COPIES + 1, &sync, &r.err), TNP_E_ARG, &r.err,
             "queue_copy of more copies than the queue was made for");
    sync.waits = points;
    sync.wait_count = KIT_POINTS + 1;
    kit_want(r.t->queue_copy(r.queue, copies, 1, &sync, &r.err), TNP_E_ARG, &r.err,
             "queue_copy with more waits than the queue was made for");
    tnp_submit work = { .size = sizeof work, .sync = &sync };
    const tnp_submit *works[] = { &work };
    kit_want(r.t->queue_submit(r.queue, works, 1, &r.err), TNP_E_ARG, &r.err,
             "queue_submit with more waits than the queue was made for");
    KIT_OK_OF(kit_submit(&r, r.queue, NULL, NULL, 0, r.done, 1), &r.err, "queue_submit");
    kit_wait_ok(&r, r.done, 1, "work behind calls that were refused");
    r.t->buffer_free(buffer);
    kit_rig_close(&r);
}

static void updates_that_cannot_be(const kit_case *c)
{
    static char data[4096];
    static const struct {
        tnp_update update;
        const char *text;
    } bad[] = {
        { { .storage = 7, .bytes = 4 }, "an update of a storage that is not there" },
        { { .storage = UINT32_MAX, .bytes = 4 }, "an update of storage 2^32 - 1" },
        { { .storage = 0, .bytes = 8, .offset = 60 }, "an update past the end of its storage" },
        { { .storage = 0, .bytes = 8, .offset = UINT64_MAX - 3 }, "an update at near 2^64" },
        { { .storage = 0, .bytes = KIT_UPDATE_BYTES + 4 },
          "an update of more bytes than the queue was made for" },
    };
    tnp_update many[KIT_UPDATES + 1];
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_program *p = kit_small_program(&r, 16);
    tnp_point signal = { r.done, 1 };
    tnp_sync sync = { .size = sizeof sync, .signal_count = 1, .signals = &signal };
    tnp_submit work = {
        .size = sizeof work, .update_count = 1, .updates = many, .sync = &sync, .bound = p->bound
    };
    const tnp_submit *works[] = { &work };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        many[0] = bad[i].update;
        many[0].data = data;
        kit_want(r.t->queue_submit(r.queue, works, 1, &r.err), TNP_E_ARG, &r.err, bad[i].text);
    }
    for (int i = 0; i <= KIT_UPDATES; i++)
        many[i] = (tnp_update){ .storage = 0, .bytes = 4, .data = data };
    work.update_count = KIT_UPDATES + 1;
    kit_want(r.t->queue_submit(r.queue, works, 1, &r.err), TNP_E_ARG, &r.err,
             "more updates than the queue was made for");
    work.update_count = 1;
    KIT_OK_OF(r.t->queue_submit(r.queue, works, 1, &r.err), &r.err, "queue_submit");
    kit_wait_ok(&r, r.done, 1, "work behind calls that were refused");
    kit_program_free(&r, p);
    kit_rig_close(&r);
}

static void a_bound_on_a_queue_for_copies(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_program *p = kit_small_program(&r, 16);
    tnp_queue *copies = kit_queue(&r, TNP_QUEUE_COPY);
    kit_want(kit_submit(&r, copies, p->bound, NULL, 0, r.done, 1), TNP_E_ARG, &r.err,
             "queue_submit of a program on a queue for copies");
    r.t->queue_destroy(copies);
    kit_program_free(&r, p);
    kit_rig_close(&r);
}

static tnp_status bind_with(kit_rig *r, const kit_program *p, const tnp_binding *list,
                            uint32_t count, tnp_bound **out)
{
    const tnp_binding *pointers[4];
    for (uint32_t i = 0; i < count; i++)
        pointers[i] = &list[i];
    tnp_bind what = { .size = sizeof what, .binding_count = count, .bindings = pointers };
    return r->t->bind(p->program, &what, out, &r->err);
}

static void bindings_that_cannot_be(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_program *p = kit_small_program(&r, 64);
    if (p->units[0]->claim.scratch_bytes > 0 || p->units[0]->claim.pack_count > 0)
        kit_skip("the claim asks for more than storages");
    tnp_binding good[2], bad[2];
    for (uint32_t i = 0; i < 2; i++)
        good[i] = (tnp_binding){ .size = sizeof *good,
                                 .kind = TNP_BIND_STORAGE,
                                 .index = i,
                                 .buffer = p->buffer,
                                 .offset = p->at[i],
                                 .bytes = p->slice->storages[i].bytes };
#define BAD(text, count, ...)                                                                      \
    memcpy(bad, good, sizeof bad);                                                                 \
    __VA_ARGS__;                                                                                   \
    REFUSED(&r, TNP_E_ARG, tnp_bound, out, bind_with(&r, p, bad, (count), &out), text)
    BAD("bind without a storage that is read", 1, bad[0] = good[1]);
    BAD("bind of storage 77", 2, bad[1].index = 77);
    BAD("bind of storage 2^32 - 1", 2, bad[1].index = UINT32_MAX);
    BAD("bind without a buffer", 2, bad[0].buffer = NULL);
    BAD("bind past the end of a buffer", 2, bad[0].offset = p->bytes);
    BAD("bind at an offset near 2^64", 2, bad[0].offset = UINT64_MAX - 63);
    BAD("bind with fewer bytes than the values need", 2, bad[0].bytes = 255);
    if (r.memory.alignment_bytes > 1) {
        BAD("bind at an address that is not aligned", 2, bad[0].offset += 1);
    }
#undef BAD
    memcpy(bad, good, sizeof bad);
    bad[1].kind = 99;
    tnp_bound *bound = NULL;
    tnp_status status = bind_with(&r, p, bad, 2, &bound);
    if (status != TNP_E_UNSUPPORTED)   // of a later release, or wrong
        kit_want(status, TNP_E_ARG, &r.err, "bind of kind 99");
    KIT_OK_OF(bind_with(&r, p, good, 2, &bound), &r.err, "bind of what is right");
    r.t->unbind(bound);
    kit_program_free(&r, p);
    kit_rig_close(&r);
}

static void claims_that_were_not_made(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_program *p = kit_small_program(&r, 64);
    kit_taken made_up = *p->units[0];
    const tnp_claim *units[] = { &made_up.claim };
    tnp_compile what = {
        .size = sizeof what, .unit_count = 1, .slice = &p->slice->slice, .units = units
    };
    made_up.claim.nodes = made_up.nodes;
    made_up.nodes[0] = 5;
    REFUSED(&r, TNP_E_ARG, tnp_program, out, r.t->compile(r.device, &what, &out, &r.err),
            "compile of a node that is not in the slice");
    made_up.nodes[0] = 0;
    p->slice->nodes[0].op = 60000;   // nothing that was claimed
    tnp_program *out = (tnp_program *)&untouched;
    tnp_status status = r.t->compile(r.device, &what, &out, &r.err);
    if (status != TNP_E_UNSUPPORTED)
        kit_want(status, TNP_E_ARG, &r.err, "compile of what was not claimed");
    if (out != (tnp_program *)&untouched)
        kit_fail("outputs are untouched by a call that fails", "compile wrote one");
    kit_program_free(&r, p);
    kit_rig_close(&r);
}

static int32_t stop_it(void *argument, double done)
{
    *(int *)argument += done >= 0 && done <= 1;
    return 1;
}

// Asked every second of a long compile: a short one need not ask.
static void a_compile_that_is_stopped_says_so(const kit_case *c)
{
    int asked = 0;
    tnp_program *program = NULL;
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_program *p = kit_small_program(&r, 64);
    const tnp_claim *units[] = { &p->units[0]->claim };
    tnp_compile what = { .size = sizeof what,
                         .unit_count = 1,
                         .slice = &p->slice->slice,
                         .units = units,
                         .progress = stop_it,
                         .argument = &asked };
    tnp_status status = r.t->compile(r.device, &what, &program, &r.err);
    kit_want(status, asked ? TNP_E_CANCELLED : TNP_OK, &r.err,
             asked ? "compile that was told to stop" : "compile that never asked");
    if (status == TNP_OK)
        r.t->program_destroy(program);
    kit_program_free(&r, p);
    kit_rig_close(&r);
}

static const kit_row rows[] = {
    { "devices_and_memories_that_are_not_there", devices_and_memories_that_are_not_there },
    { "buffers_that_cannot_be", buffers_that_cannot_be },
    { "queues_that_cannot_be", queues_that_cannot_be },
    { "semaphores_used_as_the_other_sort", semaphores_used_as_the_other_sort },
    { "copies_that_cannot_be", copies_that_cannot_be },
    { "more_than_the_queue_was_made_for", more_than_the_queue_was_made_for },
    { "updates_that_cannot_be", updates_that_cannot_be },
    { "a_bound_on_a_queue_for_copies", a_bound_on_a_queue_for_copies },
    { "bindings_that_cannot_be", bindings_that_cannot_be },
    { "claims_that_were_not_made", claims_that_were_not_made },
    { "a_compile_that_is_stopped_says_so", a_compile_that_is_stopped_says_so },
};

void kit_list_errors(kit_list *list)
{
    kit_list_rows(list, "errors", rows, sizeof rows / sizeof *rows);
}
