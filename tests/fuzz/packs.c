// A file of packs in the cache with bytes of it changed: each three bytes of the input are a place
// and what is turned over there, and the first one what is cut off or added at its end. It is taken
// when all of it is as it was, and refused otherwise.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "exec/pack_file.h"

enum { PACK_BYTES = 2 * TNI_PACK_FILE_HEAD, MOST_BYTES = 5 * TNI_PACK_FILE_HEAD };

static const tni_pack_file_key key = { "0123456789abcdef0123456789abcde" };
static unsigned char right[MOST_BYTES];
static size_t right_bytes;
static char path[64];
static tni_pool *pool;
static tn_allocator allocator;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int is_so)
{
    if (!is_so)
        abort();
}

static void write_file(const unsigned char *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    need(file && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

static void leave(void)
{
    unlink(path);
    tni_pool_destroy(pool);
}

static void begin(void)
{
    unsigned char packs[PACK_BYTES];
    tni_pack_writer writer;
    tn_error err;
    allocator = tni_allocator(NULL);
    snprintf(path, sizeof path, "/tmp/tenon-fuzz-packs-%ld", (long)getpid());
    for (size_t i = 0; i < sizeof packs; i++)
        packs[i] = (unsigned char)(i * 7 + i / 256);
    need(tni_pool_create(&allocator, 1, &pool, &err) == TN_OK && atexit(leave) == 0);
    need(tni_pack_writer_open(&writer, path, &key, PACK_BYTES, &allocator, &err) == TN_OK);
    need(tni_pack_writer_add(&writer, packs, PACK_BYTES, &err) == TN_OK);
    need(tni_pack_writer_finish(&writer, &err) == TN_OK);
    tni_pack_writer_close(&writer);
    FILE *file = fopen(path, "rb");
    need(file != NULL);
    right_bytes = fread(right, 1, sizeof right, file);
    need(fclose(file) == 0 && right_bytes == tni_pack_file_bytes(PACK_BYTES));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char bytes[MOST_BYTES] = { 0 };
    tni_file_map map;
    tn_error err;
    if (!right_bytes)
        begin();
    memcpy(bytes, right, right_bytes);
    size_t count = size ? right_bytes + data[0] / 2 - data[0] % 2 * right_bytes * 3 / 4
                        : right_bytes;
    for (size_t i = 1; i + 3 <= size; i += 3)
        bytes[(data[i] | (size_t)data[i + 1] << 8) % sizeof bytes] ^= data[i + 2];
    write_file(bytes, count);
    tn_status status = tni_pack_file_open(path, &key, PACK_BYTES, pool, &allocator, &map, &err);
    need((status == TN_OK) == (count == right_bytes && memcmp(bytes, right, count) == 0));
    need(status == TN_OK || status == TN_E_FILE);
    if (status == TN_OK)
        tni_file_map_close(&map);
    return 0;
}
