// plugin_internal.h: for the .c files of core/plugin/ and their unit tests.
//
//   runtime.c   create, destroy, the public accessors
//     config.c      tenon.ini and the application's settings        ──► tni_config
//     discover.c    the places of the search            ──► a tni_plugin for each candidate
//     registry.c    which candidates are used, what their devices are called
//       manifest.c    the note in the file
//         fits.c        whether it fits this host and machine
//       kept.c        what is known of the file from before: quarantine, devices, a crash in use
//       probe.c       files not seen before, each in a child process
//         child.c       such a process                              ──► tenon_probe.c
//       load.c        pin, still the same file, dlopen, query, start   code of it runs
//         crash.c       whether a plugin's code is at fault when the process crashes
//         table.c       the table that the query answered
//         services.c    what the host does for a plugin
//       ask.c         asks a started plugin for its devices        ──► tni_answer
//       owner.c       which of several plugins has a device that all of them offer
//     device.c      opening (and so loading), asking
//       measured.c    what was measured of it before, from the user's cache
//         measured_text.c   the form of that file
//       residents.c   constants on it, for all sessions
//     settings.c    which settings a plugin asked for; warnings of those that nobody did
//   pin.c       a file's hash into tenon.ini
#ifndef TNI_PLUGIN_INTERNAL_H
#define TNI_PLUGIN_INTERNAL_H

#include <stdatomic.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "plugin/answer.h"
#include "plugin/host.h"

// ------------------------------------------------------------------------------------ foreign text

// A name that people type: [a-z0-9_-]+.
bool tni_text_is_name(const char *text);

// ---------------------------------------------------------------------------------------- manifest

// Random access to the bytes of a file, or of a test.
typedef struct tni_reader {
    void *context;
    uint64_t bytes;
    // Asked only for what lies within the file. false: it cannot be read.
    bool (*read)(void *context, uint64_t offset, void *to, size_t bytes);
} tni_reader;

// What a manifest is held against.
typedef struct tni_here {
    uint32_t abi;   // the newest the host speaks
    uint32_t machine, os;
    uint32_t cpu_features[2];   // what this CPU and its system have
} tni_here;

void tni_here_detect(tni_here *out_here);

// Reads the one Tenon note of an ELF file. Trusts nothing that the file says. Errors: TN_E_PLUGIN,
// the sentence without the file's name; out_manifest is then zeroed.
tn_status tni_manifest_read(const tni_reader *file, tnp_manifest *out_manifest, tn_error *err);

// TN_OK, or TN_E_VERSION with both versions, or TN_E_PLUGIN for another machine, system or CPU.
tn_status tni_manifest_fits(const tnp_manifest *manifest, const tni_here *here, tn_error *err);

// ------------------------------------------------------------------------------------------ config

typedef struct tni_config_word {
    const char *text;
    const char *source;   // the file or "settings" that it comes from
} tni_config_word;

typedef struct tni_config_words {
    tni_config_word *items;
    uint32_t count, capacity;
} tni_config_words;

typedef struct tni_setting {
    const char *plugin, *key, *value;
    const char *source;
    bool is_asked;     // the plugin asked for the key. Guarded by runtime->asking, like the next
    bool is_told_of;   // a warning was given
} tni_setting;

typedef struct tni_config_number {
    uint32_t value;
    const char *source;   // NULL = not set
} tni_config_number;

// A file that was looked for. The words and settings of a file have its path, the same pointer, as
// their source.
typedef struct tni_config_file {
    const char *path;
    bool is_there;
} tni_config_file;

// Sources are read in the order application, user, system; what comes first wins, and within one
// source what comes last.
typedef struct tni_config {
    tni_arena *arena;     // of all texts
    const tni_log *log;   // for what is unknown
    tni_config_words paths, order, disabled;
    tni_config_file *files;   // as read
    uint32_t file_count, file_capacity;
    tni_setting *settings;
    uint32_t setting_count, setting_capacity;
    tni_config_number probe_timeout_ms;   // of a file's first look
    tni_config_number hang_timeout_ms;    // of a device from which nothing comes, and of a close
    tni_config_number pack_cache;         // 1: packs are kept on disk
    tni_config_number pack_cache_mib;     // at most so many MiB of them
} tni_config;

void tni_config_init(tni_config *config, tni_arena *arena, const tni_log *log);
void tni_config_finish(tni_config *config);   // also of a zeroed struct

// "plugin.NAME.KEY=VALUE" or "plugins.KEY=VALUE". Errors: TN_E_ARG, TN_E_HOST_MEMORY.
tn_status tni_config_set(tni_config *config, const char *setting, tn_error *err);
// One setting of a plugin, as the application gives it. Errors: TN_E_HOST_MEMORY.
tn_status tni_config_add(tni_config *config, const char *plugin, const char *key, const char *value,
                         tn_error *err);
// Errors: TN_E_FILE with file and line, TN_E_HOST_MEMORY. A missing file is TN_OK unless it is
// required.
tn_status tni_config_read(tni_config *config, const char *path, bool is_required, tn_error *err);
// The same of a text; path lives as long as the config.
tn_status tni_config_read_text(tni_config *config, const char *text, size_t bytes, const char *path,
                               tn_error *err);
enum { TNI_MOST_CONFIG_BYTES = 1 << 20 };
// The user's tenon.ini; "" when the process is privileged or has no place for one.
void tni_config_user_file(char *path, size_t room);
// The user's file, or `instead`, then the system's.
tn_status tni_config_read_all(tni_config *config, const char *instead, tn_error *err);

const tni_setting *tni_config_find(const tni_config *config, const char *plugin, const char *key);
// The place that disables the plugin; NULL = none does.
const char *tni_config_disabled_by(const tni_config *config, const char *plugin);
// Keys of [plugin.NAME] that are for the host: a plugin does not see them.
bool tni_config_is_reserved(const char *key);
// Feeds what the plugin sees of its settings, in an order of its own, key by key.
void tni_config_each(const tni_config *config, const char *plugin, void *context,
                     void (*take)(void *context, const char *key, const char *value));

// -------------------------------------------------------------------------------------- candidates

typedef struct tni_identity {   // tells whether a file is still the one that was looked at
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec changed;
} tni_identity;

// What a plugin asked for, kept so that a slip of a key can be told: more keys, and what is longer,
// are only not suggested.
enum { TNI_ASKED_KEYS = 32, TNI_ASKED_BYTES = 48 };

// What is known of a file before any code of it runs in this process.
typedef enum tni_verdict {
    TNI_UNSEEN = 0,    // nothing
    TNI_QUARANTINED,   // `reason`: what it did, as words that go on after its name
    TNI_ANSWERED,   // in a process of its own it answered in time; its devices are to be asked for
    TNI_LISTED,     // and `answer` has its devices
} tni_verdict;

typedef struct tni_kept {
    tni_verdict verdict;
    char sha256[TNI_DIGITS_BYTES];      // of the file; "" = not known
    char situation[TNI_DIGITS_BYTES];   // TNI_LISTED: what the answer depends on
    char reason[TNI_REASON_BYTES];      // of the quarantine
    tni_answer answer;
} tni_kept;

typedef struct tni_watched tni_watched;

// One candidate file.
struct tni_plugin {
    tn_runtime *runtime;
    const char *path, *origin;
    bool is_named;       // by the caller: its refusal fails tn_runtime_create
    bool is_warned_of;   // named by the environment or a config: its refusal is logged
    bool has_identity;
    bool has_manifest;
    uint32_t state;   // TN_PLUGIN_; 0 = not decided yet
    tn_error why;     // the text is the reason of the state
    tnp_manifest manifest;
    uint32_t device_count;   // of those in the runtime's list

    // Once the runtime is created, guarded by runtime->opening: a plugin whose devices are known
    // from before is loaded when the first of them is opened.
    tni_identity identity;
    tni_kept kept;
    tnp_manifest loaded;   // that of the file as it was loaded
    tnp_host host;
    const tnp_plugin *table;   // NULL before it is loaded
    tnp_instance *instance;    // NULL before it is started
    tni_answer answer;         // in this process
    bool is_probed;            // at this start
    tni_answer probed;
    tni_watched *watched;   // NULL: a crash of it is not written down

    uint32_t asked_count;   // guarded by runtime->asking
    char asked[TNI_ASKED_KEYS][TNI_ASKED_BYTES];
};

// One place of the search.
typedef struct tni_place {
    const char *origin, *path, *found;
    uint32_t file_count;
} tni_place;

enum {
    TNI_MAX_CANDIDATES = 1024,
};

// A device that is not listed because another plugin has it.
typedef struct tni_shadowed {
    tn_device *device, *by;
    const char *why;
} tni_shadowed;

// The end of devices and plugins, as the thread that calls them and the one that waits share it.
typedef struct tni_closing {
    tn_runtime *runtime;
    bool has_lock;
    pthread_mutex_t lock;
    pthread_cond_t came;
    const char *who, *call;   // under way; who NULL: all are over
    uint64_t begun_ns;        // when it was called
} tni_closing;

struct tn_runtime {
    tn_allocator allocator;
    tni_log log;
    tni_arena arena;   // lives as long as the runtime
    tni_config config;
    tni_pool *pool;
    uint32_t threads;   // that plugins are told of: those of the pool, but in the helper
    tni_trace trace;
    pthread_mutex_t opening;   // of devices
    pthread_mutex_t asking;    // for settings: what was asked for is written down
    bool has_mutexes;
    tni_here here;
    char situation[TNI_DIGITS_BYTES];
    tni_place *places;   // in the order of the search
    uint32_t place_count, place_capacity;
    tni_plugin **plugins;   // in the order of the search
    uint32_t plugin_count, plugin_capacity;
    tn_device **devices;   // by plugin, as ordered; then by the plugin's index
    uint32_t device_count, device_capacity;
    _Atomic uint32_t sessions;
    tni_shadowed *shadowed;
    uint32_t shadowed_count, shadowed_capacity;
    bool keeps_nothing;           // a file of the cache could not be written, which was told
    atomic_bool keeps_no_packs;   // although it should, which was told
    bool has_no_helper;           // plugins are not probed, which was told
    tni_closing closing;
    // In the helper alone: what of the plugin is about to run, "load", "start", …
    void (*at)(const char *call);
};

// The state and the reason of a candidate, in one line.
void tni_plugin_set_state(tni_plugin *plugin, uint32_t state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Fills runtime->plugins and runtime->places. Errors: TN_E_HOST_MEMORY.
tn_status tni_discover(tn_runtime *runtime, const char *const *paths, uint32_t path_count,
                       tn_error *err);
// Answers false when the file cannot be asked; errno says why.
bool tni_identity_of(const char *path, tni_identity *out_identity, mode_t *out_mode);
bool tni_identity_is_same(const tni_identity *a, const tni_identity *b);

// Reads the manifest and holds it against this machine. Errors: TN_E_PLUGIN, TN_E_VERSION.
tn_status tni_plugin_examine(tni_plugin *plugin, tn_error *why);
// Holds the file's SHA-256 against the configurations' pin, and keeps it. Errors: TN_E_PLUGIN.
tn_status tni_plugin_check_pin(tni_plugin *plugin, tn_error *why);
// The SHA-256 of a whole file, as 64 digits.
bool tni_plugin_hash(const char *path, char digits[TNI_DIGITS_BYTES]);
// Loads the file, unless that was done: pin, probe where it is another than the one that was looked
// at, dlopen, table, instance, devices (`answer`). Errors: TN_E_PLUGIN in words, TN_E_HOST_MEMORY.
tn_status tni_plugin_bring_up(tni_plugin *plugin, tn_error *why);
// The same without a look at the file and its devices: what a probe does in a process of its own.
tn_status tni_plugin_load(tni_plugin *plugin, tn_error *why);
void tni_plugin_stop(tni_plugin *plugin);   // also of one that is not started
// Closes all devices and stops all plugins. false: a call did not come back in time, which is told;
// its thread is left in it, and may use anything of the runtime.
bool tni_plugins_close(tn_runtime *runtime);
// Holds a table against the contract and the file's manifest. Errors: TN_E_PLUGIN.
tn_status tni_plugin_check_table(const tni_plugin *plugin, const tnp_plugin *table, tn_error *why);
void tni_plugin_fill_host(tni_plugin *plugin);
// Asks a started plugin for its devices. Errors: TN_E_HOST_MEMORY.
tn_status tni_plugin_ask_devices(tni_plugin *plugin, tni_answer *out, tn_error *err);

// ------------------------------------------------------------------------------ cache and
// quarantine

// What is kept of the file as it is, into plugin->kept; of a list only in the situation at hand.
// Errors: TN_E_HOST_MEMORY.
tn_status tni_kept_find(tni_plugin *plugin, tn_error *err);
// Keeps plugin->kept. false: it is not kept; what cannot be written is told once.
bool tni_kept_write(tni_plugin *plugin);
// The devices of plugin->kept are those of the answer from now on, as far as these may be kept: a
// CPU's depend on limits that change, and a driver that is missing may come.
bool tni_kept_may_list(const tni_answer *answer);
void tni_kept_set_answer(tni_plugin *plugin, const tni_answer *answer);
// What an answer depends on besides the file. The first gives what is the same for all plugins, for
// runtime->situation.
void tni_situation_begin(char digits[TNI_DIGITS_BYTES]);
void tni_situation(const tn_runtime *runtime, const char *plugin, char digits[TNI_DIGITS_BYTES]);

// The form of a file, and back: see kept_text.c. key: of the path. false: damaged, or of another
// release, path or (out_has_memory) there is none.
size_t tni_kept_text(const tni_kept *kept, const tni_identity *identity, const char *key, char *to);
bool tni_kept_read(const char *text, size_t bytes, const char *key, tni_arena *arena,
                   tni_kept *out_kept, tni_identity *out_identity, bool *out_has_memory);
enum { TNI_KEPT_BYTES = TNI_ANSWER_BYTES + 2048 };

// ---------------------------------------------------------------------------------- crashes in use

// While it is watched, a crash with the plugin's code at fault is written down, where
// tni_kept_find looks. Does nothing unless the program asked for it; where there is no place or no
// memory for it the plugin is not watched.
void tni_crash_watch(tni_plugin *plugin, void *library);
// Before the runtime's memory is gone. What was written down is gone, too: the process lived on.
void tni_crash_unwatch(tni_plugin *plugin);

// Where a crash of the plugin is written down. false: there is no place.
bool tni_kept_crash_path(const char *plugin_path, char key[TNI_DIGITS_BYTES], char *path);

typedef struct tni_crash {   // what is written down of one
    char sha256[TNI_DIGITS_BYTES];
    tni_identity identity;   // of the file as it was loaded
    int number;              // of the signal
    int64_t seconds;         // since the epoch
} tni_crash;
enum { TNI_CRASH_BYTES = 512 };
// The form of that: all but the two numbers, for which there is room; and back. false: damaged.
size_t tni_crash_text(const tni_crash *crash, const char *key, char to[TNI_CRASH_BYTES]);
bool tni_crash_read(const char *text, size_t bytes, const char *key, tni_crash *out_crash);

// ----------------------------------------------------------------------------------------- probing

// Loads each file in a child process and asks for its devices, many at a time: plugin->kept becomes
// QUARANTINED, ANSWERED or LISTED, and is written. Where no child can be started it becomes
// ANSWERED, and a line says so once. Errors: TN_E_HOST_MEMORY.
tn_status tni_probe(tn_runtime *runtime, tni_plugin *const *plugins, uint32_t count, tn_error *err);

// The exit code of a child that came to its own end. A plugin has no reason to choose it.
enum { TNI_PROBE_ENDED = 93 };

// What came from a child, see probe_text.c.
typedef struct tni_probed {
    bool has_begun;    // the file was read, and code of it was about to run
    bool is_whole;     // `answer` is what it said
    bool is_garbage;   // neither whole nor cut
    char at[16];       // what ran last
    char sha256[TNI_DIGITS_BYTES];
    tni_answer answer;
} tni_probed;
// false: there is no memory.
bool tni_probed_read(const char *text, size_t bytes, tni_arena *arena, tni_probed *out);

// --------------------------------------------------------------------------------------- decisions

// Takes devices that several plugins offer from all but one of them. Errors: TN_E_HOST_MEMORY.
tn_status tni_owners_decide(tn_runtime *runtime, tn_error *err);
// Tells which devices of two plugins may be one, where nothing tells; by the names that they have.
void tni_owners_doubt(tn_runtime *runtime);
// The file that holds this code: libtenon, or a program that it is linked into.
bool tni_own_file(char *path, size_t room);

// The value of a setting that the plugin asks for; NULL = not set. [any]
const char *tni_plugin_ask(tni_plugin *plugin, const char *key);
// Each setting of the plugin that it never asked for, once. [any]
void tni_plugin_warn_of_unasked(const tni_plugin *plugin);
// Settings of plugins that no candidate is named.
void tni_runtime_warn_of_absent(tn_runtime *runtime);

// The key of a device, and what the cache has of it, into the device; when it is opened. warning:
// of a file that is ignored, "" = none.
void tni_measured_load(tn_device *device, char *warning, size_t room);
// What tells a device from others, and its figures from theirs.
void tni_device_key(const tn_device *device, char key[TNI_DEVICE_KEY_BYTES]);

// Decides on every candidate and lists the devices. Errors: TN_E_HOST_MEMORY.
tn_status tni_registry_fill(tn_runtime *runtime, tn_error *err);

#endif
