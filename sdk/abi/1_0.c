// 1_0.c: the contract as of 1.0, held fast. Written by make.py; README.md says when.
#include <tenon/plugin.h>

// clang-format off
#define WHY "not as in 1.0: sdk/abi/README.md"
#define IS(what, number) _Static_assert((what) == (number), WHY)
#define AT_LEAST(what, number) _Static_assert((what) >= (number), WHY)
#define FIELD(type, field, offset, bytes) \
    IS(offsetof(type, field), offset); \
    IS(sizeof(((type *)0)->field), bytes)
#define CALL(type, field, ...) \
    _Static_assert(_Generic(((type *)0)->field, __VA_ARGS__: 1, default: 0), WHY)

IS(sizeof(void *), 8);
IS(TNP_ABI_CURRENT >> 16, 1);
IS(TNP_DTYPE_F32, 1);
IS(TNP_DTYPE_F16, 2);
IS(TNP_DTYPE_BF16, 3);
IS(TNP_DTYPE_I32, 4);
IS(TNP_DTYPE_I64, 5);
IS(TNP_DTYPE_I16, 6);
IS(TNP_DTYPE_I8, 7);
IS(TNP_DTYPE_BOOL, 8);
IS(TNP_DTYPE_Q4_0, 16);
IS(TNP_DTYPE_Q4_1, 17);
IS(TNP_DTYPE_Q5_0, 18);
IS(TNP_DTYPE_Q5_1, 19);
IS(TNP_DTYPE_Q8_0, 20);
IS(TNP_DTYPE_Q2_K, 24);
IS(TNP_DTYPE_Q3_K, 25);
IS(TNP_DTYPE_Q4_K, 26);
IS(TNP_DTYPE_Q5_K, 27);
IS(TNP_DTYPE_Q6_K, 28);
IS(TNP_DTYPE_IQ4_NL, 32);
IS(TNP_OP_RESHAPE, 1);
IS(TNP_OP_SLICE, 2);
IS(TNP_OP_PERMUTE, 3);
IS(TNP_OP_BROADCAST, 4);
IS(TNP_OP_LIMIT, 5);
IS(TNP_OP_ADD, 16);
IS(TNP_OP_SUB, 17);
IS(TNP_OP_MUL, 18);
IS(TNP_OP_DIV, 19);
IS(TNP_OP_SCALE, 32);
IS(TNP_OP_NEG, 33);
IS(TNP_OP_SQRT, 34);
IS(TNP_OP_EXP, 35);
IS(TNP_OP_TANH, 36);
IS(TNP_OP_SIGMOID, 37);
IS(TNP_OP_RELU, 38);
IS(TNP_OP_SILU, 39);
IS(TNP_OP_GELU, 40);
IS(TNP_OP_ABS, 41);
IS(TNP_OP_SQR, 42);
IS(TNP_OP_RSQRT, 43);
IS(TNP_OP_LOG, 44);
IS(TNP_OP_SIN, 45);
IS(TNP_OP_COS, 46);
IS(TNP_OP_CLAMP, 47);
IS(TNP_OP_GELU_ERF, 51);
IS(TNP_OP_GELU_QUICK, 52);
IS(TNP_OP_SOFTCAP, 53);
IS(TNP_OP_SWIGLU, 48);
IS(TNP_OP_GEGLU, 49);
IS(TNP_OP_REGLU, 50);
IS(TNP_OP_RMS_NORM, 56);
IS(TNP_OP_LAYER_NORM, 57);
IS(TNP_OP_GROUP_NORM, 58);
IS(TNP_OP_L2_NORM, 59);
IS(TNP_OP_SOFTMAX, 60);
IS(TNP_OP_ROPE, 64);
IS(TNP_OP_MATMUL, 72);
IS(TNP_OP_MATMUL_ID, 73);
IS(TNP_OP_TOP_K, 74);
IS(TNP_OP_ATTENTION, 80);
IS(TNP_OP_GET_ROWS, 88);
IS(TNP_OP_SET_ROWS, 89);
IS(TNP_OP_CONVERT, 96);
IS(TNP_OP_CONCAT, 97);
IS(TNP_OP_PAD, 98);
IS(TNP_OP_REPEAT, 99);
IS(TNP_OP_SUM, 104);
IS(TNP_OP_MEAN, 105);
IS(TNP_OP_ARGMAX, 106);
IS(TNP_OP_MAX, 107);
IS(TNP_OP_CUMSUM, 108);
IS(TNP_OP_ARGSORT, 109);
IS(TNP_OP_CONV_1D, 112);
IS(TNP_OP_CONV_2D, 113);
IS(TNP_OP_CONV_TRANSPOSE_1D, 114);
IS(TNP_OP_POOL_2D, 115);
IS(TNP_OP_UPSCALE, 116);
IS(TNP_ROPE_NORMAL, 0);
IS(TNP_ROPE_NEOX, 1);
IS(TNP_ATTENTION_CAUSAL, 1);
IS(TNP_SORT_ASCENDING, 0);
IS(TNP_SORT_DESCENDING, 1);
IS(TNP_POOL_MAX, 0);
IS(TNP_POOL_MEAN, 1);
IS(TNP_UPSCALE_NEAREST, 0);
IS(TNP_UPSCALE_BILINEAR, 1);
IS(TNP_OK, 0);
IS(TNP_E_ARG, 1);
IS(TNP_E_UNSUPPORTED, 2);
IS(TNP_E_HOST_MEMORY, 3);
IS(TNP_E_DEVICE_MEMORY, 4);
IS(TNP_E_DEVICE_LOST, 5);
IS(TNP_E_TIMEOUT, 6);
IS(TNP_E_IO, 7);
IS(TNP_E_VERSION, 8);
IS(TNP_E_INTERNAL, 9);
IS(TNP_E_BUSY, 10);
IS(TNP_E_DATA, 11);
IS(TNP_E_CANCELLED, 12);
IS(TNP_STORAGE_CONSTANT, 65536);
IS(TNP_STORAGE_STATE, 131072);
IS(TNP_STORAGE_ENTERS, 262144);
IS(TNP_STORAGE_LEAVES, 524288);
IS(TNP_VALUE_AT_SUBMIT, 1);
IS(TNP_PACK_BAKED, 65536);
IS(TNP_KIND_CPU, 1);
IS(TNP_KIND_GPU, 2);
IS(TNP_KIND_INTEGRATED_GPU, 3);
IS(TNP_KIND_ACCELERATOR, 4);
IS(TNP_KIND_SOFTWARE, 5);
IS(TNP_MEMORY_ALLOC, 1);
IS(TNP_MEMORY_IMPORT, 2);
IS(TNP_MEMORY_BIND, 4);
IS(TNP_MEMORY_HOST_VISIBLE, 8);
IS(TNP_MEMORY_HOST_CACHED, 16);
IS(TNP_LINK_COPY, 1);
IS(TNP_LINK_WAIT, 2);
IS(TNP_LINK_BIND, 4);
IS(TNP_IMPORT_READ_ONLY, 65536);
IS(TNP_IMPORT_HOST, 1);
IS(TNP_SEMAPHORE_HOST, 65536);
IS(TNP_QUEUE_COMPUTE, 1);
IS(TNP_QUEUE_COPY, 2);
IS(TNP_SUBMIT_INLINE, 1);
IS(TNP_BIND_STORAGE, 1);
IS(TNP_BIND_PACKED, 2);
IS(TNP_BIND_SCRATCH, 3);
IS(TNP_BIND_TRACE, 1);
IS(TNP_OS_LINUX, 1);
IS(TNP_OS_WINDOWS, 2);
IS(TNP_OS_MACOS, 3);
IS(TNP_OS_ANDROID, 4);
IS(TNP_CPU_X86_64_V2, 1);
IS(TNP_CPU_X86_64_V3, 2);
IS(TNP_CPU_X86_64_V4, 4);
IS(TNP_CPU_ARM_DOTPROD, 1);
IS(TNP_CPU_ARM_I8MM, 2);
IS(TNP_CPU_ARM_SVE, 4);
IS(TNP_MAX_DIMS, 8);
IS(TNP_NONE, 4294967295u);

AT_LEAST(sizeof(struct tnp_dims_attr), 72);
FIELD(struct tnp_dims_attr, size, 0, 4);
FIELD(struct tnp_dims_attr, rank, 4, 4);
FIELD(struct tnp_dims_attr, dims, 8, 64);

AT_LEAST(sizeof(struct tnp_slice_attr), 200);
FIELD(struct tnp_slice_attr, size, 0, 4);
FIELD(struct tnp_slice_attr, rank, 4, 4);
FIELD(struct tnp_slice_attr, begin, 8, 64);
FIELD(struct tnp_slice_attr, count, 72, 64);
FIELD(struct tnp_slice_attr, step, 136, 64);

AT_LEAST(sizeof(struct tnp_permute_attr), 40);
FIELD(struct tnp_permute_attr, size, 0, 4);
FIELD(struct tnp_permute_attr, rank, 4, 4);
FIELD(struct tnp_permute_attr, axes, 8, 32);

AT_LEAST(sizeof(struct tnp_axis_attr), 8);
FIELD(struct tnp_axis_attr, size, 0, 4);
FIELD(struct tnp_axis_attr, axis, 4, 4);

AT_LEAST(sizeof(struct tnp_scale_attr), 16);
FIELD(struct tnp_scale_attr, size, 0, 4);
FIELD(struct tnp_scale_attr, scale, 4, 4);
FIELD(struct tnp_scale_attr, bias, 8, 4);
FIELD(struct tnp_scale_attr, reserved, 12, 4);

AT_LEAST(sizeof(struct tnp_clamp_attr), 16);
FIELD(struct tnp_clamp_attr, size, 0, 4);
FIELD(struct tnp_clamp_attr, min, 4, 4);
FIELD(struct tnp_clamp_attr, max, 8, 4);
FIELD(struct tnp_clamp_attr, reserved, 12, 4);

AT_LEAST(sizeof(struct tnp_softcap_attr), 8);
FIELD(struct tnp_softcap_attr, size, 0, 4);
FIELD(struct tnp_softcap_attr, cap, 4, 4);

AT_LEAST(sizeof(struct tnp_norm_attr), 8);
FIELD(struct tnp_norm_attr, size, 0, 4);
FIELD(struct tnp_norm_attr, eps, 4, 4);

AT_LEAST(sizeof(struct tnp_group_norm_attr), 16);
FIELD(struct tnp_group_norm_attr, size, 0, 4);
FIELD(struct tnp_group_norm_attr, groups, 4, 4);
FIELD(struct tnp_group_norm_attr, eps, 8, 4);
FIELD(struct tnp_group_norm_attr, reserved, 12, 4);

AT_LEAST(sizeof(struct tnp_softmax_attr), 16);
FIELD(struct tnp_softmax_attr, size, 0, 4);
FIELD(struct tnp_softmax_attr, scale, 4, 4);
FIELD(struct tnp_softmax_attr, alibi_max_bias, 8, 4);
FIELD(struct tnp_softmax_attr, reserved, 12, 4);

AT_LEAST(sizeof(struct tnp_top_k_attr), 8);
FIELD(struct tnp_top_k_attr, size, 0, 4);
FIELD(struct tnp_top_k_attr, k, 4, 4);

AT_LEAST(sizeof(struct tnp_rope_attr), 40);
FIELD(struct tnp_rope_attr, size, 0, 4);
FIELD(struct tnp_rope_attr, layout, 4, 4);
FIELD(struct tnp_rope_attr, rot_dims, 8, 4);
FIELD(struct tnp_rope_attr, base, 12, 4);
FIELD(struct tnp_rope_attr, scale, 16, 4);
FIELD(struct tnp_rope_attr, yarn_extrapolation, 20, 4);
FIELD(struct tnp_rope_attr, yarn_attention, 24, 4);
FIELD(struct tnp_rope_attr, yarn_beta_fast, 28, 4);
FIELD(struct tnp_rope_attr, yarn_beta_slow, 32, 4);
FIELD(struct tnp_rope_attr, yarn_context, 36, 4);

AT_LEAST(sizeof(struct tnp_attention_attr), 24);
FIELD(struct tnp_attention_attr, size, 0, 4);
FIELD(struct tnp_attention_attr, flags, 4, 4);
FIELD(struct tnp_attention_attr, scale, 8, 4);
FIELD(struct tnp_attention_attr, softcap, 12, 4);
FIELD(struct tnp_attention_attr, window, 16, 4);
FIELD(struct tnp_attention_attr, reserved, 20, 4);

AT_LEAST(sizeof(struct tnp_pad_attr), 144);
FIELD(struct tnp_pad_attr, size, 0, 4);
FIELD(struct tnp_pad_attr, rank, 4, 4);
FIELD(struct tnp_pad_attr, before, 8, 64);
FIELD(struct tnp_pad_attr, after, 72, 64);
FIELD(struct tnp_pad_attr, value, 136, 4);
FIELD(struct tnp_pad_attr, reserved, 140, 4);

AT_LEAST(sizeof(struct tnp_argsort_attr), 8);
FIELD(struct tnp_argsort_attr, size, 0, 4);
FIELD(struct tnp_argsort_attr, order, 4, 4);

AT_LEAST(sizeof(struct tnp_conv_attr), 40);
FIELD(struct tnp_conv_attr, size, 0, 4);
FIELD(struct tnp_conv_attr, groups, 4, 4);
FIELD(struct tnp_conv_attr, stride, 8, 8);
FIELD(struct tnp_conv_attr, dilation, 16, 8);
FIELD(struct tnp_conv_attr, before, 24, 8);
FIELD(struct tnp_conv_attr, after, 32, 8);

AT_LEAST(sizeof(struct tnp_pool_attr), 40);
FIELD(struct tnp_pool_attr, size, 0, 4);
FIELD(struct tnp_pool_attr, kind, 4, 4);
FIELD(struct tnp_pool_attr, kernel, 8, 8);
FIELD(struct tnp_pool_attr, stride, 16, 8);
FIELD(struct tnp_pool_attr, before, 24, 8);
FIELD(struct tnp_pool_attr, after, 32, 8);

AT_LEAST(sizeof(struct tnp_upscale_attr), 24);
FIELD(struct tnp_upscale_attr, size, 0, 4);
FIELD(struct tnp_upscale_attr, mode, 4, 4);
FIELD(struct tnp_upscale_attr, width, 8, 8);
FIELD(struct tnp_upscale_attr, height, 16, 8);

AT_LEAST(sizeof(struct tnp_convert_attr), 8);
FIELD(struct tnp_convert_attr, size, 0, 4);
FIELD(struct tnp_convert_attr, dtype, 4, 4);

AT_LEAST(sizeof(struct tnp_error), 512);
FIELD(struct tnp_error, size, 0, 4);
FIELD(struct tnp_error, status, 4, 4);
FIELD(struct tnp_error, text, 8, 504);

AT_LEAST(sizeof(struct tnp_span), 48);
FIELD(struct tnp_span, size, 0, 4);
FIELD(struct tnp_span, unit, 4, 4);
FIELD(struct tnp_span, run, 8, 8);
FIELD(struct tnp_span, begin_ns, 16, 8);
FIELD(struct tnp_span, end_ns, 24, 8);
FIELD(struct tnp_span, bytes, 32, 8);
FIELD(struct tnp_span, flops, 40, 8);

AT_LEAST(sizeof(struct tnp_host), 112);
FIELD(struct tnp_host, size, 0, 4);
FIELD(struct tnp_host, abi, 4, 4);
FIELD(struct tnp_host, context, 8, 8);
FIELD(struct tnp_host, alloc, 16, 8);
CALL(struct tnp_host, alloc, void *(*)(void *context, uint64_t bytes, uint64_t alignment));
FIELD(struct tnp_host, free, 24, 8);
CALL(struct tnp_host, free, void (*)(void *context, void *pointer));
FIELD(struct tnp_host, log, 32, 8);
CALL(struct tnp_host, log, void (*)(void *context, int32_t level, const char *text));
FIELD(struct tnp_host, setting, 40, 8);
CALL(struct tnp_host, setting, const char *(*)(void *context, const char *key));
FIELD(struct tnp_host, now_ns, 48, 8);
CALL(struct tnp_host, now_ns, uint64_t (*)(void *context));
FIELD(struct tnp_host, trace, 56, 8);
CALL(struct tnp_host, trace, void (*)(void *context, const void *queue, const tnp_span *span));
FIELD(struct tnp_host, worker_count, 64, 8);
CALL(struct tnp_host, worker_count, uint32_t (*)(void *context));
FIELD(struct tnp_host, team, 72, 8);
CALL(struct tnp_host, team, void (*)(void *context, uint32_t wanted, void (*body)(void *argument,
    tnp_team *team, uint32_t worker, uint32_t workers), void *argument));
FIELD(struct tnp_host, team_barrier, 80, 8);
CALL(struct tnp_host, team_barrier, void (*)(tnp_team *team, uint32_t worker));
FIELD(struct tnp_host, cache_get, 88, 8);
CALL(struct tnp_host, cache_get, uint64_t (*)(void *context, const void *key, uint64_t key_bytes,
    void *to, uint64_t room));
FIELD(struct tnp_host, cache_put, 96, 8);
CALL(struct tnp_host, cache_put, void (*)(void *context, const void *key, uint64_t key_bytes, const
    void *data, uint64_t bytes));
FIELD(struct tnp_host, extension, 104, 8);
CALL(struct tnp_host, extension, const void *(*)(void *context, const char *name));

AT_LEAST(sizeof(struct tnp_storage), 32);
FIELD(struct tnp_storage, size, 0, 4);
FIELD(struct tnp_storage, flags, 4, 4);
FIELD(struct tnp_storage, bytes, 8, 8);
FIELD(struct tnp_storage, data, 16, 8);
FIELD(struct tnp_storage, reserved, 24, 8);

AT_LEAST(sizeof(struct tnp_value), 224);
FIELD(struct tnp_value, size, 0, 4);
FIELD(struct tnp_value, flags, 4, 4);
FIELD(struct tnp_value, dtype, 8, 4);
FIELD(struct tnp_value, rank, 12, 4);
FIELD(struct tnp_value, dims, 16, 64);
FIELD(struct tnp_value, strides, 80, 64);
FIELD(struct tnp_value, extent, 144, 32);
FIELD(struct tnp_value, storage, 176, 4);
FIELD(struct tnp_value, layout, 180, 4);
FIELD(struct tnp_value, offset, 184, 8);
FIELD(struct tnp_value, likely, 192, 8);
FIELD(struct tnp_value, at_most, 200, 8);
FIELD(struct tnp_value, name, 208, 8);
FIELD(struct tnp_value, reserved, 216, 8);

AT_LEAST(sizeof(struct tnp_node), 48);
FIELD(struct tnp_node, size, 0, 4);
FIELD(struct tnp_node, op, 4, 4);
FIELD(struct tnp_node, input_count, 8, 4);
FIELD(struct tnp_node, output_count, 12, 4);
FIELD(struct tnp_node, inputs, 16, 8);
FIELD(struct tnp_node, outputs, 24, 8);
FIELD(struct tnp_node, attributes, 32, 8);
FIELD(struct tnp_node, name, 40, 8);

AT_LEAST(sizeof(struct tnp_slice), 48);
FIELD(struct tnp_slice, size, 0, 4);
FIELD(struct tnp_slice, value_count, 4, 4);
FIELD(struct tnp_slice, node_count, 8, 4);
FIELD(struct tnp_slice, storage_count, 12, 4);
FIELD(struct tnp_slice, values, 16, 8);
FIELD(struct tnp_slice, nodes, 24, 8);
FIELD(struct tnp_slice, storages, 32, 8);
FIELD(struct tnp_slice, reserved, 40, 8);

AT_LEAST(sizeof(struct tnp_pack), 32);
FIELD(struct tnp_pack, size, 0, 4);
FIELD(struct tnp_pack, flags, 4, 4);
FIELD(struct tnp_pack, value, 8, 4);
FIELD(struct tnp_pack, layout, 12, 4);
FIELD(struct tnp_pack, group_rows, 16, 8);
FIELD(struct tnp_pack, group_bytes, 24, 8);

IS(sizeof(struct tnp_in_place), 8);
FIELD(struct tnp_in_place, output, 0, 4);
FIELD(struct tnp_in_place, input, 4, 4);

AT_LEAST(sizeof(struct tnp_claim), 88);
FIELD(struct tnp_claim, size, 0, 4);
FIELD(struct tnp_claim, flags, 4, 4);
FIELD(struct tnp_claim, node_count, 8, 4);
FIELD(struct tnp_claim, in_place_count, 12, 4);
FIELD(struct tnp_claim, pack_count, 16, 4);
FIELD(struct tnp_claim, reserved, 20, 4);
FIELD(struct tnp_claim, nodes, 24, 8);
FIELD(struct tnp_claim, in_place, 32, 8);
FIELD(struct tnp_claim, packs, 40, 8);
FIELD(struct tnp_claim, name, 48, 8);
FIELD(struct tnp_claim, cost_ns, 56, 8);
FIELD(struct tnp_claim, scratch_bytes, 64, 8);
FIELD(struct tnp_claim, resident_bytes, 72, 8);
FIELD(struct tnp_claim, tag, 80, 8);

AT_LEAST(sizeof(struct tnp_claim_sink), 32);
FIELD(struct tnp_claim_sink, size, 0, 4);
FIELD(struct tnp_claim_sink, reserved, 4, 4);
FIELD(struct tnp_claim_sink, context, 8, 8);
FIELD(struct tnp_claim_sink, take, 16, 8);
CALL(struct tnp_claim_sink, take, void (*)(void *context, const tnp_claim *claim));
FIELD(struct tnp_claim_sink, refuse, 24, 8);
CALL(struct tnp_claim_sink, refuse, void (*)(void *context, uint32_t node, const char *reason));

AT_LEAST(sizeof(struct tnp_device_info), 424);
FIELD(struct tnp_device_info, size, 0, 4);
FIELD(struct tnp_device_info, flags, 4, 4);
FIELD(struct tnp_device_info, id, 8, 8);
FIELD(struct tnp_device_info, name, 16, 128);
FIELD(struct tnp_device_info, driver, 144, 128);
FIELD(struct tnp_device_info, host, 272, 64);
FIELD(struct tnp_device_info, pci, 336, 32);
FIELD(struct tnp_device_info, uuid, 368, 16);
FIELD(struct tnp_device_info, kind, 384, 4);
FIELD(struct tnp_device_info, memory_count, 388, 4);
FIELD(struct tnp_device_info, queue_count, 392, 4);
FIELD(struct tnp_device_info, copy_queue_count, 396, 4);
FIELD(struct tnp_device_info, update_bytes, 400, 8);
FIELD(struct tnp_device_info, memory_bytes, 408, 8);
FIELD(struct tnp_device_info, flops_per_s, 416, 8);

AT_LEAST(sizeof(struct tnp_memory_info), 72);
FIELD(struct tnp_memory_info, size, 0, 4);
FIELD(struct tnp_memory_info, flags, 4, 4);
FIELD(struct tnp_memory_info, pool, 8, 4);
FIELD(struct tnp_memory_info, numa_node, 12, 4);
FIELD(struct tnp_memory_info, alignment_bytes, 16, 8);
FIELD(struct tnp_memory_info, import_alignment_bytes, 24, 8);
FIELD(struct tnp_memory_info, total_bytes, 32, 8);
FIELD(struct tnp_memory_info, free_bytes, 40, 8);
FIELD(struct tnp_memory_info, max_buffer_bytes, 48, 8);
FIELD(struct tnp_memory_info, max_binding_bytes, 56, 8);
FIELD(struct tnp_memory_info, bytes_per_s, 64, 8);

AT_LEAST(sizeof(struct tnp_link), 24);
FIELD(struct tnp_link, size, 0, 4);
FIELD(struct tnp_link, flags, 4, 4);
FIELD(struct tnp_link, bytes_per_s, 8, 8);
FIELD(struct tnp_link, latency_ns, 16, 8);

AT_LEAST(sizeof(struct tnp_open), 16);
FIELD(struct tnp_open, size, 0, 4);
FIELD(struct tnp_open, flags, 4, 4);
FIELD(struct tnp_open, id, 8, 8);

AT_LEAST(sizeof(struct tnp_alloc), 24);
FIELD(struct tnp_alloc, size, 0, 4);
FIELD(struct tnp_alloc, flags, 4, 4);
FIELD(struct tnp_alloc, memory, 8, 4);
FIELD(struct tnp_alloc, reserved, 12, 4);
FIELD(struct tnp_alloc, bytes, 16, 8);

AT_LEAST(sizeof(struct tnp_import), 32);
FIELD(struct tnp_import, size, 0, 4);
FIELD(struct tnp_import, flags, 4, 4);
FIELD(struct tnp_import, memory, 8, 4);
FIELD(struct tnp_import, kind, 12, 4);
FIELD(struct tnp_import, handle, 16, 8);
FIELD(struct tnp_import, bytes, 24, 8);

AT_LEAST(sizeof(struct tnp_semaphore_options), 16);
FIELD(struct tnp_semaphore_options, size, 0, 4);
FIELD(struct tnp_semaphore_options, flags, 4, 4);
FIELD(struct tnp_semaphore_options, value, 8, 8);

AT_LEAST(sizeof(struct tnp_queue_options), 40);
FIELD(struct tnp_queue_options, size, 0, 4);
FIELD(struct tnp_queue_options, flags, 4, 4);
FIELD(struct tnp_queue_options, kind, 8, 4);
FIELD(struct tnp_queue_options, priority, 12, 4);
FIELD(struct tnp_queue_options, pending, 16, 4);
FIELD(struct tnp_queue_options, points, 20, 4);
FIELD(struct tnp_queue_options, copies, 24, 4);
FIELD(struct tnp_queue_options, update_bytes, 28, 4);
FIELD(struct tnp_queue_options, updates, 32, 4);
FIELD(struct tnp_queue_options, reserved, 36, 4);

IS(sizeof(struct tnp_point), 16);
FIELD(struct tnp_point, semaphore, 0, 8);
FIELD(struct tnp_point, value, 8, 8);

AT_LEAST(sizeof(struct tnp_sync), 40);
FIELD(struct tnp_sync, size, 0, 4);
FIELD(struct tnp_sync, flags, 4, 4);
FIELD(struct tnp_sync, wait_count, 8, 4);
FIELD(struct tnp_sync, signal_count, 12, 4);
FIELD(struct tnp_sync, waits, 16, 8);
FIELD(struct tnp_sync, signals, 24, 8);
FIELD(struct tnp_sync, run, 32, 8);

AT_LEAST(sizeof(struct tnp_copy), 88);
FIELD(struct tnp_copy, size, 0, 4);
FIELD(struct tnp_copy, flags, 4, 4);
FIELD(struct tnp_copy, from_buffer, 8, 8);
FIELD(struct tnp_copy, to_buffer, 16, 8);
FIELD(struct tnp_copy, from_host, 24, 8);
FIELD(struct tnp_copy, to_host, 32, 8);
FIELD(struct tnp_copy, from_offset, 40, 8);
FIELD(struct tnp_copy, to_offset, 48, 8);
FIELD(struct tnp_copy, bytes, 56, 8);
FIELD(struct tnp_copy, rows, 64, 8);
FIELD(struct tnp_copy, from_pitch, 72, 8);
FIELD(struct tnp_copy, to_pitch, 80, 8);

IS(sizeof(struct tnp_update), 24);
FIELD(struct tnp_update, storage, 0, 4);
FIELD(struct tnp_update, bytes, 4, 4);
FIELD(struct tnp_update, offset, 8, 8);
FIELD(struct tnp_update, data, 16, 8);

AT_LEAST(sizeof(struct tnp_submit), 48);
FIELD(struct tnp_submit, size, 0, 4);
FIELD(struct tnp_submit, flags, 4, 4);
FIELD(struct tnp_submit, update_count, 8, 4);
FIELD(struct tnp_submit, reserved, 12, 4);
FIELD(struct tnp_submit, updates, 16, 8);
FIELD(struct tnp_submit, sync, 24, 8);
FIELD(struct tnp_submit, bound, 32, 8);
FIELD(struct tnp_submit, reserved_pointer, 40, 8);

AT_LEAST(sizeof(struct tnp_notice), 48);
FIELD(struct tnp_notice, size, 0, 4);
FIELD(struct tnp_notice, reserved, 4, 4);
FIELD(struct tnp_notice, value, 8, 8);
FIELD(struct tnp_notice, reached, 16, 8);
CALL(struct tnp_notice, reached, void (*)(tnp_notice *notice, tnp_status status, const char *text));
FIELD(struct tnp_notice, argument, 24, 8);
FIELD(struct tnp_notice, plugin, 32, 16);

AT_LEAST(sizeof(struct tnp_compile), 48);
FIELD(struct tnp_compile, size, 0, 4);
FIELD(struct tnp_compile, flags, 4, 4);
FIELD(struct tnp_compile, unit_count, 8, 4);
FIELD(struct tnp_compile, reserved, 12, 4);
FIELD(struct tnp_compile, slice, 16, 8);
FIELD(struct tnp_compile, units, 24, 8);
FIELD(struct tnp_compile, progress, 32, 8);
CALL(struct tnp_compile, progress, int32_t (*)(void *argument, double done));
FIELD(struct tnp_compile, argument, 40, 8);

AT_LEAST(sizeof(struct tnp_binding), 48);
FIELD(struct tnp_binding, size, 0, 4);
FIELD(struct tnp_binding, kind, 4, 4);
FIELD(struct tnp_binding, index, 8, 4);
FIELD(struct tnp_binding, part, 12, 4);
FIELD(struct tnp_binding, buffer, 16, 8);
FIELD(struct tnp_binding, reserved, 24, 8);
FIELD(struct tnp_binding, offset, 32, 8);
FIELD(struct tnp_binding, bytes, 40, 8);

AT_LEAST(sizeof(struct tnp_bind), 32);
FIELD(struct tnp_bind, size, 0, 4);
FIELD(struct tnp_bind, flags, 4, 4);
FIELD(struct tnp_bind, binding_count, 8, 4);
FIELD(struct tnp_bind, reserved, 12, 4);
FIELD(struct tnp_bind, bindings, 16, 8);
FIELD(struct tnp_bind, reserved_pointer, 24, 8);

AT_LEAST(sizeof(struct tnp_plugin), 272);
FIELD(struct tnp_plugin, size, 0, 4);
FIELD(struct tnp_plugin, abi, 4, 4);
FIELD(struct tnp_plugin, note, 8, 8);
FIELD(struct tnp_plugin, reserved, 16, 8);
FIELD(struct tnp_plugin, start, 24, 8);
CALL(struct tnp_plugin, start, tnp_status (*)(const tnp_host *host, tnp_instance **out, tnp_error
    *err));
FIELD(struct tnp_plugin, stop, 32, 8);
CALL(struct tnp_plugin, stop, void (*)(tnp_instance *instance));
FIELD(struct tnp_plugin, device_count, 40, 8);
CALL(struct tnp_plugin, device_count, tnp_status (*)(tnp_instance *instance, uint32_t *count,
    tnp_error *err));
FIELD(struct tnp_plugin, device_info, 48, 8);
CALL(struct tnp_plugin, device_info, tnp_status (*)(tnp_instance *instance, uint32_t index,
    tnp_device_info *info, tnp_error *err));
FIELD(struct tnp_plugin, open, 56, 8);
CALL(struct tnp_plugin, open, tnp_status (*)(tnp_instance *instance, const tnp_open *what,
    tnp_device **out, tnp_error *err));
FIELD(struct tnp_plugin, close, 64, 8);
CALL(struct tnp_plugin, close, void (*)(tnp_device *device));
FIELD(struct tnp_plugin, abandon, 72, 8);
CALL(struct tnp_plugin, abandon, void (*)(tnp_device *device));
FIELD(struct tnp_plugin, memory_info, 80, 8);
CALL(struct tnp_plugin, memory_info, tnp_status (*)(tnp_device *device, uint32_t memory,
    tnp_memory_info *info, tnp_error *err));
FIELD(struct tnp_plugin, link, 88, 8);
CALL(struct tnp_plugin, link, tnp_status (*)(tnp_device *from, tnp_device *to, tnp_link *link,
    tnp_error *err));
FIELD(struct tnp_plugin, buffer_alloc, 96, 8);
CALL(struct tnp_plugin, buffer_alloc, tnp_status (*)(tnp_device *device, const tnp_alloc *what,
    tnp_buffer **out, tnp_error *err));
FIELD(struct tnp_plugin, buffer_import, 104, 8);
CALL(struct tnp_plugin, buffer_import, tnp_status (*)(tnp_device *device, const tnp_import *what,
    tnp_buffer **out, tnp_error *err));
FIELD(struct tnp_plugin, buffer_map, 112, 8);
CALL(struct tnp_plugin, buffer_map, tnp_status (*)(tnp_buffer *buffer, void **out, tnp_error *err));
FIELD(struct tnp_plugin, buffer_free, 120, 8);
CALL(struct tnp_plugin, buffer_free, void (*)(tnp_buffer *buffer));
FIELD(struct tnp_plugin, semaphore_create, 128, 8);
CALL(struct tnp_plugin, semaphore_create, tnp_status (*)(tnp_device *device, const
    tnp_semaphore_options *how, tnp_semaphore **out, tnp_error *err));
FIELD(struct tnp_plugin, semaphore_destroy, 136, 8);
CALL(struct tnp_plugin, semaphore_destroy, void (*)(tnp_semaphore *semaphore));
FIELD(struct tnp_plugin, semaphore_read, 144, 8);
CALL(struct tnp_plugin, semaphore_read, tnp_status (*)(tnp_semaphore *semaphore, uint64_t *value,
    tnp_error *err));
FIELD(struct tnp_plugin, semaphore_signal, 152, 8);
CALL(struct tnp_plugin, semaphore_signal, tnp_status (*)(tnp_semaphore *semaphore, uint64_t value,
    tnp_error *err));
FIELD(struct tnp_plugin, semaphore_fail, 160, 8);
CALL(struct tnp_plugin, semaphore_fail, tnp_status (*)(tnp_semaphore *semaphore, tnp_status why,
    const char *text, tnp_error *err));
FIELD(struct tnp_plugin, semaphore_wait, 168, 8);
CALL(struct tnp_plugin, semaphore_wait, tnp_status (*)(tnp_semaphore *semaphore, uint64_t value,
    uint64_t timeout_ns, tnp_error *err));
FIELD(struct tnp_plugin, semaphore_notify, 176, 8);
CALL(struct tnp_plugin, semaphore_notify, tnp_status (*)(tnp_semaphore *semaphore, tnp_notice
    *notice, tnp_error *err));
FIELD(struct tnp_plugin, queue_create, 184, 8);
CALL(struct tnp_plugin, queue_create, tnp_status (*)(tnp_device *device, const tnp_queue_options
    *how, tnp_queue **out, tnp_error *err));
FIELD(struct tnp_plugin, queue_destroy, 192, 8);
CALL(struct tnp_plugin, queue_destroy, void (*)(tnp_queue *queue));
FIELD(struct tnp_plugin, queue_copy, 200, 8);
CALL(struct tnp_plugin, queue_copy, tnp_status (*)(tnp_queue *queue, const tnp_copy *const *copies,
    uint32_t count, const tnp_sync *sync, tnp_error *err));
FIELD(struct tnp_plugin, queue_submit, 208, 8);
CALL(struct tnp_plugin, queue_submit, tnp_status (*)(tnp_queue *queue, const tnp_submit *const
    *submits, uint32_t count, tnp_error *err));
FIELD(struct tnp_plugin, claim, 216, 8);
CALL(struct tnp_plugin, claim, tnp_status (*)(tnp_device *device, const tnp_slice *slice, const
    tnp_claim_sink *sink, tnp_error *err));
FIELD(struct tnp_plugin, pack, 224, 8);
CALL(struct tnp_plugin, pack, tnp_status (*)(tnp_device *device, const tnp_value *value, uint32_t
    layout, const void *source, uint64_t begin, uint64_t end, void *to, tnp_error *err));
FIELD(struct tnp_plugin, compile, 232, 8);
CALL(struct tnp_plugin, compile, tnp_status (*)(tnp_device *device, const tnp_compile *what,
    tnp_program **out, tnp_error *err));
FIELD(struct tnp_plugin, program_destroy, 240, 8);
CALL(struct tnp_plugin, program_destroy, void (*)(tnp_program *program));
FIELD(struct tnp_plugin, bind, 248, 8);
CALL(struct tnp_plugin, bind, tnp_status (*)(tnp_program *program, const tnp_bind *what, tnp_bound
    **out, tnp_error *err));
FIELD(struct tnp_plugin, unbind, 256, 8);
CALL(struct tnp_plugin, unbind, void (*)(tnp_bound *bound));
FIELD(struct tnp_plugin, extension, 264, 8);
CALL(struct tnp_plugin, extension, const void *(*)(tnp_instance *instance, const char *name));

AT_LEAST(sizeof(struct tnp_manifest), 192);
FIELD(struct tnp_manifest, size, 0, 4);
FIELD(struct tnp_manifest, abi, 4, 4);
FIELD(struct tnp_manifest, abi_needed, 8, 4);
FIELD(struct tnp_manifest, machine, 12, 4);
FIELD(struct tnp_manifest, os, 16, 4);
FIELD(struct tnp_manifest, flags, 20, 4);
FIELD(struct tnp_manifest, cpu_features, 24, 8);
FIELD(struct tnp_manifest, name, 32, 32);
FIELD(struct tnp_manifest, version, 64, 32);
FIELD(struct tnp_manifest, vendor, 96, 64);
FIELD(struct tnp_manifest, license, 160, 32);

AT_LEAST(sizeof(struct tnp_note), 212);
FIELD(struct tnp_note, name_size, 0, 4);
FIELD(struct tnp_note, size, 4, 4);
FIELD(struct tnp_note, type, 8, 4);
FIELD(struct tnp_note, owner, 12, 8);
IS(offsetof(struct tnp_note, manifest), 20);
