// gguf.h: what this module offers beside the public model.h: opening a file that lies in memory
// already.
#ifndef TNI_GGUF_H
#define TNI_GGUF_H

#include <tenon/model.h>

// As tn_model_open, of `bytes` at `data`, lent: they outlive the model. name stands in messages for
// the path; flags: TN_MODEL_INSPECT; allocator NULL = the C library's. A part of a model is
// refused. [any]
tn_status tni_model_open_bytes(const void *data, size_t bytes, const char *name, uint32_t flags,
                               const tn_allocator *allocator, tn_model **out_model, tn_error *err);

#endif
