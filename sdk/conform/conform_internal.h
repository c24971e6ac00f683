// conform_internal.h: what the files of the kit share. Begin with child.c (a case runs), host.c
// (what a plugin sees), rig.c (a device, ready to work), then any file of cases.
//
// All of this lives in a child process that runs one case after another, so what belongs to the
// case that runs now is one object, `kit`. A case that fails says so and ends the process: nothing
// is cleaned up, and any thread may do it.
#ifndef TENON_CONFORM_INTERNAL_H
#define TENON_CONFORM_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <tenon/plugin.h>

#include "conform.h"

// ------------------------------------------------------------------------------------------- cases

typedef struct kit_op_case kit_op_case;

typedef struct kit_case {
    char name[112];
    void (*run)(const struct kit_case *c);
    const kit_op_case *op;   // of cases of ops.c
    bool is_of_file;         // asks for no device: runs once
    bool is_batched;         // shares a child with the cases of the same op
} kit_case;

typedef struct kit_list {
    kit_case *cases;
    uint32_t count, room;
    bool is_short_of_memory;
} kit_list;

void kit_list_add(kit_list *list, const kit_case *c);
void kit_list_all(kit_list *list);
void kit_list_free(kit_list *list);
kit_status kit_choose(const char *const *filters, uint32_t filter_count, kit_list *out);

typedef struct kit_row {
    const char *name;   // behind the theme's
    void (*run)(const kit_case *c);
} kit_row;
void kit_list_rows(kit_list *list, const char *theme, const kit_row *rows, uint32_t count);

// A file of cases each.
void kit_list_file(kit_list *list);
void kit_list_life(kit_list *list);
void kit_list_memory(kit_list *list);
void kit_list_semaphores(kit_list *list);
void kit_list_queues(kit_list *list);
void kit_list_claims(kit_list *list);
void kit_list_programs(kit_list *list);
void kit_list_errors(kit_list *list);
void kit_list_versions(kit_list *list);
void kit_list_faults(kit_list *list);
void kit_list_threads(kit_list *list);
void kit_list_ops(kit_list *list);
void kit_free_ops(void);

// ------------------------------------------------------------------------------------ a case's end

typedef struct kit_child {
    const kit_options *options;
    const kit_case *now;
    int pipe;
    uint32_t index, device;
    const tnp_plugin *table;   // of the file, once kit_table was asked
    void *file;
} kit_child;
extern kit_child kit;

// These end the process, from any thread.
_Noreturn void kit_fail(const char *expected, const char *got, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn void kit_skip(const char *why, ...) __attribute__((format(printf, 1, 2)));
// The case is skipped when it returns: for those that share a child.
void kit_will_skip(const char *why, ...) __attribute__((format(printf, 1, 2)));

// A line made on the spot; lasts for the next few of the thread.
const char *kit_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *kit_status_name(tnp_status status);

// The status that is wanted, a text when it is a failure, and no padding beyond.
void kit_want(tnp_status status, tnp_status want, const tnp_error *err, const char *call);
#define KIT_OK_OF(status, err, call) kit_want((status), TNP_OK, (err), (call))
void kit_check_text(const char *text, size_t room, const char *what);   // UTF-8, ends, one line

void kit_run_cases(const kit_options *options, const kit_case *cases, uint32_t count,
                   uint32_t device, int pipe);
_Noreturn void kit_end(int code);

// Runs `body` in a process of its own, made before anything is loaded: for a case whose subject is
// how a process ends. Answers the wait status; the case fails when it is not over in time.
int kit_in_process(void (*body)(void *argument), void *argument, int timeout_ms);

enum { KIT_LEFT = 93 };           // the exit code of kit_leave: no plugin has a reason to choose it
_Noreturn void kit_leave(void);   // as an application does, with exit
void kit_leave_from(void *argument);

const tnp_plugin *kit_table(void);   // loads the file; fails the case
void *kit_query(void);               // the symbol of the file that is loaded

uint64_t kit_now_ns(void);
void kit_sleep_ms(int ms);

// Zeroed memory, kept until the process ends: what is large is no static, since all of the command
// would have to find room for it.
void *kit_new(size_t bytes);

// The same numbers in every run of a case.
void kit_seed(uint64_t seed);
double kit_random(double low, double high);
uint64_t kit_hash(const char *text);

// -------------------------------------------------------------------------------------------- host

typedef struct kit_span {
    const void *queue;
    tnp_span span;
} kit_span;

enum { KIT_SPANS = 64, KIT_WORKERS = 3 };
enum { KIT_DEVICES = 256, KIT_MEMORIES = 64 };   // the most that plugin.h permits

typedef struct kit_host {
    tnp_host table;
    atomic_uint live;           // allocations not given back
    atomic_int until_failure;   // the allocation that makes it 0 fails; negative: none does
    atomic_bool all_fail;       // from that one on
    atomic_uint failed;         // how many did
    atomic_uint allocated;
    unsigned char poison;   // what new memory is filled with
    atomic_uint spans;
    kit_span span[KIT_SPANS];
    atomic_uint logged;          // errors and warnings
    atomic_ullong asked;         // a bit for each of the first 64 settings
    struct kit_stored *stored;   // its cache
} kit_host;

void kit_host_init(kit_host *host);
void kit_host_finish(kit_host *host);   // fails the case when memory was not given back

// Between these a call is one of those that may not allocate.
void kit_begin_run_call(const char *call);
void kit_end_run_call(void);

// --------------------------------------------------------------------------------------------- rig

// A device with a queue and two semaphores, ready to work.
typedef struct kit_rig {
    kit_host *host;
    const tnp_plugin *t;
    tnp_instance *instance;
    tnp_device *device;
    tnp_device_info info;
    tnp_memory_info memory;   // of memory 0
    tnp_queue *queue;         // compute
    tnp_semaphore *gate;      // of the host
    tnp_semaphore *done;      // of the queue
    uint64_t signal;          // the last value of `done` that was submitted
    tnp_error err;
} kit_rig;

enum { KIT_PENDING = 8, KIT_POINTS = 4, KIT_COPIES = 4, KIT_UPDATES = 8, KIT_UPDATE_BYTES = 256 };

void kit_rig_open(kit_rig *r);
void kit_rig_open_with(kit_rig *r, kit_host *host);   // a host that the case set up
void kit_rig_close(kit_rig *r);                       // also what is NULL already
tnp_status kit_rig_try(kit_rig *r, kit_host *host);   // as open; the status of what failed first
void kit_rig_release(kit_rig *r);   // as close, of whatever is there; looks at nothing

tnp_queue_options kit_queue_options(uint32_t kind);
tnp_queue *kit_queue(kit_rig *r, uint32_t kind);
tnp_semaphore *kit_semaphore(kit_rig *r, uint32_t flags);
tnp_buffer *kit_buffer(kit_rig *r, uint64_t bytes);

// Work. A semaphore of NULL: none. submit: the bound may be NULL.
tnp_status kit_submit(kit_rig *r, tnp_queue *queue, tnp_bound *bound, tnp_semaphore *wait,
                      uint64_t value, tnp_semaphore *signal, uint64_t to);
tnp_status kit_copy(kit_rig *r, tnp_queue *queue, const tnp_copy *copy, tnp_semaphore *wait,
                    uint64_t value, tnp_semaphore *signal, uint64_t to);
// Through r->queue and r->done, until done.
void kit_upload(kit_rig *r, tnp_buffer *buffer, uint64_t offset, const void *data, uint64_t bytes);
void kit_download(kit_rig *r, tnp_buffer *buffer, uint64_t offset, void *data, uint64_t bytes);
tnp_status kit_wait(kit_rig *r, tnp_semaphore *semaphore, uint64_t value);   // for 10 s at most
void kit_wait_ok(kit_rig *r, tnp_semaphore *semaphore, uint64_t value, const char *what);

// ------------------------------------------------------------------------------------------- slice

enum {
    KIT_VALUES = 40,
    KIT_NODES = 16,
    KIT_OPERANDS = 6,
    KIT_CLAIMS = 96,
    KIT_PAIRS = 8,
    KIT_PACKS = 4
};
enum { KIT_STRUCT_BYTES = 4096 };   // the most of a struct that a plugin hands over

typedef struct kit_slice {
    tnp_slice slice;
    tnp_storage storages[KIT_VALUES];
    tnp_value values[KIT_VALUES];
    tnp_node nodes[KIT_NODES];
    const tnp_storage *storage_pointers[KIT_VALUES];
    const tnp_value *value_pointers[KIT_VALUES];
    const tnp_node *node_pointers[KIT_NODES];
    uint32_t inputs[KIT_NODES][KIT_OPERANDS], outputs[KIT_NODES];
} kit_slice;

void kit_slice_init(kit_slice *s);
// A value over a storage of its own, of which it needs all bytes; strides NULL: contiguous.
uint32_t kit_slice_value(kit_slice *s, tnp_dtype dtype, uint32_t rank, const int64_t *dims,
                         const int64_t *strides, uint64_t offset, uint32_t storage_flags);
uint32_t kit_slice_node(kit_slice *s, tnp_op op, const void *attr, const uint32_t *inputs,
                        uint32_t input_count, uint32_t output);

typedef struct kit_taken {   // a claim, kept
    tnp_claim claim;
    uint32_t nodes[KIT_NODES];
    tnp_in_place in_place[KIT_PAIRS];
    tnp_pack packs[KIT_PACKS];
    const tnp_pack *pack_pointers[KIT_PACKS];
    char name[64];
} kit_taken;

typedef struct kit_claims {
    const kit_slice *slice;
    uint32_t count;
    kit_taken taken[KIT_CLAIMS];
    char reasons[KIT_NODES][160];   // of nodes that were refused
    bool is_refused[KIT_NODES];
} kit_claims;

// Asks twice, and fails the case when an answer breaks a rule or the two differ.
void kit_claim(kit_rig *r, const kit_slice *s, kit_claims *out);
// Asks once and checks nothing: for slices that are not meant to be taken.
tnp_status kit_ask(kit_rig *r, const tnp_slice *s, kit_claims *out);
const kit_taken *kit_claim_of(const kit_claims *claims, uint32_t node);   // of that node alone
bool kit_is_convex(const kit_slice *s, const uint32_t *nodes, uint32_t count,
                   uint32_t *out_between);

int64_t kit_block_elements(tnp_dtype dtype);   // 0: no such type
int64_t kit_block_bytes(tnp_dtype dtype);
const char *kit_dtype_name(tnp_dtype dtype);
const char *kit_op_name(tnp_op op);

// A program over one buffer: storage after storage, each between guards.
//
//   | guard | storage 0 | guard | storage 1 | guard | … | scratch of unit 0 | guard | packs … |
//
// `image` is what the host holds of it: filled, sent, and compared with what comes back.
typedef struct kit_program {
    kit_slice *slice;
    uint32_t unit_count;
    const kit_taken *units[KIT_NODES];
    uint64_t at[KIT_VALUES];      // offset of each storage
    bool is_inside[KIT_VALUES];   // gets no binding: it stays inside a unit
    uint64_t scratch_at[KIT_NODES];
    uint64_t pack_at[KIT_NODES][KIT_PACKS], pack_bytes[KIT_NODES][KIT_PACKS];
    uint64_t bytes;   // of the buffer
    unsigned char *image, *back;
    unsigned char *guards;   // what each byte is: not 0 = no program writes it
    tnp_buffer *buffer;
    tnp_program *program;
    tnp_bound *bound;
} kit_program;

// in_place: 1 + storage whose place storage `in_place_of` takes; 0 = none.
void kit_program_place(kit_rig *r, kit_program *p, kit_slice *s, const kit_taken *const *units,
                       uint32_t unit_count, uint32_t in_place, uint32_t in_place_of);
void kit_program_make(kit_rig *r, kit_program *p, uint32_t bind_flags);   // compiles, packs, binds
tnp_status kit_program_compile(kit_rig *r, const kit_program *p, tnp_program **out);
tnp_status kit_program_bind(kit_rig *r, const kit_program *p, tnp_program *program, uint32_t flags,
                            tnp_bound **out);
// What is no storage's becomes the pattern of a guard, the storages `poison`.
void kit_program_fill(const kit_program *p, unsigned char poison);
// Sends the image, runs with the updates, brings `back`; checks the guards. The status of the work.
tnp_status kit_program_run(kit_rig *r, kit_program *p, const tnp_update *updates, uint32_t count);
void kit_program_free(kit_rig *r, kit_program *p);

// The unary op of one F32 operand that a device takes, of those that the kit can chain; fails when
// none is: skips.
tnp_op kit_chain_op(kit_rig *r);
float kit_chain_value(tnp_op op, float x);   // by the reference
// A chain x -> op -> op … of `nodes` nodes over F32 {count}. Value i is the i-th of the chain.
void kit_chain(kit_slice *s, tnp_op op, uint32_t nodes, int64_t count);
// A product whose F32 weights {K, N} a claim wants packed, and all of them packed at once; skips
// where none does. Behind `bytes` of both there is room that nobody may write.
enum { KIT_PACKED_K = 64, KIT_PACKED_N = 37, KIT_BEHIND = 64 };
typedef struct kit_packed {
    kit_slice s;
    kit_claims claims;
    float weights[KIT_PACKED_K * KIT_PACKED_N];
    const tnp_pack *pack;
    uint64_t groups, bytes;
    unsigned char *all, *apart;
} kit_packed;
void kit_pack_product(kit_rig *r, kit_packed *k);
void kit_packed_free(kit_packed *k);

// Whether y is the op done `nodes` times to x.
void kit_check_chain(tnp_op op, const float *x, const float *y, int64_t count, uint32_t nodes,
                     const char *what);
// One node over `count` elements, made, claimed, compiled and bound: storage 0 to storage 1.
kit_program *kit_small_program(kit_rig *r, int64_t count);

#endif
