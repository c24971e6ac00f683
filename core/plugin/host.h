// host.h: what the rest of libtenon sees of the plugin host: the runtime, its devices, and errors
// of plugins.
//
// A device is listed when the runtime is created and opened when it is first used. What comes from
// a plugin is foreign: texts are made safe and numbers are checked here, once, so that nobody else
// has to.
#ifndef TNI_HOST_H
#define TNI_HOST_H

#include <stdatomic.h>
#include <stdbool.h>

#include <tenon/device.h>
#include <tenon/plugin.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/team.h"
#include "base/text.h"
#include "plugin/measured.h"
#include "plugin/residents.h"

enum { TNI_DEVICE_NAME_BYTES = 64 };

typedef struct tni_plugin tni_plugin;

// Everything but `table`, `instance`, `opened`, `id`, `key` and `measured` is fixed when the
// runtime has been created. Read only outside core/plugin/.
struct tn_device {
    tn_runtime *runtime;
    tni_plugin *owner;
    const tnp_plugin *table;   // the calls of its plugin; NULL before it is opened, as the next
    tnp_instance *instance;
    const char *plugin;                 // "cpu"
    uint32_t index;                     // the plugin's own
    uint64_t id;                        // in this process, from when it is opened
    char name[TNI_DEVICE_NAME_BYTES];   // "cpu0"
    tnp_device_info info;               // texts are safe to show, kind is one of TNP_KIND_
    tnp_device *opened;                 // NULL before the first tni_device_open
    char key[TNI_DEVICE_KEY_BYTES];     // of what was measured of it; like `measured` from then on
    tni_measured measured;              // !is_there: nothing was
    atomic_bool is_abandoned;           // from it nothing came
    tni_residents *residents;           // constants, for all sessions; see there
};

static inline bool tni_is_cpu(const tn_device *device)
{
    return device->info.kind == TNP_KIND_CPU;
}

// Opens the device, once; `device->opened` is the runtime's and closed with it. Errors: those of
// the plugin. [any]
TN_NODISCARD tn_status tni_device_open(tn_device *device, tn_error *err);

// Gives up an opened device that hangs, once: it is lost, for all who use it. [any]
void tni_device_abandon(tn_device *device);

// From now on the device has these figures; they are kept in the user's cache, the file replaced as
// a whole. path: where, "" after an error. No session of the device is made meanwhile. Errors:
// TN_E_FILE there is no place for it; TN_E_IO it cannot be written.
TN_NODISCARD tn_status tni_measured_keep(tn_device *device, const tni_measured *measured,
                                         char *path, size_t room, tn_error *err);

// What was measured of copies between two opened devices; NULL = nothing. [any]
const tni_link_figures *tni_measured_peer(const tn_device *from, const tn_device *to);

// Asks an opened device about memory `memory` (< device->info.memory_count) and checks the answer:
// alignments are powers of two, free is at most total, no limit is above total where that is known.
// [any]
TN_NODISCARD tn_status tni_device_memory(const tn_device *device, uint32_t memory,
                                         tnp_memory_info *out_info, tn_error *err);
// What is free of it; UINT64_MAX = the device does not tell. [any]
uint64_t tni_memory_free(const tnp_memory_info *memory);

// Whether two devices are of one instance of a plugin, which may know links between them. [any]
bool tni_device_is_beside(const tn_device *a, const tn_device *b);
// What a plugin says of a link of opened devices; NULL in place of one is the host. Two devices are
// beside each other. false: it says nothing, and out_link is zero but for its size. [any]
bool tni_device_link(const tn_device *from, const tn_device *to, tnp_link *out_link);

// Lent; they live as long as the runtime. [any]
const tn_allocator *tni_runtime_allocator(const tn_runtime *runtime);
const tni_log *tni_runtime_log(const tn_runtime *runtime);
tni_pool *tni_runtime_pool(const tn_runtime *runtime);

// Why plugin `index` of the runtime's list is out, as the status of its reason. [any]
tn_status tni_runtime_plugin_status(const tn_runtime *runtime, uint32_t index);

// The value of `key` in [plugin.NAME]; NULL = not set. [any]
const char *tni_runtime_setting(const tn_runtime *runtime, const char *plugin, const char *key);

// How long a device may go without anything coming of it. [any]
uint64_t tni_runtime_hang_timeout_ns(const tn_runtime *runtime);

// What packs in the cache on disk are told apart by, of the plugin of an opened device: its
// version, and the SHA-256 of its file, "" = not known. Lent. [any]
const char *tni_device_plugin_version(const tn_device *device);
const char *tni_device_plugin_hash(const tn_device *device);

// At most so many bytes of packs are kept on disk; 0 = none are. [any]
uint64_t tni_runtime_pack_cache_bytes(const tn_runtime *runtime);
// Packs cannot be kept: from now on none are, and the first time a warning says why. [any]
void tni_runtime_keep_no_packs(tn_runtime *runtime, const char *why);

// How many sessions the runtime has, after `change` of them. [any]
uint32_t tni_runtime_sessions(tn_runtime *runtime, int change);

// Where spans of plugins go, on any thread; queue is the plugin's. Set while no work runs; span
// NULL (as at first) drops them.
typedef struct tni_trace {
    void *context;
    void (*span)(void *context, const char *plugin, const void *queue, const tnp_span *span);
} tni_trace;
void tni_runtime_set_trace(tn_runtime *runtime, const tni_trace *trace);
bool tni_runtime_is_traced(const tn_runtime *runtime);   // bounds made now are to tell spans

// Makes a tn_error of a plugin's, "cpu0: text", and answers its status. `who` is the device or
// plugin, perhaps with the call ("cpu0: compile"), which is told once where the text begins with it
// too. The text may be anything: unterminated, not UTF-8, empty. A status that the contract does
// not know, and TNP_OK, which is no failure, become TN_E_INTERNAL. [any]
tn_status tni_fail_plugin(tn_error *err, tnp_status status, const char *who,
                          const tnp_error *plugin_error);

// The same for a call on a device, "cpu0: open: text". A status that would speak of what the caller
// of libtenon gave (ARG, UNSUPPORTED, VERSION, IO, DATA) is a failure of the device here:
// TN_E_INTERNAL; the text has the name of what it said where the plugin gives no reason. [any]
tn_status tni_device_fail(const tn_device *device, const char *call, tnp_status answer,
                          const tnp_error *plugin_error, tn_error *err);

// Of work, which looks at values that the caller gave: DATA stays. [any]
tn_status tni_device_fail_work(const tn_device *device, const char *call, tnp_status answer,
                               const tnp_error *plugin_error, tn_error *err);

// An error for a call of a plugin to fill.
static inline tnp_error tni_plugin_error(void)
{
    return (tnp_error){ .size = sizeof(tnp_error) };
}

#endif
