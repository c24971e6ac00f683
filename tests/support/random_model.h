// random_model.h: a small language model of random weights, of any sizes and any type, as an open
// file. Its numbers are sane: no norm, sum or score overflows.
#ifndef TEST_RANDOM_MODEL_H
#define TEST_RANDOM_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <tenon/graph.h>
#include <tenon/model.h>

typedef struct random_model {
    const char *architecture;   // llama, gemma3, qwen2 or qwen3
    uint32_t layers, embedding, heads, kv_heads, head_dim, feed_forward, vocabulary, context;
    tn_dtype matrices;      // F32, F16 or a block type
    bool has_biases;        // on all that the architecture lets have one
    bool has_output;        // an output matrix of its own; else that of the embeddings
    bool has_frequencies;   // a factor for each frequency of the rotation (llama)
    uint32_t window;        // of gemma3; 0 = none
} random_model;

// Fails the test (CMocka) when it cannot be written or opened.
tn_model *random_model_open(const random_model *of);

#endif
