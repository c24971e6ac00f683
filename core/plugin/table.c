// table.c: holds the table that a plugin's query answered against the contract.
#include <string.h>

#include "base/error.h"
#include "base/macros.h"
#include "plugin/plugin_internal.h"

// Every call of 1.0 that may not be NULL. Left out, as optional: buffer_import, buffer_map,
// semaphore_notify, pack.
static const struct {
    const char *name;
    size_t offset;
} required[] = {
// clang-format off
#define CALL(name) { #name, offsetof(tnp_plugin, name) }
    CALL(start), CALL(stop), CALL(device_count), CALL(device_info), CALL(open), CALL(close),
    CALL(abandon), CALL(memory_info), CALL(link), CALL(buffer_alloc), CALL(buffer_free),
    CALL(semaphore_create), CALL(semaphore_destroy), CALL(semaphore_read), CALL(semaphore_signal),
    CALL(semaphore_fail), CALL(semaphore_wait), CALL(queue_create), CALL(queue_destroy),
    CALL(queue_copy), CALL(queue_submit), CALL(claim), CALL(compile), CALL(program_destroy),
    CALL(bind), CALL(unbind), CALL(extension),
#undef CALL
};   // clang-format on

enum { TABLE_BYTES_1_0 = offsetof(tnp_plugin, extension) + sizeof((tnp_plugin *)0)->extension };

static const char *find_missing_call(const tnp_plugin *table)
{
    for (size_t i = 0; i < TN_COUNT_OF(required); i++) {
        void (*call)(void);
        memcpy(&call, (const char *)table + required[i].offset, sizeof call);
        if (!call)
            return required[i].name;
    }
    return NULL;
}

// Without the first field: its size is the file's own there and ours here, where the rest is zero.
static bool shows_manifest(const tnp_note *note, const tnp_manifest *manifest)
{
    enum { SKIP = sizeof manifest->size };
    if (!note || note->size < SKIP)
        return false;
    size_t both = note->size < sizeof *manifest ? note->size : sizeof *manifest;
    return memcmp((const char *)&note->manifest + SKIP, (const char *)manifest + SKIP,
                  both - SKIP) == 0;
}

tn_status tni_plugin_check_table(const tni_plugin *plugin, const tnp_plugin *table, tn_error *why)
{
    if (table->size < TABLE_BYTES_1_0)
        return tni_fail(why, TN_E_PLUGIN, "its table has %u bytes, ABI 1.0 has %zu", table->size,
                        (size_t)TABLE_BYTES_1_0);
    const char *missing = find_missing_call(table);
    if (missing)
        return tni_fail(why, TN_E_PLUGIN, "its table lacks the call %s", missing);
    if (table->abi != plugin->loaded.abi)
        return tni_fail(why, TN_E_PLUGIN, "its table is of ABI %u.%u, its manifest of %u.%u",
                        table->abi >> 16, table->abi & 0xffffu, plugin->loaded.abi >> 16,
                        plugin->loaded.abi & 0xffffu);
    if (!shows_manifest(table->note, &plugin->loaded))
        return tni_fail(why, TN_E_PLUGIN,
                        "its table shows another manifest than its file: another version is "
                        "loaded already, or the file was replaced");
    return TN_OK;
}
