// A file of what is kept of a plugin or of its crash, and what comes from the process that tried
// one, of any bytes; and the same bytes with the hash that belongs to them, so that what lies
// behind that check is reached.
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "plugin/plugin_internal.h"

enum { HASH_LINE_BYTES = 7 + 64 + 1 };

static const char key[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int is_so)
{
    if (!is_so)
        abort();
}

static void check_answer(const tni_answer *answer)
{
    need(answer->count <= TNI_MAX_DEVICES && !strchr(answer->reason, '\n'));
    for (uint32_t i = 0; i < answer->count; i++) {
        const tnp_device_info *info = &answer->offers[i].info;
        need(info->kind >= TNP_KIND_CPU && info->kind <= TNP_KIND_SOFTWARE);
        need(memchr(info->name, 0, sizeof info->name) != NULL && !strchr(info->name, '\n'));
    }
}

// What is accepted can be written, and is read again as it was; of what is not nothing is kept.
static void read_kept(const char *text, size_t bytes, tni_arena *arena, char *written)
{
    tni_kept kept, again;
    tni_identity identity, same;
    bool has_memory;
    if (!tni_kept_read(text, bytes, key, arena, &kept, &identity, &has_memory)) {
        need(kept.verdict == TNI_UNSEEN && !kept.sha256[0]);
        return;
    }
    need(kept.verdict != TNI_UNSEEN);
    check_answer(&kept.answer);
    size_t length = tni_kept_text(&kept, &identity, key, written);
    need(tni_kept_read(written, length, key, arena, &again, &same, &has_memory));
    need(again.verdict == kept.verdict && tni_identity_is_same(&same, &identity));
    need(tni_answer_is_same(&again.answer, &kept.answer));
}

static void read_crash(const char *text, size_t bytes)
{
    tni_crash crash;
    bool is_read = tni_crash_read(text, bytes, key, &crash);
    need(is_read == (crash.number != 0) && strlen(crash.sha256) == (is_read ? 64 : 0));
}

static void read_probed(const char *text, size_t bytes, tni_arena *arena)
{
    tni_probed probed;
    need(tni_probed_read(text, bytes, arena, &probed));
    need(!probed.is_whole || !probed.is_garbage);
    if (probed.is_whole)
        check_answer(&probed.answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char hash[SHA256_DIGEST_STRING_LENGTH];
    char *text = malloc(size + HASH_LINE_BYTES + 1);   // so that a sanitizer sees what is read
    char *alone = malloc(size ? size : 1);             // beyond it
    char *written = malloc(TNI_KEPT_BYTES);
    tn_allocator allocator = tni_allocator(NULL);
    tni_arena arena;
    tni_arena_init(&arena, &allocator);
    if (text && alone && written) {
        if (size) {
            memcpy(text, data, size);
            memcpy(alone, data, size);
        }
        read_kept(alone, size, &arena, written);
        read_probed(alone, size, &arena);
        read_crash(alone, size);
        SHA256Data((const uint8_t *)text, size, hash);
        snprintf(text + size, HASH_LINE_BYTES + 1, "sha256 %s\n", hash);
        read_kept(text, size + HASH_LINE_BYTES, &arena, written);
        read_probed(text, size + HASH_LINE_BYTES, &arena);
    }
    tni_arena_finish(&arena);
    free(text);
    free(alone);
    free(written);
    return 0;
}
