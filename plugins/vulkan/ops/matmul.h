// matmul.h: a product of one matrix, and what may be done with it at once.
#ifndef VULKAN_MATMUL_H
#define VULKAN_MATMUL_H

#include "blocks.h"

#define VULKAN_FEW_TOKENS 8u   // at most, of the kernel for few

// What the kernel does with a product before it is stored: of one matrix, without batches.
typedef struct vulkan_tail {
    tnp_op op;                // add, or a gate: for few tokens alone; 0 = nothing
    const tnh_value *out;     // the result
    const tnh_value *other;   // what is added; the matrix of the gate's other product, up
} vulkan_tail;

const char *vulkan_refuse_product(const tnh_node *node, const vulkan_features *features);
void vulkan_emit_product(const tnh_node *node, const vulkan_tail *tail, vulkan_emitter *to);

#endif
