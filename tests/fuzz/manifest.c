// The reader of manifests on any bytes. It may refuse them; it may not read outside them, and what
// it accepts is fit to be shown.
#include <stdint.h>
#include <string.h>

#include "plugin/plugin_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct fuzz_bytes {
    const uint8_t *data;
    size_t size;
} fuzz_bytes;

static bool read_bytes(void *context, uint64_t offset, void *to, size_t bytes)
{
    const fuzz_bytes *from = context;
    if (offset > from->size || bytes > from->size - offset)
        __builtin_trap();   // the reader promises to stay within the file
    memcpy(to, from->data + offset, bytes);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes bytes = { data, size };
    tni_reader reader = { &bytes, size, read_bytes };
    tni_here here;
    tnp_manifest manifest;
    tn_error err;
    tni_here_detect(&here);
    if (tni_manifest_read(&reader, &manifest, &err) != TN_OK)
        return 0;
    if (!tni_text_is_name(manifest.name) || !memchr(manifest.vendor, 0, sizeof manifest.vendor))
        __builtin_trap();
    (void)tni_manifest_fits(&manifest, &here, &err);
    return 0;
}
