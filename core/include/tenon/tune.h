// tune.h: what devices and their links really do, measured once and kept for the cost model.
//
// A device says of each op what it would cost, and of its links how fast they are; both are
// estimates. tn_tune measures them: products with weights of several types, at one column (which is
// a matter of memory) and at many (of arithmetic), what a submit costs, and copies between host and
// devices and between devices. What it finds is kept in the user's cache, a file a device:
//
//   $XDG_CACHE_HOME/tenon/tune/<key>, else ~/.cache/tenon/tune/<key>
//
// The key is a hash of what the device is and how it is set up: names, driver, PCI address or UUID,
// the version and the settings of its plugin, of a CPU the number of threads. Every session made
// from then on, in any process, reckons with it: a claim costs so many times what the device says,
// a copy what the link was found to take. A file that is damaged, or of something else, is ignored
// with a warning.
//
// Times are those of the devices' own clocks where they report spans (TNP_BIND_TRACE), else of the
// host's.
//
// Ownership: what a sink is told is lent for the time of the call. Threads: tn_tune by one,
// while no other uses the runtime; what asks a session as session.h says.
#ifndef TENON_TUNE_H
#define TENON_TUNE_H

#include <tenon/session.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_TUNE_HOST UINT32_MAX   // in place of a device: the host's memory

// A product of a weight {dim, dim} with {dim, columns}.
typedef struct tn_tuned_product {
    uint32_t size;     // sizeof, as libtenon has it
    uint32_t device;   // by its place in the options
    tn_dtype dtype;    // of the weight
    uint32_t columns;
    double ns;            // the best of several
    double claimed_ns;    // what the device says
    double flops_per_s;   // as it was measured
    double bytes_per_s;   // of the weight, likewise
} tn_tuned_product;

typedef struct tn_tuned_link {
    uint32_t size;       // sizeof, as libtenon has it
    uint32_t from, to;   // devices by their places in the options, or TN_TUNE_HOST
    uint32_t reserved;   // 0
    double latency_ns, bytes_per_s;
    double told_latency_ns, told_bytes_per_s;   // what the plugin says; 0 = nothing
} tn_tuned_link;

typedef struct tn_tuned_device {
    uint32_t size;     // sizeof, as libtenon has it
    uint32_t device;   // by its place in the options
    const char *name;
    double claim_factor;   // its claims cost so many times what it says; 1 without any product
    double submit_ns;      // of one submit and its wait, beside the work
    const char *kept_at;   // the file, lent for the time of the call; "" = it is not kept: as the
                           // flags say, or since nothing could be measured
} tn_tuned_device;

// Who is told; each may be NULL.
typedef struct tn_tune_sink {
    void *context;
    void (*product)(void *context, const tn_tuned_product *product);
    void (*link)(void *context, const tn_tuned_link *link);
    void (*device)(void *context, const tn_tuned_device *device);
} tn_tune_sink;

enum {
    TN_TUNE_KEEP_NOTHING = 1u << 0,   // measure and tell only
};

// All fields but size may be 0 or NULL.
typedef struct tn_tune_options {
    uint32_t size;   // sizeof
    uint32_t device_count;
    tn_device *const *devices;   // none = all but software
    uint32_t flags;              // TN_TUNE_…
    uint32_t dim;   // of the weights, a multiple of 256 up to 65,536; 0 = 4,096
} tn_tune_options;

// Measures devices, and the links between them and to the host, and keeps what it found; tells it
// as it goes. Types that a device does not take, and sizes that do not fit its memory, are left
// out; of a device of which nothing else is left, what a submit takes is kept. options NULL =
// defaults; sink NULL = nobody is told. Of a CPU nothing is kept below a dim of 4,096: its caches
// would be measured. Takes seconds; no session of the runtime exists meanwhile:
// theirs would be measured too. A device that fails is left out, and with it the links to it: the
// others are measured, kept and told, and the failure of the first one is answered at the end.
// After any other error what was kept before stands.
// Errors: TN_E_ARG dim is no multiple of 256 or above 65,536, a flag is not known, or a device is
// given twice or is none of the runtime's; TN_E_BUSY the runtime has
// sessions; those of the devices, TN_E_FILE, TN_E_IO it cannot be kept; TN_E_HOST_MEMORY. Since 0.1
TN_NODISCARD TN_API tn_status tn_tune(tn_runtime *runtime, const tn_tune_options *options,
                                      const tn_tune_sink *sink, tn_error *err);

// What the cost model reckons with.
enum {
    TN_KNOWN_BY_DEFAULT = 1,
    TN_KNOWN_BY_PLUGIN = 2,
    TN_KNOWN_BY_MEASURE = 3,
};

// Between two devices of a session. Where copies go through the host's memory, both ways together:
// measured when both were.
typedef struct tn_link_cost {
    uint32_t size;       // sizeof, set by the caller
    uint32_t known_by;   // TN_KNOWN_BY_…
    double latency_ns, bytes_per_s;
} tn_link_cost;

// from, to: devices by their numbers, not the same. Where one of them is left out all is 0. Errors:
// TN_E_ARG. Since 0.1
TN_NODISCARD TN_API tn_status tn_session_link(const tn_session *session, uint32_t from, uint32_t to,
                                              tn_link_cost *out_link, tn_error *err);

// How many times what a device says its claims cost in sessions that are made now; 1 when it was
// not measured, or was not opened yet: a session opens it. *out_is_measured: 1 or 0; may be NULL.
// [any] Since 0.1
TN_API double tn_device_claim_factor(const tn_device *device, uint32_t *out_is_measured);

#ifdef __cplusplus
}
#endif
#endif
