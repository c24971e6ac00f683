// test_slice.h: slices built by hand, and the way from a slice to a program that is bound.
#ifndef TEST_SLICE_H
#define TEST_SLICE_H

#include <stdbool.h>

#include <tenon/plugin.h>

enum { TEST_MAX_STORAGES = 24, TEST_MAX_VALUES = 32, TEST_MAX_NODES = 16, TEST_MAX_OPERANDS = 8,
       TEST_MAX_UNITS = 8 };

typedef struct test_slice {
    tnp_slice slice;
    tnp_storage storages[TEST_MAX_STORAGES];
    tnp_value values[TEST_MAX_VALUES];
    tnp_node nodes[TEST_MAX_NODES];
    const tnp_storage *storage_pointers[TEST_MAX_STORAGES];
    const tnp_value *value_pointers[TEST_MAX_VALUES];
    const tnp_node *node_pointers[TEST_MAX_NODES];
    uint32_t operands[TEST_MAX_NODES][TEST_MAX_OPERANDS];
    uint32_t results[TEST_MAX_NODES];
} test_slice;

typedef struct test_unit {
    uint32_t node_count, nodes[TEST_MAX_NODES];
} test_unit;

// What a plugin said of a slice: the first claim of each node alone, or the reason against it; and
// which nodes it claimed together.
typedef struct test_claims {
    uint32_t unit_count;
    test_unit units[TEST_MAX_UNITS];
    bool is_taken[TEST_MAX_NODES];
    tnp_claim claims[TEST_MAX_NODES];
    uint32_t nodes[TEST_MAX_NODES];
    tnp_in_place in_place[TEST_MAX_NODES][TEST_MAX_OPERANDS];
    tnp_pack packs[TEST_MAX_NODES];   // at most one of each
    const tnp_pack *pack_pointers[TEST_MAX_NODES];
    char reasons[TEST_MAX_NODES][128];
} test_claims;

void test_slice_init(test_slice *slice);
// A contiguous value over a storage of its own; indices are those of the slice. flags:
// TNP_STORAGE_*.
uint32_t test_slice_add_value(test_slice *slice, tnp_dtype dtype, uint32_t flags, uint32_t rank,
                              const int64_t *dims);
uint32_t test_slice_add_vector(test_slice *slice, tnp_dtype dtype, uint32_t flags, int64_t count);
// Another value over the same storage, a copy to be changed by the caller.
uint32_t test_slice_add_view(test_slice *slice, uint32_t value);
// inputs: two at most, TNP_NONE = not there.
uint32_t test_slice_add_node(test_slice *slice, tnp_op op, const void *attributes, const char *name,
                             uint32_t a, uint32_t b, uint32_t output);

tnp_status test_slice_claim(const test_slice *slice, const tnp_plugin *plugin, tnp_device *device,
                            test_claims *out);
// Compiles all nodes, each as it was claimed.
tnp_status test_slice_compile(const test_slice *slice, const tnp_plugin *plugin, tnp_device *device,
                              tnp_program **out, tnp_error *err);

// One storage or scratch in one buffer.
tnp_binding test_binding(uint32_t kind, uint32_t index, tnp_buffer *buffer, uint64_t offset,
                         uint64_t bytes);
tnp_status test_bind(const tnp_plugin *plugin, tnp_program *program, uint32_t flags,
                     const tnp_binding *bindings, uint32_t count, tnp_bound **out, tnp_error *err);

#endif
