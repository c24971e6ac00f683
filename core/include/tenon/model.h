// model.h: a GGUF file: its metadata and its tensors, mapped into memory and checked, trusting
// nothing.
//
// Everything in the file is verified when it is opened: counts, lengths, offsets, types, alignment,
// overlap. After that no accessor can leave the file.
//
// A model may stand in several files, its parts, NAME-00001-of-00003.gguf and its like: opening the
// first opens all. Metadata is that of the first; tensors are counted through all. (The naming
// convention of GGUF calls a part a "shard", and its keys call it a "split".)
//
// Ownership: names, strings, arrays and tensor bytes are lent and live as long as the model; graphs
// and sessions that use its tensors as weights must be destroyed before it. Threads: [any] for
// everything but open and close.
//
// Limit: reading a mapped file that was cut, or whose disk fails, raises SIGBUS, which ends the
// process. TN_MODEL_IN_MEMORY reads the file into memory instead; tn_model_guard_files makes it
// zeros that tn_model_check tells of.
#ifndef TENON_MODEL_H
#define TENON_MODEL_H

#include <tenon/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_model tn_model;

enum {
    TN_MODEL_IN_MEMORY = 1u << 0,   // copy the file into memory instead of mapping it
    // Open a damaged file as far as it can be read, to look at it: problems are listed by
    // tn_model_problem. A tensor with a problem has no data: it is NULL, and bytes 0.
    TN_MODEL_INSPECT = 1u << 1,
};

typedef struct tn_model_options {
    uint32_t size;   // sizeof
    uint32_t flags;
    const tn_allocator *allocator;   // NULL = the C library's
} tn_model_options;

// options NULL = defaults. Errors: TN_E_ARG path or out_model is NULL, a flag is unknown; TN_E_FILE
// with path, what was found and what was expected; TN_E_HOST_MEMORY. With TN_MODEL_INSPECT
// TN_E_FILE is left for a file that cannot be read, and for one without a header of GGUF 2 or 3, or
// with one that counts more keys or tensors than it has room for. Since 0.1
TN_NODISCARD TN_API tn_status tn_model_open(const char *path, const tn_model_options *options,
                                            tn_model **out_model, tn_error *err);

// NULL is fine. Since 0.1
TN_API void tn_model_close(tn_model *model);

typedef struct tn_model_info {
    uint32_t size;      // sizeof, set by the caller
    uint32_t version;   // 2 or 3
    uint32_t key_count, tensor_count;
    uint32_t alignment_bytes;
    uint32_t is_mapped;    // 1: the file is mapped; 0: read into memory
    uint64_t file_bytes;   // of all parts
    const char *path;      // of the first part
    uint32_t part_count;   // files; 1 for most models
    uint32_t problem_count;
} tn_model_info;
TN_API void tn_model_describe(const tn_model *model, tn_model_info *out_info);   // Since 0.1

// One of the files of a model.
typedef struct tn_model_part {
    uint32_t size;      // sizeof, set by the caller
    uint32_t version;   // 2 or 3
    uint32_t tensor_count;
    uint32_t alignment_bytes;
    uint64_t file_bytes;
    const char *path;
} tn_model_part;
// TN_E_NOT_FOUND past the end. Since 0.1
TN_NODISCARD TN_API tn_status tn_model_part_at(const tn_model *model, uint32_t index,
                                               tn_model_part *out_part, tn_error *err);

// What TN_MODEL_INSPECT found wrong, a line each; NULL past the end. Since 0.1
TN_API const char *tn_model_problem(const tn_model *model, uint32_t index);

// Whether the mapped files are as they were when they were opened: TN_E_FILE when one was changed
// or cut since, or could not be read under tn_model_guard_files; what was computed meanwhile is
// then worth nothing. For before a run and after each step of it: a microsecond a file. Since 0.1
TN_NODISCARD TN_API tn_status tn_model_check(const tn_model *model, tn_error *err);

// From now on, reading a mapped file where it was cut or its disk fails gives zeros in place of
// SIGBUS, and tn_model_check answers TN_E_FILE. Installs a handler of SIGBUS for the whole process,
// once and for good; faults elsewhere go to the handler that was there before. So this is for the
// program to decide, not for a library within it. Errors: TN_E_INTERNAL. [any] Since 0.1
TN_NODISCARD TN_API tn_status tn_model_guard_files(tn_error *err);

// ---------------------------------------------------------------------------------------- metadata

// Types of metadata values, numbered as in the file.
enum {
    TN_KEY_U8 = 0,
    TN_KEY_I8 = 1,
    TN_KEY_U16 = 2,
    TN_KEY_I16 = 3,
    TN_KEY_U32 = 4,
    TN_KEY_I32 = 5,
    TN_KEY_F32 = 6,
    TN_KEY_BOOL = 7,
    TN_KEY_STRING = 8,
    TN_KEY_ARRAY = 9,
    TN_KEY_U64 = 10,
    TN_KEY_I64 = 11,
    TN_KEY_F64 = 12,
};

typedef struct tn_model_key {
    uint32_t size;           // sizeof, set by the caller
    uint32_t type;           // TN_KEY_…
    uint32_t element_type;   // of an array; else = type
    uint32_t reserved;
    uint64_t count;     // elements of an array; else 1
    const char *name;   // ends in NUL
} tn_model_key;
// Keys by position, in the file's order; TN_E_NOT_FOUND past the end. Since 0.1
TN_NODISCARD TN_API tn_status tn_model_key_at(const tn_model *model, uint32_t index,
                                              tn_model_key *out_key, tn_error *err);
// A key by name; TN_E_NOT_FOUND when there is none. Since 0.1
TN_NODISCARD TN_API tn_status tn_model_find_key(const tn_model *model, const char *name,
                                                tn_model_key *out_key, tn_error *err);

// Single values. Any integer type converts to I64 when it fits, any number to F64. TN_E_NOT_FOUND:
// no such key; TN_E_FILE: it has another type or does not fit. out is untouched after an error, so
// a default may stand in it. Since 0.1
TN_NODISCARD TN_API tn_status tn_model_get_i64(const tn_model *model, const char *name,
                                               int64_t *out, tn_error *err);
TN_NODISCARD TN_API tn_status tn_model_get_f64(const tn_model *model, const char *name, double *out,
                                               tn_error *err);
TN_NODISCARD TN_API tn_status tn_model_get_bool(const tn_model *model, const char *name, bool *out,
                                                tn_error *err);
// The string ends in NUL at out_text[bytes]; it may hold other NULs. out_bytes may be NULL. Since
// 0.1
TN_NODISCARD TN_API tn_status tn_model_get_string(const tn_model *model, const char *name,
                                                  const char **out_text, size_t *out_bytes,
                                                  tn_error *err);

// Arrays, element by element in constant time; index < count of the key. Conversions as above.
// Since 0.1
TN_NODISCARD TN_API tn_status tn_model_get_i64_at(const tn_model *model, const char *name,
                                                  uint64_t index, int64_t *out, tn_error *err);
TN_NODISCARD TN_API tn_status tn_model_get_f64_at(const tn_model *model, const char *name,
                                                  uint64_t index, double *out, tn_error *err);
TN_NODISCARD TN_API tn_status tn_model_get_bool_at(const tn_model *model, const char *name,
                                                   uint64_t index, bool *out, tn_error *err);
TN_NODISCARD TN_API tn_status tn_model_get_string_at(const tn_model *model, const char *name,
                                                     uint64_t index, const char **out_text,
                                                     size_t *out_bytes, tn_error *err);

// ----------------------------------------------------------------------------------------- tensors

typedef struct tn_model_tensor {
    uint32_t size;   // sizeof, set by the caller
    tn_dtype dtype;
    uint32_t rank;               // 1 to 4
    uint32_t part;               // the file that holds it
    int64_t dims[TN_MAX_DIMS];   // 1 beyond rank
    const void *data;
    uint64_t bytes;
    uint64_t offset;    // of data in its file
    const char *name;   // ends in NUL
} tn_model_tensor;
TN_NODISCARD TN_API tn_status tn_model_tensor_at(const tn_model *model, uint32_t index,
                                                 tn_model_tensor *out_tensor,
                                                 tn_error *err);   // Since 0.1
TN_NODISCARD TN_API tn_status tn_model_find_tensor(const tn_model *model, const char *name,
                                                   tn_model_tensor *out_tensor,
                                                   tn_error *err);   // Since 0.1

#ifdef __cplusplus
}
#endif
#endif
