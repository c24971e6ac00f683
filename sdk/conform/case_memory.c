// case_memory.c: buffers, what copies move, mapping and importing.
#include <stdlib.h>

#include "conform_internal.h"

enum { PITCHED = 4096 };

// Rows with gaps on both sides, at odd offsets, into a buffer and out of it; nothing else changes.
static void copies_move_rows_and_nothing_else(const kit_case *c)
{
    static unsigned char before[PITCHED], after[PITCHED], want[PITCHED], host[PITCHED];
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_buffer *buffer = kit_buffer(&r, PITCHED);
    for (int round = 0; round < 40; round++) {
        tnp_copy copy = { .size = sizeof copy, .from_host = host, .to_buffer = buffer };
        copy.bytes = 1 + (uint64_t)kit_random(0, 70);
        copy.rows = 1 + (uint64_t)kit_random(0, 8);
        copy.from_pitch = copy.bytes + (uint64_t)kit_random(0, 30);
        copy.to_pitch = copy.bytes + (uint64_t)kit_random(0, 30);
        copy.to_offset = (uint64_t)kit_random(0, 900);
        if (copy.rows == 1)   // of one row pitches are not looked at
            copy.from_pitch = copy.to_pitch = 1;
        for (int i = 0; i < PITCHED; i++) {
            before[i] = (unsigned char)kit_random(0, 256);
            host[i] = (unsigned char)kit_random(0, 256);
        }
        memcpy(want, before, PITCHED);
        for (uint64_t row = 0; row < copy.rows; row++)
            memcpy(want + copy.to_offset + row * copy.to_pitch, host + row * copy.from_pitch,
                   copy.bytes);
        kit_upload(&r, buffer, 0, before, PITCHED);
        r.signal++;
        KIT_OK_OF(kit_copy(&r, r.queue, &copy, NULL, 0, r.done, r.signal), &r.err, "queue_copy");
        kit_wait_ok(&r, r.done, r.signal, "a copy of rows");
        kit_download(&r, buffer, 0, after, PITCHED);
        for (int i = 0; i < PITCHED; i++)
            if (after[i] != want[i])
                kit_fail(kit_text("%llu rows of %llu bytes, from pitch %llu to pitch %llu",
                                  (unsigned long long)copy.rows, (unsigned long long)copy.bytes,
                                  (unsigned long long)copy.from_pitch,
                                  (unsigned long long)copy.to_pitch),
                         "byte %d of the buffer is %u, not %u", i, after[i], want[i]);
    }
    r.t->buffer_free(buffer);
    kit_rig_close(&r);
}

static void rows_come_back_with_their_pitches(const kit_case *c)
{
    unsigned char all[256], host[512], want[512];
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_buffer *buffer = kit_buffer(&r, sizeof all);
    for (int i = 0; i < 256; i++)
        all[i] = (unsigned char)(i * 7 + 1);
    kit_upload(&r, buffer, 0, all, sizeof all);
    memset(host, 99, sizeof host);
    memset(want, 99, sizeof want);
    tnp_copy copy = { .size = sizeof copy,
                      .from_buffer = buffer,
                      .to_host = host,
                      .from_offset = 3,
                      .bytes = 11,
                      .rows = 13,
                      .from_pitch = 17,
                      .to_pitch = 31 };
    for (int row = 0; row < 13; row++)
        memcpy(want + 31 * row, all + 3 + 17 * row, 11);
    r.signal++;
    KIT_OK_OF(kit_copy(&r, r.queue, &copy, NULL, 0, r.done, r.signal), &r.err, "queue_copy");
    kit_wait_ok(&r, r.done, r.signal, "a copy of rows");
    if (memcmp(host, want, sizeof host) != 0)
        kit_fail("rows of 11 bytes, nothing between them touched", "other bytes");
    r.t->buffer_free(buffer);
    kit_rig_close(&r);
}

static void zeros_and_buffers_are_copied(const kit_case *c)
{
    unsigned char bytes[300];
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_buffer *a = kit_buffer(&r, 300), *b = kit_buffer(&r, 300);
    for (int i = 0; i < 300; i++)
        bytes[i] = (unsigned char)(i + 1);
    kit_upload(&r, a, 0, bytes, 300);
    kit_upload(&r, b, 0, bytes, 300);
    tnp_copy zeros = {
        .size = sizeof zeros, .to_buffer = b, .to_offset = 10, .bytes = 20, .rows = 1
    };
    tnp_copy across = { .size = sizeof across,
                        .from_buffer = a,
                        .to_buffer = b,
                        .from_offset = 1,
                        .to_offset = 100,
                        .bytes = 77,
                        .rows = 1 };
    const tnp_copy *copies[] = { &zeros, &across };   // of one call: at once, or in any order
    tnp_point point = { r.done, ++r.signal };
    tnp_sync sync = { .size = sizeof sync, .signal_count = 1, .signals = &point };
    KIT_OK_OF(r.t->queue_copy(r.queue, copies, 2, &sync, &r.err), &r.err, "queue_copy");
    kit_wait_ok(&r, r.done, r.signal, "two copies of one call");
    memset(bytes + 10, 0, 20);
    for (int i = 0; i < 77; i++)
        bytes[100 + i] = (unsigned char)(i + 2);
    unsigned char got[300];
    kit_download(&r, b, 0, got, 300);
    for (int i = 0; i < 300; i++)
        if (got[i] != bytes[i])
            kit_fail(kit_text("byte %d is %u", i, bytes[i]), "%u", got[i]);
    r.t->buffer_free(a);
    r.t->buffer_free(b);
    kit_rig_close(&r);
}

static void buffers_start_where_they_may_be_bound(const kit_case *c)
{
    static const uint64_t sizes[] = { 1, 2, 63, 64, 65, 4095, 4097, 1 << 20 };
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    if (!(r.memory.flags & TNP_MEMORY_HOST_VISIBLE))
        kit_skip("the host does not see the device's memory");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *at = NULL;
        tnp_buffer *buffer = kit_buffer(&r, sizes[i]);
        KIT_OK_OF(r.t->buffer_map(buffer, &at, &r.err), &r.err, "buffer_map");
        if ((uintptr_t)at % r.memory.alignment_bytes != 0)
            kit_fail(kit_text("a buffer of %llu bytes starts at a multiple of %llu",
                              (unsigned long long)sizes[i],
                              (unsigned long long)r.memory.alignment_bytes),
                     "at %p", at);
        r.t->buffer_free(buffer);
    }
    kit_rig_close(&r);
}

// What is written through a map is what a copy brings, and the reverse.
static void a_map_is_coherent(const kit_case *c)
{
    unsigned char bytes[1000], got[1000];
    void *at = NULL;
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_buffer *buffer = kit_buffer(&r, sizeof bytes);
    bool is_visible = (r.memory.flags & TNP_MEMORY_HOST_VISIBLE) != 0;
    if (is_visible && !TNP_CAN(tnp_plugin, r.t, buffer_map))
        kit_fail("memory that is HOST_VISIBLE can be mapped", "buffer_map is NULL");
    if (!is_visible) {
        if (TNP_CAN(tnp_plugin, r.t, buffer_map))
            kit_want(r.t->buffer_map(buffer, &at, &r.err), TNP_E_UNSUPPORTED, &r.err, "buffer_map");
        kit_skip("the host does not see the device's memory");
    }
    KIT_OK_OF(r.t->buffer_map(buffer, &at, &r.err), &r.err, "buffer_map");
    for (int i = 0; i < 1000; i++)
        bytes[i] = (unsigned char)(i * 3);
    memcpy(at, bytes, sizeof bytes);
    kit_download(&r, buffer, 0, got, sizeof got);
    if (memcmp(bytes, got, sizeof got) != 0)
        kit_fail("a copy brings what was written through the map", "other bytes");
    for (int i = 0; i < 1000; i++)
        bytes[i] = (unsigned char)(i * 5 + 1);
    kit_upload(&r, buffer, 0, bytes, sizeof bytes);
    if (memcmp(at, bytes, sizeof bytes) != 0)
        kit_fail("the map shows what a copy brought", "other bytes");
    r.t->buffer_free(buffer);
    kit_rig_close(&r);
}

static void memory_of_the_host_is_imported(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    if (!TNP_CAN(tnp_plugin, r.t, buffer_import))
        kit_skip("the plugin imports nothing");
    uint64_t unit = r.memory.import_alignment_bytes ? r.memory.import_alignment_bytes : 1;
    uint64_t bytes = (4096 + unit - 1) / unit * unit;
    unsigned char *memory = aligned_alloc(unit > 4096 ? unit : 4096, (bytes + 4095) / 4096 * 4096),
                  *got = malloc(bytes);
    if (!memory || !got)
        kit_fail("memory for the case", "it is not there");
    tnp_import what = { .size = sizeof what,
                        .flags = TNP_IMPORT_READ_ONLY,
                        .kind = TNP_IMPORT_HOST,
                        .handle = (uintptr_t)memory,
                        .bytes = bytes };
    tnp_buffer *buffer = NULL;
    bool may = (r.memory.flags & TNP_MEMORY_IMPORT) != 0;
    tnp_status status = r.t->buffer_import(r.device, &what, &buffer, &r.err);
    kit_want(status, may ? TNP_OK : TNP_E_UNSUPPORTED, &r.err, "buffer_import");
    if (!may)
        kit_skip("memory 0 imports nothing");
    for (uint64_t i = 0; i < bytes; i++)
        memory[i] = (unsigned char)(i * 11);
    kit_download(&r, buffer, 0, got, bytes);
    if (memcmp(memory, got, bytes) != 0)
        kit_fail("the buffer has the bytes of the host", "other bytes");
    what.kind = 77;
    kit_want(r.t->buffer_import(r.device, &what, &buffer, &r.err), TNP_E_UNSUPPORTED, &r.err,
             "buffer_import of a kind that nobody knows");
    r.t->buffer_free(buffer);
    kit_rig_close(&r);
    free(memory);
    free(got);
}

static void what_is_freed_is_free_again(const kit_case *c)
{
    tnp_memory_info before = { .size = sizeof before }, after = { .size = sizeof after };
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    KIT_OK_OF(r.t->memory_info(r.device, 0, &before, &r.err), &r.err, "memory_info");
    for (int i = 0; i < 200; i++) {
        tnp_buffer *buffer = kit_buffer(&r, 1 << 20);
        r.t->buffer_free(buffer);
    }
    KIT_OK_OF(r.t->memory_info(r.device, 0, &after, &r.err), &r.err, "memory_info");
    if (before.pool != 1 && after.free_bytes + (UINT64_C(100) << 20) < before.free_bytes)
        kit_fail("200 buffers that were freed take no memory", "%llu bytes are gone",
                 (unsigned long long)(before.free_bytes - after.free_bytes));
    r.t->buffer_free(NULL);
    kit_rig_close(&r);
}

static const kit_row rows[] = {
    { "copies_move_rows_and_nothing_else", copies_move_rows_and_nothing_else },
    { "rows_come_back_with_their_pitches", rows_come_back_with_their_pitches },
    { "zeros_and_buffers_are_copied", zeros_and_buffers_are_copied },
    { "buffers_start_where_they_may_be_bound", buffers_start_where_they_may_be_bound },
    { "a_map_is_coherent", a_map_is_coherent },
    { "memory_of_the_host_is_imported", memory_of_the_host_is_imported },
    { "what_is_freed_is_free_again", what_is_freed_is_free_again },
};

void kit_list_memory(kit_list *list)
{
    kit_list_rows(list, "memory", rows, sizeof rows / sizeof *rows);
}
