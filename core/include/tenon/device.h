// device.h: the runtime of an application: the plugins it found, the devices they offer, threads,
// settings and log.
//
// A tn_runtime looks for plugins when it is created, reads the manifest of every candidate, tries
// files not seen before in processes of their own (a child of this process, for a moment), and
// lists the devices of those that work in an order that is the same at every start. What is found
// out is kept in the user's cache; a plugin whose devices are known from before is loaded when one
// of them is first used. A plugin that fails is told by tn_runtime_plugin and otherwise ignored,
// unless its file was named: then creation fails with TN_E_PLUGIN.
//
// Ownership: devices, plugin infos and names are lent; they live as long as the runtime.
// Threads: [any] for everything but create and destroy.
#ifndef TENON_DEVICE_H
#define TENON_DEVICE_H

#include <tenon/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_runtime tn_runtime;
typedef struct tn_device tn_device;

enum { TN_LOG_ERROR = 0, TN_LOG_WARNING = 1, TN_LOG_INFO = 2, TN_LOG_DEBUG = 3 };

// All fields but size may be 0 or NULL. Copied during the call.
typedef struct tn_runtime_options {
    uint32_t size;      // sizeof
    uint32_t threads;   // of the pool, the caller counted; 0 = CPUs of the affinity mask and quota
    const char *const *plugin_paths;   // files or folders, searched first
    uint32_t plugin_path_count;
    uint32_t setting_count;
    const char *const *settings;   // "plugin.cpu.activations=f32", as [plugin.cpu] of tenon.ini
    const char *config;   // this file in place of the user's tenon.ini; a missing one is an error
    const tn_allocator *allocator;   // NULL = the C library's
    void *log_context;
    // NULL = standard error, warnings and errors only. Called on any thread.
    void (*log)(void *context, int32_t level, const char *text);
    uint32_t flags;      // TN_RUNTIME_…
    uint32_t reserved;   // 0
} tn_runtime_options;

enum {
    TN_RUNTIME_LIST_REFUSED =
        1,   // a named plugin that is rejected is no error: it is left out, as
             // others are, and tn_runtime_plugin tells why
};

// Errors: TN_E_PLUGIN a named plugin is rejected; TN_E_FILE config; TN_E_ARG a setting without "=".
// Since 0.1
TN_NODISCARD TN_API tn_status tn_runtime_create(const tn_runtime_options *options,
                                                tn_runtime **out_runtime, tn_error *err);

// NULL is fine. After all sessions made with it. Where a plugin hangs in it the runtime is left as
// it is after plugins.hang_timeout_ms, with a warning. Since 0.1
TN_API void tn_runtime_destroy(tn_runtime *runtime);

// Threads of the pool, the caller counted. Since 0.1
TN_API uint32_t tn_runtime_threads(const tn_runtime *runtime);

// ----------------------------------------------------------------------------------------- devices

enum {
    TN_KIND_CPU = 1,
    TN_KIND_GPU = 2,
    TN_KIND_INTEGRATED_GPU = 3,
    TN_KIND_ACCELERATOR = 4,
    TN_KIND_SOFTWARE = 5
};

typedef struct tn_device_info {
    uint32_t size;   // sizeof, set by the caller
    uint32_t kind;
    const char *name;          // "cpu0": what people type
    const char *description;   // "AMD EPYC"
    const char *driver;
    const char *plugin;      // "cpu"
    uint64_t memory_bytes;   // 0 = unknown
    double flops_per_s;      // rough, F32; 0 = unknown
} tn_device_info;

TN_API uint32_t tn_runtime_device_count(const tn_runtime *runtime);   // Since 0.1
TN_API tn_device *tn_runtime_device(const tn_runtime *runtime,
                                    uint32_t index);   // NULL past the end. Since 0.1
TN_API tn_device *tn_runtime_find_device(const tn_runtime *runtime,
                                         const char *name);   // NULL = none. Since 0.1
TN_API void tn_device_describe(const tn_device *device, tn_device_info *out_info);   // Since 0.1

// 1: it is used where no device is named, as all are but software; else 0, also of NULL. [any]
// Since 0.1
TN_API uint32_t tn_device_is_default(const tn_device *device);

// A device that is not among these, because another plugin offers the same one and is used for it.
typedef struct tn_shadowed_info {
    uint32_t size;   // sizeof, set by the caller
    uint32_t kind;
    const char *name;   // that it would have
    const char *description;
    const char *plugin;
    const char *by;       // the name of the device that is used
    const char *reason;   // why that one: goes on after both names
} tn_shadowed_info;

TN_API uint32_t tn_runtime_shadowed_count(const tn_runtime *runtime);   // Since 0.1
TN_API void tn_runtime_shadowed(const tn_runtime *runtime, uint32_t index,
                                tn_shadowed_info *out_info);   // past the end: zeros. Since 0.1

// ----------------------------------------------------------------------------------------- plugins

enum {
    TN_PLUGIN_LOADED = 1,     // in use: loaded, or as soon as one of its devices is used
    TN_PLUGIN_SHADOWED = 2,   // fits, but another of the same name comes first
    TN_PLUGIN_DISABLED = 3,   // by the config
    TN_PLUGIN_REJECTED = 4,   // `reason` says why
    TN_PLUGIN_QUARANTINED =
        5,   // tried in a process of its own, or in use, it did what `reason` says
};

// One candidate file, in the order of the search.
typedef struct tn_plugin_info {
    uint32_t size;   // sizeof, set by the caller
    uint32_t state;
    const char *path;
    const char *origin;   // which place of the search: "--plugin", "TENON_PLUGIN_PATH", "config",
                          // "installed"
    const char *name;     // of the manifest; "" when there is none
    const char *version;
    const char *vendor;
    const char *license;
    const char *reason;              // one line: why it is in, or out
    uint32_t abi_major, abi_minor;   // built with; 0.0 without a manifest
    uint32_t device_count;
    uint32_t is_named;   // 1: its file was named by the caller
} tn_plugin_info;

TN_API uint32_t tn_runtime_plugin_count(const tn_runtime *runtime);   // Since 0.1
TN_API void tn_runtime_plugin(const tn_runtime *runtime, uint32_t index,
                              tn_plugin_info *out_info);   // past the end: zeros. Since 0.1

// From now on a crash of this process (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT) in which a
// plugin's code is at fault is written into the user's cache, and the next start quarantines its
// file until that changes, with a warning. At fault is the plugin whose code was running, or called
// what was: the C library, a driver. The application's own code is not, nor where a plugin calls it
// (log, allocator), nor is a signal that another process sent. A plugin that the application has
// given wrong memory may be innocent: tn_plugin_forget releases it.
//
// The process ends as it would have: a handler that was there before is called next, else the
// default action follows, so that core dumps, debuggers and crash reporters have all they had. A
// handler installed later comes first, and this one only if that passes on what it does not handle.
// Where a handler mends a fault what was written is removed by tn_runtime_destroy.
//
// Call it at the start, before tn_runtime_create: what was loaded earlier is not watched. It holds
// for the process and stays; further calls do nothing. The thread that calls it gets an alternate
// stack for signals unless it has one; on other threads without one (16 KiB or more) a stack that
// runs over ends the process and nothing is written.
// Errors: TN_E_INTERNAL. Threads: [any]. Since 0.1
TN_NODISCARD TN_API tn_status tn_plugin_watch_crashes(tn_error *err);

// What is kept of a plugin's file is forgotten, a quarantine too: the next runtime tries it again.
//   path   of the file, by whatever name
// Errors: TN_E_FILE nothing is kept of it; TN_E_IO that cannot be removed; TN_E_ARG.
// Threads: [any]. Since 0.1
TN_NODISCARD TN_API tn_status tn_plugin_forget(const char *path, tn_error *err);

// What tn_plugin_pin has written.
typedef struct tn_plugin_pin_info {
    uint32_t size;       // sizeof, set by the caller
    uint32_t reserved;   // 0
    char name[32];       // of the plugin
    char sha256[72];     // of its file
    char config[2048];   // the tenon.ini, whose path is shorter than that
} tn_plugin_pin_info;

// Writes the SHA-256 of a plugin's file into tenon.ini, as the pin of [plugin.NAME]: from then on
// only this file is used as that plugin. No code of the file runs. The rest of tenon.ini stays byte
// for byte; it is replaced as a whole, or not at all.
//   path     of the plugin's file
//   config   the tenon.ini, which need not be there; NULL = the user's
//   out_info filled, may be NULL
// Errors: TN_E_FILE the file cannot be read, or tenon.ini has a fault, or there is no place for it;
// TN_E_PLUGIN it is no plugin; TN_E_IO tenon.ini cannot be written; TN_E_HOST_MEMORY, TN_E_ARG.
// Threads: [any], but of two calls at once on one tenon.ini one may be lost. Since 0.1
TN_NODISCARD TN_API tn_status tn_plugin_pin(const char *path, const char *config,
                                            tn_plugin_pin_info *out_info, tn_error *err);

// One place where plugins were looked for, in the order of the search. A configuration file is a
// place, and so is each path that it names; a place that is not there, or is ignored, is told too.
typedef struct tn_place_info {
    uint32_t size;         // sizeof, set by the caller
    uint32_t file_count;   // candidates: the file, or the files *.so of the folder
    const char *origin;    // as that of tn_plugin_info
    const char *path;      // "" when the origin gives none
    const char *found;     // goes on after the path: "2 files", "does not exist",
                           // "is ignored: a relative path …"
} tn_place_info;

TN_API uint32_t tn_runtime_place_count(const tn_runtime *runtime);   // Since 0.1
TN_API void tn_runtime_place(const tn_runtime *runtime, uint32_t index,
                             tn_place_info *out_info);   // past the end: zeros. Since 0.1

#ifdef __cplusplus
}
#endif
#endif
