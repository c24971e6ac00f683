// plugin.h: the binary contract between Tenon and a plugin (DRAFT of 1.0; sdk/docs/contract.md says how it came about).
//
// A plugin is a shared object that offers devices. Tenon reads its manifest from the file, loads it, asks for its table,
// starts it, opens devices, asks which parts of a graph each would take, compiles those parts, binds them to memory, and
// submits them again and again.
//
// Rules for the whole header
//   Growth     A struct that is not marked frozen begins with its size. Fields are only added at the end, in multiples of
//              8 bytes; no growing struct has padding on any target (-Wpadded), or TNP_HAS would lie. Numbers are never
//              reused. What is called reserved is 0, is not looked at, and never gets a meaning.
//     in       What a caller passes (const): size is the caller's sizeof. Read a field only if TNP_HAS; TNP_TAKE copies. Bytes
//              beyond what the callee knows must be zero, else it answers TNP_E_UNSUPPORTED (claim: it refuses the node; the host: it drops the claim or span):
//              a new field that is 0 always means "as before". Attribute structs too.
//     out      What a caller wants filled: size is the room, the rest is zero. TNP_GIVE fills at most that. 0 = not told.
//     tables   of functions (tnp_host, tnp_plugin, sinks, extensions): a tail that the reader does not know is ignored, and a
//              call beyond the other side's size does not exist (TNP_CAN).
//     numbers  Who is asked for a number that it does not know (op, dtype, kind of queue, import, binding) refuses: in claim through
//              the sink, else by TNP_E_UNSUPPORTED, or TNP_E_ARG where wrong and later cannot be told apart. Of a number in
//              an answer: an unknown status is TNP_E_INTERNAL, the kind of a device is TNP_KIND_ACCELERATOR to a host older than the
//              plugin, flags are as below. tnp_host.abi and tnp_plugin.abi tell each side what the other was built with.
//   Flags      Who does not know a bit ignores bits 0 to 15 and answers TNP_E_UNSUPPORTED for bits 16 to 31.
//   Arrays     of structs that may grow are arrays of pointers. With a count of 0 an array may be NULL.
//   Strings    are UTF-8, end in NUL (also inside a fixed array), are never NULL, may be "", live as long as their struct or
//              the call.
//   Ownership  What a call returns through `out` is given back by the call named beside it, once, children before their
//              parent: bounds before their program; bounds, programs, buffers, semaphores, queues before their device;
//              devices before their instance. Everything else is lent for the duration of the call. In use is a bound,
//              buffer, semaphore or host pointer from the submit or copy that names it until each signal of that work is
//              raised or failed, on an abandoned device too.
//   Sizes      A count of bytes or elements is exact unless "rough" is said; alignments are powers of two, 1 at least; times are in
//              ns, bandwidths in bytes a second, costs in ns.
//   Errors     Every call answers a tnp_status, and that answer counts, not err->status. Not TNP_OK: nothing has happened, the
//              outputs are untouched, and err->text is one line that says what, with which numbers, and what would help
//              (TIMEOUT and BUSY may leave it empty). err is never NULL. An unknown status is TNP_E_INTERNAL. Nothing aborts,
//              exits, throws or jumps across.
//   Ops        More inputs or outputs than the callee's ops.def has: refused, unless the extra ones are UINT32_MAX. An
//              attribute struct holds fixed-width numbers only, no pointer: it may be compared, hashed and sent byte by
//              byte. Op and dtype numbers from 0x80000000 on are private, agreed on by an extension.
//   Data       A slice is verified before a plugin sees it: every dim >= 1, every value inside its storage, no product
//              overflows. The bytes of values are not: whatever they hold (indices, lengths, NaN), a program reads and
//              writes only its bindings, and of these only bytes of elements of the values of its nodes. An index out of
//              range fails the work with TNP_E_DATA or gives an unspecified result, never a fault.
//   Threads    [any]      any thread at any time
//              [queue]    calls on one queue never overlap; what several queues share, the plugin locks
//              [run]      also: no allocation, no file, and it returns without waiting for other work; a lock that nobody holds
//                         while work runs or a notice is called is fine
//              A call leaves its thread as it was: signal mask, rounding and flush-to-zero, locale, current device context.
//              The plugin's own threads block all signals but those that their own faults raise (SIGBUS, SIGSEGV, SIGILL,
//              SIGFPE, SIGTRAP, SIGSYS) and are gone when stop returns (abandon: see there). After fork the child calls nothing.
//   Missing    A function pointer may be NULL only where its comment says "optional".
#ifndef TENON_PLUGIN_H
#define TENON_PLUGIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ops.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TNP_ABI(major, minor) ((major) * 65536u + (minor))   // also for #if
#define TNP_ABI_CURRENT TNP_ABI(1, 0)
#define TNP_NONE UINT32_MAX
#if defined(_WIN32)
#define TNP_CALL __cdecl
#define TNP_EXPORT __declspec(dllexport)
#else
#define TNP_CALL
#define TNP_EXPORT __attribute__((visibility("default")))
#endif

#define TNP_HAS(type, p, field) ((p)->size >= offsetof(type, field) + sizeof((p)->field))
#define TNP_ALIEN(flags, known) ((flags) & 0xffff0000u & ~(uint32_t)(known))   // not 0: answer TNP_E_UNSUPPORTED
#define TNP_CAN(type, p, call) (TNP_HAS(type, p, call) && (p)->call)
#define TNP_TAKE(to, from) tnp_take((to), (uint32_t)sizeof *(to), (from), (from)->size)   // passed to me, into my struct
#define TNP_GIVE(to, from) tnp_give((to), (to)->size, (from), (uint32_t)sizeof *(from))   // my struct, into what I am to fill

// Copies what both know; 0 when `from` has more than that which is not zero (answer TNP_E_UNSUPPORTED), else 1.
static inline int tnp_take(void *to, uint32_t known, const void *from, uint32_t size)
{
    const unsigned char *f = (const unsigned char *)from;
    uint32_t both = size < known ? size : known;
    int plain = 1;
    memcpy(to, from, both);
    memset((unsigned char *)to + both, 0, known - both);
    memcpy(to, &known, sizeof known);   // the copy has the size of its own type: it may be handed on
    for (uint32_t i = known; i < size; i++)
        plain &= !f[i];
    return plain;
}
static inline void tnp_give(void *to, uint32_t room, const void *from, uint32_t size)
{
    for (uint32_t i = sizeof(uint32_t); i < room && i < size; i++)
        ((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
}

// ------------------------------------------------------------------------------------------------------- results

typedef int32_t tnp_status;
enum {
    TNP_OK = 0,
    TNP_E_ARG = 1,           // the caller broke a rule of this header
    TNP_E_UNSUPPORTED = 2,   // this device cannot; never an answer to what it claimed, unless that has fields it does not know
    TNP_E_HOST_MEMORY = 3,
    TNP_E_DEVICE_MEMORY = 4,
    TNP_E_DEVICE_LOST = 5,   // sticky: every call that makes or submits something answers it from now on, pending signals fail; what gives back works, close too,
                             // and opening it again gives a new device if it came back
    TNP_E_TIMEOUT = 6,
    TNP_E_IO = 7,
    TNP_E_VERSION = 8,
    TNP_E_INTERNAL = 9,
    TNP_E_BUSY = 10,         // the queue is full: nothing was taken, try again after a signal. Of open: another process has the device to itself
    TNP_E_DATA = 11,         // values do not fit the shapes: an index outside its table, a length above its capacity
    TNP_E_CANCELLED = 12,    // the host gave it up
};

typedef struct tnp_error {
    uint32_t size;
    tnp_status status;
    char text[504];          // cut at a character's border if longer; never empty after a failure
} tnp_error;

// -------------------------------------------------------------------------------- what the host does for a plugin

typedef struct tnp_span {    // one piece of work for the trace
    uint32_t size;
    uint32_t unit;           // index among the units given to compile; TNP_NONE = the whole submission
    uint64_t run;            // of its tnp_sync
    uint64_t begin_ns, end_ns;   // on the clock of now_ns; the plugin converts. Comes before the signals of that work
    uint64_t bytes, flops;       // moved and computed; 0 = unknown
} tnp_span;

typedef struct tnp_team tnp_team;

typedef struct tnp_host {    // valid until the stop of what it started returns
    uint32_t size;
    uint32_t abi;            // the newest the host speaks
    void *context;           // first argument of the calls below
    void *(TNP_CALL *alloc)(void *context, uint64_t bytes, uint64_t alignment);   // [any] not cleared; NULL when out of memory; bytes > 0
    void (TNP_CALL *free)(void *context, void *pointer);                          // [any] NULL is fine
    void (TNP_CALL *log)(void *context, int32_t level, const char *text);         // [any] 0 error 1 warning 2 info 3 debug
    const char *(TNP_CALL *setting)(void *context, const char *key);              // [any] key without the plugin's name; NULL = not set; valid until stop. Ask for every key in start or open: one that nobody asked for is reported to people
    uint64_t (TNP_CALL *now_ns)(void *context);                                   // [any] CLOCK_MONOTONIC, QueryPerformanceCounter, mach_absolute_time
    void (TNP_CALL *trace)(void *context, const void *queue, const tnp_span *span);   // [any] only for bounds made with TNP_BIND_TRACE
    uint32_t (TNP_CALL *worker_count)(void *context);                             // [any] threads of the host's pool, the caller counted; at least 1
    // Runs body on 1 to `wanted` threads at the same time, the caller being worker 0, and returns when all have returned;
    // `workers` is the same in every body. Calls from several threads take turns or share the pool. From compile, pack and
    // the plugin's own threads; not from a body, not from a [run] call but a queue_submit with TNP_SUBMIT_INLINE.
    void (TNP_CALL *team)(void *context, uint32_t wanted,
                          void (TNP_CALL *body)(void *argument, tnp_team *team, uint32_t worker, uint32_t workers), void *argument);
    void (TNP_CALL *team_barrier)(tnp_team *team, uint32_t worker);               // from a body, by all its workers: all arrive before one leaves
    // A store on disk for what is slow to make again: pipelines, tuned sizes, compiled programs. The host adds the plugin's
    // name and version to the key, checks what it reads, bounds the size, and may forget. get answers the stored size (0 =
    // none) and copies at most `room` bytes.  [any], not from a [run] call
    uint64_t (TNP_CALL *cache_get)(void *context, const void *key, uint64_t key_bytes, void *to, uint64_t room);
    void (TNP_CALL *cache_put)(void *context, const void *key, uint64_t key_bytes, const void *data, uint64_t bytes);
    const void *(TNP_CALL *extension)(void *context, const char *name);           // [any] NULL = unknown; 1.0 has none
    // 1.0 ends here
} tnp_host;

// ----------------------------------------------------------------------------------------------------- the graph

// dtypes and ops are tables that host and plugins share: dtypes.def and ops.def beside this header, made into numbers and attribute
// structs by ops.h. ops.def has each op's operands, formula, which operand it writes through (set_rows) and which it can overwrite.
// A plugin refuses a number it does not know. Ops that only make a view (reshape, slice, permute, broadcast, limit) are never nodes of a slice: the view
// is a value with its own strides.

enum {                       // tnp_storage.flags
    TNP_STORAGE_CONSTANT = 1u << 16,  // the same bytes in every run (a weight)
    TNP_STORAGE_STATE = 1u << 17,     // kept between runs, written in place (a KV cache)
    TNP_STORAGE_ENTERS = 1u << 18,    // has bytes before the slice runs (set for constants and states too)
    TNP_STORAGE_LEAVES = 1u << 19,    // its bytes are needed after the slice has run (set for states that are written too)
};

typedef struct tnp_storage {          // bytes that one or more values look at
    uint32_t size, flags;
    uint64_t bytes;
    const void *data;                 // constants: where the host has mapped them, else NULL; never NULL in compile for a TNP_PACK_BAKED. Not read by claim
    const void *reserved;             // NULL
    // 1.0 ends here
} tnp_storage;

enum { TNP_VALUE_AT_SUBMIT = 1u << 0 };   // comes with every submit as a tnp_update: the plugin may look at it to size grids, split work

typedef struct tnp_value {
    uint32_t size, flags;
    tnp_dtype dtype;
    uint32_t rank;                    // 0 (one element) to TNP_MAX_DIMS
    int64_t dims[TNP_MAX_DIMS];       // in elements, dims[0] fastest; 1 beyond rank
    int64_t strides[TNP_MAX_DIMS];    // in bytes, >= 0, like offset multiples of the element's size for plain types; strides[0] is between blocks for block types; 0 = broadcast, never in an output
    uint32_t extent[TNP_MAX_DIMS];    // 1 + index of the one-element I32 value that says how much of this dim counts in a run (0 to dim; ops.def: where);
                                      // 0 = all. What lies beyond may be left unwritten, may hold anything, and changes nothing else.
                                      // On dims[0] of a block type: whole blocks, else TNP_E_DATA
    uint32_t storage;                 // index in the slice
    uint32_t layout;                  // of a constant: 0 = as described here; else the only form there still is, a pack of this number
    uint64_t offset;                  // of the first element, in bytes from the start of the storage
    int64_t likely, at_most;          // of an I32 input read as a length or a position: for costs and grids; 0 = unknown
    const char *name;                 // for messages
    const void *reserved;             // NULL
    // 1.0 ends here
} tnp_value;

typedef struct tnp_node {
    uint32_t size;
    tnp_op op;
    uint32_t input_count, output_count;
    const uint32_t *inputs, *outputs; // indices of values in the slice; TNP_NONE = an optional input left out
    const void *attributes;           // the op's struct of ops.h, itself beginning with its size; NULL = the op has none. An op without
                                      // attributes accepts a struct that is zero behind its size: a later release may have given it some
    const char *name;
    // 1.0 ends here
} tnp_node;

// A part of a graph, its nodes in an order that can be executed. A node depends on the makers of its inputs and of the extents of its values, and on every earlier
// node that touches a storage it writes or writes a storage it touches.
typedef struct tnp_slice {
    uint32_t size;
    uint32_t value_count, node_count, storage_count;
    const tnp_value *const *values;
    const tnp_node *const *nodes;
    const tnp_storage *const *storages;
    const void *reserved;             // NULL
    // 1.0 ends here
} tnp_slice;

// -------------------------------------------------------------------------------------------------------- claims

enum { TNP_PACK_BAKED = 1u << 16 };   // read by compile and kept in the program: no pack(), no binding, the host may drop the source

// "I want this constant in a layout of mine." Rows of one matrix (dims[2] and up fixed) are packed in groups of group_rows, the
// last group of a matrix may hold fewer; each gives group_bytes, one behind the other, matrix after matrix: a binding of
// matrices * ceil(rows / group_rows) * group_bytes. layout, dtype, dims and the plugin's version say all about the
// packed bytes: units, programs, batch sizes and the plugin's devices share them, and a file can keep them.
typedef struct tnp_pack {
    uint32_t size, flags;
    uint32_t value;
    uint32_t layout;                  // the plugin's own number, not 0
    uint64_t group_rows, group_bytes;
    // 1.0 ends here
} tnp_pack;

typedef struct tnp_in_place { uint32_t output, input; } tnp_in_place;   // frozen: output may take the address of input's first element;
                                                                        // same dims, strides and element size. The bindings tell
// In place: permission counts for this claim alone, and a plugin gives it only when no other operand of the unit sees the input's bytes
// differently: none over the same storage, or one that is the same elements, or one that provably lies elsewhere.
//
// A set of nodes that the device runs as one unit. Claims may overlap: a fusion and its parts; the same nodes with a pack and
// without. The host picks a set that covers each node at most once; picking a claim is accepting its packs. A storage whose values
// are all made and used inside one unit, and which does not leave, gets no bytes: no binding names it, and a unit whose output nobody reads need not compute it. A claim holds in every slice that has these nodes
// with the same values and in which such storages stay inside.
typedef struct tnp_claim {
    uint32_t size, flags;
    uint32_t node_count, in_place_count, pack_count;
    uint32_t reserved;
    const uint32_t *nodes;            // ascending; convex: no path (through values or storages) leaves the set and comes back. In claim:
                                      // indices of the slice asked about; in compile: of the slice given there
    const tnp_in_place *in_place;
    const tnp_pack *const *packs;
    const char *name;                 // what people see in a plan: "attention+rope"
    double cost_ns;                   // one run at the likely lengths, without transfers; finite, > 0
    uint64_t scratch_bytes;           // needed while the unit runs; the host plans it, one binding for each unit that asks
    uint64_t resident_bytes;          // what the program keeps besides packs and scratch: code, graphs, baked constants
    uint64_t tag;                     // the plugin's own, given back at compile
    // 1.0 ends here
} tnp_claim;

typedef struct tnp_claim_sink {       // called while claim() runs, on its thread
    uint32_t size, reserved;
    void *context;
    void (TNP_CALL *take)(void *context, const tnp_claim *claim);
    void (TNP_CALL *refuse)(void *context, uint32_t node, const char *reason);   // why not; shown to people
    // 1.0 ends here
} tnp_claim_sink;

// ------------------------------------------------------------------------------------------------------- objects

typedef struct tnp_instance tnp_instance;     // one host's use of the plugin; no state outside it
typedef struct tnp_device tnp_device;
typedef struct tnp_buffer tnp_buffer;
typedef struct tnp_queue tnp_queue;
typedef struct tnp_semaphore tnp_semaphore;   // a 64-bit value that only grows, or has failed
typedef struct tnp_program tnp_program;       // a compiled slice
typedef struct tnp_bound tnp_bound;           // a program with addresses: ready to submit, many times

enum { TNP_KIND_CPU = 1, TNP_KIND_GPU = 2, TNP_KIND_INTEGRATED_GPU = 3, TNP_KIND_ACCELERATOR = 4, TNP_KIND_SOFTWARE = 5 };

typedef struct tnp_device_info {
    uint32_t size, flags;
    uint64_t id;                              // names the device in tnp_open; the same device keeps it until stop
    char name[128];                           // "NVIDIA H200"
    char driver[128];                         // "CUDA 13.0, driver 580.65"
    char host[64];                            // empty = this machine. pci and uuid tell one device offered by two plugins: compared
    char pci[32];                             //   only between equal hosts, never between two devices of one plugin, never for
    uint8_t uuid[16];                         //   TNP_KIND_SOFTWARE. "0000:01:00.0" (hex digits in lower case) or empty; zeros = none
    uint32_t kind;
    uint32_t memory_count;                    // 1 to 64; indices below it are valid for memory_info
    uint32_t queue_count, copy_queue_count;   // that can run at the same time: at least 1, and 0 for no copies beside them; more may be made and share them
    uint64_t update_bytes;                    // the most that tnp_queue_options.update_bytes may ask for, at least 256
    uint64_t memory_bytes;                    // of memory 0, told without opening; 0 = unknown
    double flops_per_s;                       // rough, F32; 0 = unknown
    // 1.0 ends here
} tnp_device_info;

enum {                                        // tnp_memory_info.flags. Memory 0 can be allocated and bound, and is the fastest
    TNP_MEMORY_ALLOC = 1u << 0,               // buffer_alloc works
    TNP_MEMORY_IMPORT = 1u << 1,              // buffer_import works
    TNP_MEMORY_BIND = 1u << 2,                // may be bound to programs; without it only for copies
    TNP_MEMORY_HOST_VISIBLE = 1u << 3,        // buffer_map works, and is coherent
    TNP_MEMORY_HOST_CACHED = 1u << 4,         // the host also reads it fast; without this it should only write, in order
};

typedef struct tnp_memory_info {
    uint32_t size, flags;
    uint32_t pool;                            // memories with one pool number share their bytes: 1 = the host's own RAM, 0 = with none
    uint32_t numa_node;                       // 1 + its number; 0 = unknown
    uint64_t alignment_bytes;                 // of buffer starts and of addresses given to bind, a power of two
    uint64_t import_alignment_bytes;          // of the pointer and the bytes given to buffer_import; 0 = 1. The host may import more than it binds
    uint64_t total_bytes, free_bytes;         // free at the time of the call
    uint64_t max_buffer_bytes, max_binding_bytes;   // of one buffer_alloc; of one tnp_binding
    uint64_t bytes_per_s;                     // as this device's programs read it; 0 = unknown
    // 1.0 ends here
} tnp_memory_info;

enum {                                        // tnp_link.flags, between two devices of one plugin
    TNP_LINK_COPY = 1u << 0,                  // a queue of either copies between their buffers
    TNP_LINK_WAIT = 1u << 1,                  // a queue of `to` may wait for semaphores of `from`
    TNP_LINK_BIND = 1u << 2,                  // bind on `to` takes buffers of `from`
};
typedef struct tnp_link { uint32_t size, flags; uint64_t bytes_per_s, latency_ns; } tnp_link;   // of a copy from `from` to `to`; 0 = unknown

// What a call is told. One struct each, so that a later wish is a field and not a second call.
typedef struct tnp_open { uint32_t size, flags; uint64_t id; } tnp_open;
typedef struct tnp_alloc { uint32_t size, flags; uint32_t memory, reserved; uint64_t bytes; } tnp_alloc;   // bytes > 0; not cleared
enum { TNP_IMPORT_READ_ONLY = 1u << 16 };
enum { TNP_IMPORT_HOST = 1 };                 // kinds; later ones: dma-buf, opaque fd, NT handle
typedef struct tnp_import {                   // stays the caller's, and valid, until buffer_free
    uint32_t size, flags;
    uint32_t memory, kind;
    uint64_t handle, bytes;                   // TNP_IMPORT_HOST: (uintptr_t) of the first byte
    // 1.0 ends here
} tnp_import;
enum { TNP_SEMAPHORE_HOST = 1u << 16 };       // signalled by the host, never by a queue; without it the other way round
typedef struct tnp_semaphore_options { uint32_t size, flags; uint64_t value; } tnp_semaphore_options;
enum { TNP_QUEUE_COMPUTE = 1, TNP_QUEUE_COPY = 2 };   // a compute queue also takes copies; both can always be made
typedef struct tnp_queue_options {            // the counts: what the queue must hold without allocating later
    uint32_t size, flags;
    uint32_t kind;
    int32_t priority;                         // 0 normal, below 0 lower
    uint32_t pending;                         // pieces of work waiting or running, >= 1; one more is TNP_E_BUSY. A tnp_submit is one, and a queue_copy
    uint32_t points;                          // waits, and signals, of one piece of work
    uint32_t copies;                          // of one queue_copy
    uint32_t update_bytes, updates;           // of one submit
    uint32_t reserved;
    // 1.0 ends here
} tnp_queue_options;

// Order. Work of one queue runs as if one piece after another, each seeing what those before it wrote; signals are raised in the order
// of the submits. Between queues only semaphores order. Signals of one semaphore are submitted in growing order, and its value and
// any pending wait or signal differ by less than 2^31. A wait for a queue's signal is submitted after the work that will raise it; a
// wait for a host's signal may come first. Signals name semaphores of the
// queue's own device, so that abandoning it reaches all of them; waits also those of one whose link says TNP_LINK_WAIT. Work that names a bound
// or a host pointer has at least one signal: it tells when they are no longer in use.
// Started. Work counts as started once a driver has it that cannot give it back. Only waits for signals of this plugin's own queues may be
// left to a driver: work that waits for a host's signal is kept back until that comes, so that it can be cancelled.
// Failure. Work that fails, or waits for a value that a failed semaphore had not reached, fails its own signals with that status and text; what it writes is
// undefined. That is as semaphore_fail does it: pending work that would signal one of them never starts. Work that has started behind a
// wait which fails may run, on whatever bytes there are, and fails at its end. Other work goes on. A failed semaphore stays failed:
// the host makes a new one for what comes next.
// Visibility. A signal, or a failure, means that the device has finished with the memory of that work, and that its writes are visible to
// whoever saw it, the host included. What the host wrote before a submit or a semaphore_signal is visible to what follows from it.
typedef struct tnp_point { tnp_semaphore *semaphore; uint64_t value; } tnp_point;   // frozen
typedef struct tnp_sync {
    uint32_t size, flags;
    uint32_t wait_count, signal_count;
    const tnp_point *waits, *signals;
    uint64_t run;                             // the host's number, for spans
    // 1.0 ends here
} tnp_sync;

typedef struct tnp_copy {                     // host to buffer, buffer to host, or buffer to buffer of this device or of one with TNP_LINK_COPY
    uint32_t size, flags;
    tnp_buffer *from_buffer, *to_buffer;      // one of the two may be NULL = the host pointer below, touched only between the waits and the signals: ordinary pageable memory
                                              // at any address. A driver that blocks on it gets it from a thread of the plugin's, or staged
    const void *from_host;                    // with neither from_buffer nor from_host: zeros
    void *to_host;
    uint64_t from_offset, to_offset;          // in buffers; not looked at for a host pointer
    uint64_t bytes, rows;                     // `rows` pieces of `bytes`, both >= 1
    uint64_t from_pitch, to_pitch;            // from the start of one row to the next, >= bytes, on both sides; not looked at for one row.
                                              // Source and target do not overlap
    // 1.0 ends here
} tnp_copy;

// frozen: bytes put into a storage of the bound after the waits and before the work, copied during the call. For what changes from run
// to run and is small: token ids, positions, lengths. Each wherever the storage is bound, any offset and length inside; data is not NULL.
typedef struct tnp_update { uint32_t storage, bytes; uint64_t offset; const void *data; } tnp_update;

enum { TNP_SUBMIT_INLINE = 1u << 0 };         // the caller would only wait: the plugin may wait and do the work inside the call
typedef struct tnp_submit {
    uint32_t size, flags;
    uint32_t update_count, reserved;
    const tnp_update *updates;
    const tnp_sync *sync;                     // never NULL
    tnp_bound *bound;                         // NULL = only waits and signals. May be pending several times, on one queue at a time
    const void *reserved_pointer;             // NULL
    // 1.0 ends here
} tnp_submit;

typedef struct tnp_notice tnp_notice;
struct tnp_notice {                           // lent by the host from semaphore_notify until `reached` begins
    uint32_t size, reserved;
    uint64_t value;
    // Once, on any thread from which [run] calls of other plugins are allowed, with no lock held; perhaps before semaphore_notify returns.
    void (TNP_CALL *reached)(tnp_notice *notice, tnp_status status, const char *text);   // text: why, when it failed
    void *argument;                           // the host's
    void *plugin[2];                          // the plugin's while lent: a list needs no allocation
    // 1.0 ends here
};

typedef struct tnp_compile {
    uint32_t size, flags;
    uint32_t unit_count, reserved;
    const tnp_slice *slice;
    const tnp_claim *const *units;            // the claims chosen; their indices are those of this slice; in an order that can be executed
    int32_t (TNP_CALL *progress)(void *argument, double done);   // optional; asked every second of a long compile; not 0 = stop: TNP_E_CANCELLED
    void *argument;
    // 1.0 ends here
} tnp_compile;

enum { TNP_BIND_STORAGE = 1, TNP_BIND_PACKED = 2, TNP_BIND_SCRATCH = 3 };
typedef struct tnp_binding {                  // where bytes are
    uint32_t size, kind;
    uint32_t index;                           // STORAGE: in the slice; PACKED, SCRATCH: the unit
    uint32_t part;                            // PACKED: which of the unit's packs
    tnp_buffer *buffer;
    const void *reserved;                     // NULL
    uint64_t offset, bytes;
    // 1.0 ends here
} tnp_binding;
enum { TNP_BIND_TRACE = 1u << 0 };            // report a span for each unit of each run
typedef struct tnp_bind {
    uint32_t size, flags;
    uint32_t binding_count, reserved;
    const tnp_binding *const *bindings;       // in no special order: each storage that does not stay inside a unit, each pack and scratch of each unit
    const void *reserved_pointer;             // NULL
    // 1.0 ends here
} tnp_bind;

// ---------------------------------------------------------------------------------------------------- the plugin

typedef struct tnp_note tnp_note;             // the manifest, see below

typedef struct tnp_plugin {
    uint32_t size;
    uint32_t abi;                             // of the header it was built with
    const tnp_note *note;                     // the same bytes as in the file; all there is when linked statically
    const void *reserved;                     // NULL

    // Several instances may live at once: two hosts in one process share one .so.
    tnp_status (TNP_CALL *start)(const tnp_host *host, tnp_instance **out, tnp_error *err);                       // [any]; stop
    void (TNP_CALL *stop)(tnp_instance *instance);                                                                // [any] ends threads, finalizes libraries
    // Devices present now, at most 256, without opening them. device_count fixes the list until it is called again. None is TNP_OK with 0; a missing
    // driver too, with the reason in err->text.                                                                      [any]
    tnp_status (TNP_CALL *device_count)(tnp_instance *instance, uint32_t *count, tnp_error *err);
    tnp_status (TNP_CALL *device_info)(tnp_instance *instance, uint32_t index, tnp_device_info *info, tnp_error *err);
    // Each open makes a device of its own, also of one id; each is lost alone where the driver allows it.               [any]; close
    tnp_status (TNP_CALL *open)(tnp_instance *instance, const tnp_open *what, tnp_device **out, tnp_error *err);
    void (TNP_CALL *close)(tnp_device *device);                                                                   // [any]
    // The host gives up on a device that hangs: it is lost, its semaphores fail, no call on it or its children waits any more, nor does stop.
    // Those of work that runs fail when it has ended, if that is a matter of moments, as it is for who looks at a flag between pieces; if not, at
    // once, and memory that it might still touch is leaked, by both sides. A thread that hangs may be left over: the file is then never unloaded, and
    // such a thread, when it comes back, calls nothing of the host. Not for work that hangs inside host->team.        [any]
    void (TNP_CALL *abandon)(tnp_device *device);
    tnp_status (TNP_CALL *memory_info)(tnp_device *device, uint32_t memory, tnp_memory_info *info, tnp_error *err);   // [any]
    tnp_status (TNP_CALL *link)(tnp_device *from, tnp_device *to, tnp_link *link, tnp_error *err);                // [any] one of the two may be NULL = the host's memory. Zeros: no link

    tnp_status (TNP_CALL *buffer_alloc)(tnp_device *device, const tnp_alloc *what, tnp_buffer **out, tnp_error *err);     // [any]; buffer_free
    tnp_status (TNP_CALL *buffer_import)(tnp_device *device, const tnp_import *what, tnp_buffer **out, tnp_error *err);   // [any]; optional. UNSUPPORTED: copy instead
    tnp_status (TNP_CALL *buffer_map)(tnp_buffer *buffer, void **out, tnp_error *err);                            // [any]; optional. Valid until buffer_free
    void (TNP_CALL *buffer_free)(tnp_buffer *buffer);                                                             // [any] NULL is fine; not while in use or bound

    tnp_status (TNP_CALL *semaphore_create)(tnp_device *device, const tnp_semaphore_options *how, tnp_semaphore **out, tnp_error *err);   // [any]; semaphore_destroy
    void (TNP_CALL *semaphore_destroy)(tnp_semaphore *semaphore);                                                 // [any] NULL is fine; legal as soon as a wait for its last signal returns, while no other call on it runs; notices lent by then still come, those not reached with TNP_E_CANCELLED
    tnp_status (TNP_CALL *semaphore_read)(tnp_semaphore *semaphore, uint64_t *value, tnp_error *err);             // [any] [run] a failed one answers its status
    tnp_status (TNP_CALL *semaphore_signal)(tnp_semaphore *semaphore, uint64_t value, tnp_error *err);            // [any] [run] TNP_SEMAPHORE_HOST only; reached already, or failed: TNP_OK, changes nothing
    // For good: values not reached never are; who waits for them gets `why` and `text`; work that waits is let go when its turn in its queue
    // comes. On a queue's semaphore also pending work that would signal it: what has not started never starts, what runs runs to its end; only
    // when the last of it is gone do reads, waits and notices see the failure. The first failure stays; `why` is not TNP_OK. [any] [run]
    tnp_status (TNP_CALL *semaphore_fail)(tnp_semaphore *semaphore, tnp_status why, const char *text, tnp_error *err);
    tnp_status (TNP_CALL *semaphore_wait)(tnp_semaphore *semaphore, uint64_t value, uint64_t timeout_ns, tnp_error *err);   // [any] from now; 0 only looks, UINT64_MAX is for ever
    tnp_status (TNP_CALL *semaphore_notify)(tnp_semaphore *semaphore, tnp_notice *notice, tnp_error *err);        // [any] [run]; optional: else the host waits on a thread

    tnp_status (TNP_CALL *queue_create)(tnp_device *device, const tnp_queue_options *how, tnp_queue **out, tnp_error *err);   // [any]; queue_destroy
    void (TNP_CALL *queue_destroy)(tnp_queue *queue);                                                             // [queue] fails what has not started, waits for what runs
    // Both return without waiting for the waits. `sync` is never NULL, a count is >= 1. All or none is taken; more than the queue was made for is TNP_E_ARG, not BUSY. Copies of one
    // call may run in any order or at once.                                              [queue] [run]
    tnp_status (TNP_CALL *queue_copy)(tnp_queue *queue, const tnp_copy *const *copies, uint32_t count, const tnp_sync *sync, tnp_error *err);
    tnp_status (TNP_CALL *queue_submit)(tnp_queue *queue, const tnp_submit *const *submits, uint32_t count, tnp_error *err);

    // What of this slice would you take? Answers through the sink before it returns. A slice with a tail that is not zero is TNP_E_UNSUPPORTED. The same slice gets the same answer. The host asks again
    // for parts and for each batch size; the packs of a constant do not depend on it.                               [any]
    tnp_status (TNP_CALL *claim)(tnp_device *device, const tnp_slice *slice, const tnp_claim_sink *sink, tnp_error *err);
    // Packs groups [begin, end) of a constant into host memory, `to` being where group `begin` goes; source is the value's first element. Uses no
    // device and no memory beside these: several threads, any order, also into a mapped buffer or a file.           [any]; optional without packs
    tnp_status (TNP_CALL *pack)(tnp_device *device, const tnp_value *value, uint32_t layout, const void *source, uint64_t begin, uint64_t end,
                                void *to, tnp_error *err);
    // Units run as if one after another, and the host reuses bytes by that order: a plugin that runs some at the same time looks for overlapping
    // bindings first.                                                                                               [any]; program_destroy
    tnp_status (TNP_CALL *compile)(tnp_device *device, const tnp_compile *what, tnp_program **out, tnp_error *err);
    void (TNP_CALL *program_destroy)(tnp_program *program);                                                       // [any]
    // Fixes the addresses. Record here what can be recorded, so that queue_submit does next to nothing.             [any]; unbind
    tnp_status (TNP_CALL *bind)(tnp_program *program, const tnp_bind *what, tnp_bound **out, tnp_error *err);
    void (TNP_CALL *unbind)(tnp_bound *bound);                                                                    // [any] not while in use

    const void *(TNP_CALL *extension)(tnp_instance *instance, const char *name);                                  // [any]; such as "tenon.collective/1"; NULL = unknown. 1.0 has none
    // 1.0 ends here
} tnp_plugin;

// The one exported symbol. Pure: allocates nothing, starts nothing, may be called often and by several hosts. NULL: err says why. A plugin that
// is linked into an application is built with -DTNP_QUERY=tenon_plugin_query_<name> and registered by the application.
#ifndef TNP_QUERY
#define TNP_QUERY tenon_plugin_query
#endif
TNP_EXPORT const tnp_plugin *TNP_CALL TNP_QUERY(uint32_t host_abi, tnp_error *err);
typedef const tnp_plugin *(TNP_CALL *tnp_query)(uint32_t host_abi, tnp_error *err);   // what dlsym gives

// -------------------------------------------------------------------------------------------------- the manifest

// Read from the file before any code of the plugin runs. ELF: a note, name "Tenon", type 1, found through PT_NOTE. PE: section ".tenon"; Mach-O:
// __TEXT,__tenon; the same bytes. All fields have alignment 4, so that the manifest stands at offset 20 of the note whether a tool aligns notes to
// 4 or the compiler lays out the struct.
enum { TNP_OS_LINUX = 1, TNP_OS_WINDOWS = 2, TNP_OS_MACOS = 3, TNP_OS_ANDROID = 4 };
enum {                                        // cpu_features[0]: what the file cannot even be loaded without (static code)
    TNP_CPU_X86_64_V2 = 1u << 0, TNP_CPU_X86_64_V3 = 1u << 1, TNP_CPU_X86_64_V4 = 1u << 2,
    TNP_CPU_ARM_DOTPROD = 1u << 0, TNP_CPU_ARM_I8MM = 1u << 1, TNP_CPU_ARM_SVE = 1u << 2,
};
typedef struct tnp_manifest {
    uint32_t size;
    uint32_t abi;                             // built with; loads in hosts of the same major
    uint32_t abi_needed;                      // the oldest host it can live with
    uint32_t machine;                         // ELF e_machine, checked against the file's own
    uint32_t os, flags;
    uint32_t cpu_features[2];
    char name[32];                            // "vulkan": [a-z0-9_-], what people type
    char version[32];                         // its own, "1.4.2"
    char vendor[64];
    char license[32];                         // SPDX
    // 1.0 ends here
} tnp_manifest;
struct tnp_note { uint32_t name_size, size, type; char owner[8]; tnp_manifest manifest; };   // frozen but for the manifest

#if defined(_MSC_VER) && !defined(__clang__)
#pragma section(".tenon", read)
#define TNP_NOTE_PLACE __declspec(allocate(".tenon")) __declspec(align(4))
#elif defined(_WIN32)
#define TNP_NOTE_PLACE __attribute__((section(".tenon"), used, aligned(4)))
#elif defined(__APPLE__)
#define TNP_NOTE_PLACE __attribute__((section("__TEXT,__tenon"), used, aligned(4)))
#else
#define TNP_NOTE_PLACE __attribute__((section(".note.tenon"), used, aligned(4)))
#endif
#if defined(__x86_64__) || defined(_M_X64)    // tnp_manifest.machine of what is being compiled
#define TNP_MACHINE 62u
#elif defined(__aarch64__) || defined(_M_ARM64)
#define TNP_MACHINE 183u
#elif defined(__riscv) && __riscv_xlen == 64
#define TNP_MACHINE 243u
#endif
// Defines tnp_note_, for tnp_plugin.note.
#define TNP_MANIFEST(machine, os, cpu, abi_needed, name, version, vendor, license)                                            \
    TNP_NOTE_PLACE static const tnp_note tnp_note_ = {                                                                        \
        6, sizeof(tnp_manifest), 1, "Tenon",                                                                                  \
        { sizeof(tnp_manifest), TNP_ABI_CURRENT, abi_needed, machine, os, 0, { cpu, 0 }, name, version, vendor, license } }

#ifdef __cplusplus
}
#endif
#endif
