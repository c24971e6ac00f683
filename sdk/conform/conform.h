// conform.h: the conformance kit as a library: tries the rules of plugin.h on a plugin's file. It
// needs the sdk alone, and nothing of libtenon.
//
// The plugin is loaded in child processes only (fork, so the caller has one thread), each case in
// one of its own; the many cases of one op share one as long as none fails, and what fails is tried
// once more alone. A crash, an exit, a hang of the plugin is a failed case.
#ifndef TENON_CONFORM_H
#define TENON_CONFORM_H

#include <stddef.h>
#include <stdint.h>

typedef enum kit_outcome { KIT_PASSED, KIT_FAILED, KIT_SKIPPED } kit_outcome;

typedef struct kit_result {
    const char *name;   // theme.case, or ops.OP.…
    uint32_t device;    // its index; 0 for a case of the file
    kit_outcome outcome;
    const char *expected;   // of a failed case, else ""
    const char *got;        // of a failed case; of a skipped one the reason
    double ms;
} kit_result;

typedef struct kit_options {
    const char *plugin;           // path of the file
    const char *const *filters;   // a case is run if one fits; none = all. kit_fits says how
    uint32_t filter_count;
    const char *const *settings;   // KEY=VALUE, without the plugin's name
    uint32_t setting_count;
    double timeout_ms;                                         // of a case
    void (*report)(void *context, const kit_result *result);   // called for each, in order
    void *context;
} kit_options;

typedef struct kit_summary {
    uint32_t passed, failed, skipped;
    uint32_t devices;
    uint32_t ops_claimed, ops_known;   // of ops.def, by the cases that ran
    double ms;
} kit_summary;

typedef enum kit_status {
    KIT_OK,          // the cases ran, whatever came out
    KIT_NO_CASE,     // no case fits the filters
    KIT_NO_PLUGIN,   // the file cannot be loaded, or does not answer
    KIT_NO_DEVICE,   // it offers no device here
    KIT_NO_MEMORY,
    KIT_NO_CHILD,   // the system gives no process or no pipe
} kit_status;

// Runs the cases that fit.
//   out_why   one line when the answer is not KIT_OK
kit_status kit_run(const kit_options *options, kit_summary *out_summary, char *out_why,
                   size_t why_bytes);

// The names of the cases that fit, in the order in which they run. KIT_OK, KIT_NO_CASE,
// KIT_NO_MEMORY.
kit_status kit_names(const char *const *filters, uint32_t filter_count,
                     void (*name)(void *context, const char *name), void *context);

// Whether a case is meant by a filter: its name, a part of it from the front up to a dot
// ("queues", "ops.matmul"), or a pattern with * and ? that fits all of it.
int kit_fits(const char *filter, const char *name);

#endif
