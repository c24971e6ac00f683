// status.h: how every call of libtenon reports failure.
//
// A call that can fail returns a tn_status and, when the caller gave one, fills a tn_error: one
// line that says what was tried, with which names and numbers, which rule was broken and, where
// known, what would help. On failure every out_ parameter is NULL or 0 and nothing has changed,
// unless the call says otherwise. Nothing in libtenon aborts or exits.
//
// A call that returns a tn_status answers TN_E_ARG for a pointer that is NULL, and names it, unless
// the call says what NULL means; err may always be NULL, and so may an array of which 0 elements
// count. Every other call takes NULL for any pointer: it then does nothing, and answers what it
// answers when nothing is found (NULL, 0, "", TN_NO_VALUE). So it is with the size of a struct that
// begins with one and was not set: TN_E_ARG of a call with a status, nothing filled by the others.
//
// Threads: a tn_error belongs to the caller; two threads use two.
#ifndef TENON_STATUS_H
#define TENON_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_API       __attribute__((visibility("default")))
#define TN_NODISCARD __attribute__((warn_unused_result))

// The release of these headers; tn_version tells that of the library loaded. CMake reads the
// numbers from here.
#define TN_VERSION_MAJOR 0
#define TN_VERSION_MINOR 1
#define TN_VERSION_PATCH 0

typedef int32_t tn_status;
enum {
    TN_OK = 0,
    // As in the plugin contract, the same names and numbers.
    TN_E_ARG = 1,           // the caller broke a rule of the header
    TN_E_UNSUPPORTED = 2,   // no device at hand can do this
    TN_E_HOST_MEMORY = 3,
    TN_E_DEVICE_MEMORY = 4,
    TN_E_DEVICE_LOST = 5,
    TN_E_TIMEOUT = 6,
    TN_E_IO = 7,
    TN_E_VERSION = 8,
    TN_E_INTERNAL = 9,   // a fault of libtenon, of a plugin or of a device; the text says which
    TN_E_BUSY = 10,
    TN_E_DATA = 11,   // values do not fit the shapes: an index outside its table, a length above
                      // its capacity
    TN_E_CANCELLED = 12,
    // libtenon's own.
    TN_E_SHAPE = 64,       // dims do not fit together
    TN_E_DTYPE = 65,       // element types do not fit together
    TN_E_FILE = 66,        // a file is missing, unreadable, damaged or not what was expected
    TN_E_NOT_FOUND = 67,   // no key, tensor, device or setting of that name
    TN_E_PLUGIN = 68,      // a plugin that was named is rejected
    TN_E_GRAPH = 69,       // the graph breaks a rule that is not about one shape: no output, not
                           // finished, foreign value
};

typedef struct tn_error {
    tn_status status;
    char text[508];   // UTF-8, ends in NUL; a longer one loses its middle. After TN_OK both fields
                      // are as they were
} tn_error;

// The name of a status, "TN_E_SHAPE"; an unknown number gives "TN_E_INTERNAL". [any] Since 0.1
TN_API const char *tn_status_name(tn_status status);

// Fills an error, for libraries on top of this one: `text` becomes one line that is safe to show
// (controls and what is not UTF-8 as \xNN), and a longer one loses its middle. err may be NULL.
// Answers status. [any] Since 0.1
TN_API tn_status tn_error_set(tn_error *err, tn_status status, const char *text);

// The version of the library, "0.1.0". [any] Since 0.1
TN_API const char *tn_version(void);

// Where libtenon takes its memory from. Both calls may come from any thread. alloc answers NULL
// when there is none; alignment_bytes is a power of two. free takes NULL. Both are needed: calls
// that take an allocator answer TN_E_ARG where one is NULL. The struct is copied; context must
// outlive what was made with it.
typedef struct tn_allocator {
    void *context;
    void *(*alloc)(void *context, size_t bytes, size_t alignment_bytes);
    void (*free)(void *context, void *pointer);
} tn_allocator;

// Where text goes: prints, explanations. write gets `bytes` bytes, not ended by NUL.
typedef struct tn_sink {
    void *context;
    void (*write)(void *context, const char *text, size_t bytes);
} tn_sink;

#ifdef __cplusplus
}
#endif
#endif
