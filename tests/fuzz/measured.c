// A file of what `tenon tune` measured, of any bytes; and the same bytes with the hash that belongs
// to them, so that what lies behind that check is reached.
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/measured.h"

enum { HASH_LINE_BYTES = 7 + 64 + 1 };

static const char key[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int is_so)
{
    if (!is_so)
        abort();
}

// What is accepted can be written, and is read again as it was; of what is not nothing is kept.
static void read(const char *text, size_t bytes)
{
    static const tni_measured none;
    char written[TNI_MEASURED_BYTES];
    tni_measured got, again;
    const char *why = NULL;
    if (!tni_measured_read(text, bytes, key, &got, &why)) {
        need(why && *why && memcmp(&got, &none, sizeof got) == 0);
        return;
    }
    need(got.is_there && got.peer_count <= TNI_MOST_PEERS);
    size_t length = tni_measured_write(&got, key, written);
    need(tni_measured_read(written, length, key, &again, &why));
    need(memcmp(&got, &again, sizeof got) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char hash[SHA256_DIGEST_STRING_LENGTH];
    char *text = malloc(size + HASH_LINE_BYTES + 1);   // so that a sanitizer sees what is read
    char *alone = malloc(size ? size : 1);             // beyond it
    if (text && alone) {
        if (size) {
            memcpy(text, data, size);
            memcpy(alone, data, size);
        }
        read(alone, size);
        SHA256Data((const uint8_t *)text, size, hash);
        snprintf(text + size, HASH_LINE_BYTES + 1, "sha256 %s\n", hash);
        read(text, size + HASH_LINE_BYTES);
    }
    free(text);
    free(alone);
    return 0;
}
