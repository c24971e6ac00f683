// gguf_internal.h: for the .c files of this folder.
//
// A GGUF file, all numbers little-endian:
//
//   "GGUF" version:u32 tensor_count:u64 key_count:u64
//   key_count times     name:string type:u32 value
//   tensor_count times  name:string rank:u32 dims:u64[rank] type:u32 offset:u64
//   zeros up to a multiple of the alignment
//   the data of the tensors, each at a multiple of the alignment; offset 0 is where they begin
//
//   string  length:u64 bytes, not ended by NUL
//   value   a number, a truth value (one byte, 0 or 1), a string, or an array:
//           element_type:u32 count:u64 elements
//
// Opening goes through the file once, front to back. A count is believed only when that many
// entries of the smallest kind fit into what is left of the file, so memory taken for a file is a
// small multiple of its bytes at most.
#ifndef TNI_GGUF_INTERNAL_H
#define TNI_GGUF_INTERNAL_H

#include <stdbool.h>
#include <tenon/model.h>

#include "base/arena.h"
#include "base/file_map.h"

enum {
    TNI_GGUF_MAX_ENTRIES = 1 << 20,   // keys, and tensors: far above what any model has
    TNI_GGUF_MAX_NAME_BYTES = 65535,
    TNI_GGUF_MAX_RANK = 4,
    TNI_GGUF_DEFAULT_ALIGNMENT = 32,
    TNI_GGUF_MIN_ALIGNMENT = 8,   // of the widest element: less could not be read in place
    TNI_GGUF_MAX_ALIGNMENT = 1 << 20,
};

// ----------------------------------------------------------------------------------------- names.c

// Names sorted for look-up by bisection: unlike a hash table there is no file that makes it slow.
typedef struct tni_gguf_names {
    const char **names;   // by position in the file
    uint32_t *sorted;     // positions, in the order of their names
    uint32_t count;
} tni_gguf_names;

// false: no memory.
bool tni_gguf_names_reserve(tni_gguf_names *names, uint32_t count, tni_arena *arena);
void tni_gguf_names_sort(tni_gguf_names *names);
// Positions; UINT32_MAX = none.
uint32_t tni_gguf_names_find(const tni_gguf_names *names, const char *name);
// The next that comes twice: *inout_at, 0 at first, says where to go on.
uint32_t tni_gguf_names_duplicate(const tni_gguf_names *names, uint32_t *inout_at);

// Whether entry a comes before entry b, in a strict order.
typedef bool (*tni_gguf_before)(const void *context, uint32_t a, uint32_t b);

// Sorts indices in place, in count * log(count) steps for every input.
void tni_gguf_sort(uint32_t *indices, uint32_t count, tni_gguf_before before, const void *context);

// ------------------------------------------------------------------------------------------- model

typedef struct tni_gguf_key {
    const char *name;
    uint32_t type, element_type;   // TN_KEY_…
    uint64_t count;
    // Numbers and truth values, in the file, not aligned; NULL for strings.
    const unsigned char *values;
    // Strings, copied, one behind the other; NULL for others. String i begins at texts[starts[i]]
    // and has its NUL at texts[starts[i + 1] - 1]; there are count + 1 starts.
    const char *texts;
    const uint32_t *starts;
} tni_gguf_key;

typedef struct tni_gguf_tensor {
    const char *name;
    uint32_t file_type;   // as in the file
    tn_dtype dtype;
    uint32_t rank;
    int64_t dims[TNI_GGUF_MAX_RANK];
    uint64_t offset;   // from the start of the data; after verify.c: in the file
    uint64_t bytes;
    const unsigned char *data;   // NULL: there is a problem with it
    uint32_t file;
    bool is_bad;
} tni_gguf_tensor;

// One file. A model in several files has as many of these; its keys are those of the first.
typedef struct tni_gguf_file {
    tni_file_map map;   // empty when the bytes are lent
    const unsigned char *data;
    size_t bytes;
    const char *path;
    uint32_t version;
    uint32_t alignment_bytes;   // 0: what the file says is no alignment
    uint32_t key_count, tensor_count;
    tni_gguf_key *keys;
    tni_gguf_tensor *tensors;
    tni_gguf_names key_names, tensor_names;
    size_t table_end;                         // the first byte after the table of tensors
    bool is_whole;                            // keys and table could be read to their ends
    int64_t part, part_count, part_tensors;   // split.no, split.count, split.tensors.count;
                                              // defaults 0, 1, and -1 for not told
} tni_gguf_file;

enum { TNI_GGUF_MOST_PROBLEMS = 100 };

struct tn_model {
    tn_allocator allocator;
    tni_arena arena;   // everything below but the files
    const char *path;
    tni_gguf_file *files;
    uint32_t file_count, file_capacity;
    bool is_lent;   // the bytes of the one file
    uint32_t tensor_count;
    tni_gguf_tensor *tensors;   // of all files
    tni_gguf_names tensor_names;
    bool keeps_problems;   // else the first one ends the reading
    uint32_t problem_count;
    const char *problems[TNI_GGUF_MOST_PROBLEMS];
};

// ---------------------------------------------------------------------------------------- reader.c

// A place in the file, and what stands there, for messages: "key 3 'general.name'".
typedef struct tni_gguf_cursor {
    const char *path;
    const unsigned char *data;
    size_t bytes, at;    // at <= bytes
    const char *entry;   // "key", "tensor"; NULL = the file
    uint32_t entry_index;
    const char *entry_name;   // NULL = not known yet
    bool is_bad;              // something was complained of
} tni_gguf_cursor;

// TN_E_FILE and "<path>: <entry> <index> '<name>': " before the sentence.
tn_status tni_gguf_fail(const tni_gguf_cursor *cursor, tn_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// The same of what one can read on after: where the model keeps its problems it is one of them, the
// place is marked as bad, and the answer is TN_OK.
tn_status tni_gguf_complain(tn_model *model, tni_gguf_cursor *cursor, tn_error *err,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));

// A failure that ended the reading of something: kept as a problem where they are kept, TN_OK then.
tn_status tni_gguf_keep(tn_model *model, tn_status status, tn_error *err);

// Each reads at the cursor and moves it; what: names the thing in a message. On failure the cursor
// stays.
tn_status tni_gguf_read_u32(tni_gguf_cursor *cursor, const char *what, uint32_t *out,
                            tn_error *err);
tn_status tni_gguf_read_u64(tni_gguf_cursor *cursor, const char *what, uint64_t *out,
                            tn_error *err);
tn_status tni_gguf_read_bytes(tni_gguf_cursor *cursor, const char *what, uint64_t bytes,
                              const unsigned char **out, tn_error *err);
tn_status tni_gguf_read_string(tni_gguf_cursor *cursor, const char *what, const unsigned char **out,
                               size_t *out_bytes, tn_error *err);
// A count of entries that take at least entry_bytes each: refused when they cannot fit into what is
// left.
tn_status tni_gguf_read_count(tni_gguf_cursor *cursor, const char *what, size_t entry_bytes,
                              uint64_t *out, tn_error *err);

// Little-endian, at any address.
uint16_t tni_gguf_u16(const unsigned char *at);
uint32_t tni_gguf_u32(const unsigned char *at);
uint64_t tni_gguf_u64(const unsigned char *at);

// ----------------------------------------------------------------------------------------- types.c

tn_dtype tni_gguf_dtype(uint32_t file_type);                 // 0 = none of dtypes.def
const char *tni_gguf_tensor_type_name(uint32_t file_type);   // "IQ1_S"; "unknown"
const char *tni_gguf_key_type_name(uint32_t type);           // "STRING"; "unknown"
size_t tni_gguf_key_type_bytes(uint32_t type);   // of one number or truth value; 0 for others

// ----------------------------------------------------------------------------------------- value.c

// Element `index` of a key, which the caller has checked to be in range; false when the type or the
// value does not fit.
bool tni_gguf_value_i64(const tni_gguf_key *key, uint64_t index, int64_t *out);
bool tni_gguf_value_f64(const tni_gguf_key *key, uint64_t index, double *out);
bool tni_gguf_value_bool(const tni_gguf_key *key, uint64_t index, bool *out);
bool tni_gguf_value_string(const tni_gguf_key *key, uint64_t index, const char **out_text,
                           size_t *out_bytes);

// ---------------------------------------------------------------------- parse.c, verify.c, parts.c

// Header, keys and the table of tensors of file->data.
tn_status tni_gguf_parse(tn_model *model, tni_gguf_file *file, tn_error *err);
// What the table says against the file. Sets data, offset in the file and bytes of each tensor.
tn_status tni_gguf_verify(tn_model *model, tni_gguf_file *file, tn_error *err);
// The other files of a model of which the first is there, and the tensors of all.
tn_status tni_gguf_add_parts(tn_model *model, bool is_copied, tn_error *err);
// Whether the first file is the first part.
tn_status tni_gguf_expect_first_part(tn_model *model, tni_gguf_file *file, tn_error *err);

// ----------------------------------------------------------------------------------------- model.c

// Maps or reads the file at path, parses and verifies it, as files[model->file_count - 1].
tn_status tni_gguf_add_file(tn_model *model, const char *path, bool is_copied, tn_error *err);

#endif
