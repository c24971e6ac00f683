// The reader of states in a file on any bytes, under a magic, version, size, fingerprint and hash
// that fit: what is behind them may be refused, and may not harm a session.
//
// The session has the states s, F32 {4, 3}, and n, F32 {2}.
#include <sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tenon/session.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER_BYTES = 64, FILE_BYTES_AT = 16, GRAPHS_AT = 24, HASH_BYTES = 32 };

static tn_session *session;
static int file;
static char path[64];
static uint8_t header[HEADER_BYTES];   // of a file that the session wrote

static void need(tn_status status)
{
    if (status != TN_OK)
        __builtin_trap();
}

static tn_graph *make_graph(void)
{
    tn_graph *graph;
    need(tn_graph_create(NULL, &graph, NULL));
    tn_value s = tn_graph_state(graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    tn_value n = tn_graph_state(graph, "n", TN_DTYPE_F32, 1, (int64_t[]){ 2 });
    tn_graph_output(graph, "out", tn_graph_scale(graph, s, 2));
    tn_graph_output(graph, "more", tn_graph_scale(graph, n, 2));
    need(tn_graph_finish(graph, NULL));
    return graph;
}

// Once, and for the life of the process.
static void begin(void)
{
    tn_runtime *runtime;
    char own[] = "/tmp/snapshot-fuzz-XXXXXX";
    const tn_graph *graphs[] = { make_graph() };
    need(tn_runtime_create(NULL, &runtime, NULL));
    need(tn_session_create(runtime, graphs, 1, NULL, &session, NULL));
    int written = mkstemp(own);
    need(tn_session_save(session, own, NULL, NULL));
    close(written);
    FILE *saved = fopen(own, "rb");
    if (!saved || fread(header, 1, sizeof header, saved) != sizeof header)
        __builtin_trap();
    fclose(saved);
    unlink(own);
    file = memfd_create("snapshot", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
}

static void write_file(const uint8_t *data, size_t size)
{
    static uint8_t bytes[1 << 16];
    SHA2_CTX hash;
    uint64_t total = size + HASH_BYTES;
    memcpy(bytes, data, size);
    memcpy(bytes, header, 12);   // magic and version
    memcpy(bytes + FILE_BYTES_AT, &total, sizeof total);
    memcpy(bytes + GRAPHS_AT, header + GRAPHS_AT, 8);
    SHA256Init(&hash);
    SHA256Update(&hash, bytes, size);
    SHA256Final(bytes + size, &hash);
    if (ftruncate(file, (off_t)total) != 0 || pwrite(file, bytes, total, 0) != (ssize_t)total)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tn_snapshot *snapshot;
    tn_error err;
    if (size < HEADER_BYTES || size > (1 << 16) - HASH_BYTES)
        return 0;
    if (!session)
        begin();
    write_file(data, size);
    if (tn_snapshot_open(path, NULL, &snapshot, &err) != TN_OK)
        return 0;
    uint64_t bytes;
    const unsigned char *note = tn_snapshot_note(snapshot, &bytes);
    for (volatile uint64_t i = 0; i < bytes; i = i + 1)
        (void)((const volatile unsigned char *)note)[i];
    if (tn_session_restore(session, snapshot, "", &err) != TN_OK && err.status != TN_E_GRAPH)
        __builtin_trap();
    tn_snapshot_close(snapshot);
    return 0;
}
