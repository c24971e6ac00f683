// value.h: values of a slice, checked and copied, and which of their bytes they touch.
#ifndef CPU_VALUE_H
#define CPU_VALUE_H

#include "cpu.h"

typedef struct cpu_value {
    tnp_dtype dtype;   // 0 = not used by the program
    uint32_t rank;
    int64_t dims[TNP_MAX_DIMS];
    int64_t strides[TNP_MAX_DIMS];   // bytes, >= 0
    uint32_t extent[TNP_MAX_DIMS];   // 1 + index of the value with the length, 0 = all
    uint32_t layout;                 // not 0: a constant of which only this pack is left
    uint32_t storage;
    uint32_t storage_flags;
    uint64_t offset;       // in the storage
    uint64_t span_bytes;   // from the first byte of the first element to the last of the last
} cpu_value;

// Flags of a storage that somebody outside the slice looks at.
#define CPU_SEEN_OUTSIDE                                                                           \
    (TNP_STORAGE_CONSTANT | TNP_STORAGE_STATE | TNP_STORAGE_ENTERS | TNP_STORAGE_LEAVES)

// Elements and bytes of one block; false for a type that is not known here.
bool cpu_dtype_block(tnp_dtype dtype, int64_t *elements, uint32_t *bytes);

// Copies one value of a slice, its extents checked too. Returns why it cannot be used (static
// text), or NULL.
const char *cpu_value_read(const tnp_slice *slice, uint32_t index, cpu_value *out);
// The same for a value that is the extent of another: one I32.
const char *cpu_value_read_length(const tnp_slice *slice, uint32_t index, cpu_value *out);

// Bytes of one row whose blocks stand side by side.
uint64_t cpu_value_row_bytes(const cpu_value *value);

// Whether an output may take the address of an input: same dims, strides and element size.
bool cpu_value_matches(const cpu_value *a, const cpu_value *b);

// Whether no byte belongs to elements of both, a beginning at address a_begin and b at b_begin
// (offsets in one storage will do). false also when that is not easily seen.
bool cpu_value_is_apart(const cpu_value *a, uint64_t a_begin, const cpu_value *b, uint64_t b_begin);

// The value as an op sees it, all of its dims counting.
void cpu_tensor_fill(const cpu_value *value, char *data, cpu_tensor *out);

#endif
