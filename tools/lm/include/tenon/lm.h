// lm.h: language models on libtenon: text to ids, ids to logits, logits to an id, ids to text.
//
// Four objects, each usable without the others. A tlm_tokenizer turns text into ids as the model's
// file says. A tlm_context holds a model compiled for a set of devices, and its KV cache. A
// tlm_sampler picks an id from logits. A tlm_stream turns ids back into text, whole characters at a
// time. After the first decoded token the calls that make the loop (tlm_eval, tlm_sample,
// tlm_stream_push) allocate nothing.
//
// NULL: as in status.h. Calls that return a tn_status answer TN_E_ARG for a pointer that is NULL,
// and name it, unless they say what NULL means; the others do nothing then, and answer NULL, 0, ""
// or TLM_NO_TOKEN.
//
// Ownership: model and runtime are lent and outlive what was made from them; texts, ids and logits
// that a call lends live as long as its object, or until the next call where the call says so.
// Threads: a tlm_tokenizer is used by any number of threads [any]; of the others, calls for one
// object never overlap.
#ifndef TENON_LM_H
#define TENON_LM_H

#include <stdbool.h>
#include <string.h>
#include <tenon/device.h>
#include <tenon/model.h>
#include <tenon/placement.h>
#include <tenon/session.h>
#include <tenon/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TLM_API __attribute__((visibility("default")))

// --------------------------------------------------------------------------------------- tokenizer

typedef struct tlm_tokenizer tlm_tokenizer;

#define TLM_NO_TOKEN (-1)

typedef struct tlm_tokenizer_options {
    uint32_t size;                   // sizeof
    uint32_t reserved;               // 0
    const char *pre;                 // pre-tokenizer by name; NULL = tokenizer.ggml.pre of the file
    const tn_allocator *allocator;   // NULL = the C library's
} tlm_tokenizer_options;

// Reads and checks the vocabulary of a model. options NULL = defaults.
// Errors: TN_E_FILE a key is missing, of the wrong type, or contradicts another, or the
// tokenizer is of a kind that this release does not know; TN_E_ARG a `pre` that is not known;
// TN_E_HOST_MEMORY. Since 0.1
TN_NODISCARD TLM_API tn_status tlm_tokenizer_create(const tn_model *model,
                                                    const tlm_tokenizer_options *options,
                                                    tlm_tokenizer **out_tokenizer, tn_error *err);

// NULL is fine. Since 0.1
TLM_API void tlm_tokenizer_destroy(tlm_tokenizer *tokenizer);

// One line on what had to be assumed of an incomplete file and how to set it; "" when nothing was.
// Since 0.1
TLM_API const char *tlm_tokenizer_warning(const tlm_tokenizer *tokenizer);

enum {
    TLM_TEXT_PLAIN = 1u << 0,       // text that looks like a control token is text
    TLM_TEXT_CONTINUES = 1u << 1,   // the text goes on after others: no BOS, no EOS is added, and
                                    // no space before it where the vocabulary has words begin so
};

// Text to ids. Any bytes are text: NULs count, and what is not UTF-8 is taken byte by byte.
//   out_ids    the caller's from then on, for tlm_ids_free; not NULL even when *out_count is 0
// Errors: TN_E_HOST_MEMORY, TN_E_ARG. Since 0.1
TN_NODISCARD TLM_API tn_status tlm_tokenize(const tlm_tokenizer *tokenizer, const char *text,
                                            size_t bytes, uint32_t flags, int32_t **out_ids,
                                            uint32_t *out_count, tn_error *err);

// ids NULL is fine. Since 0.1
TLM_API void tlm_ids_free(const tlm_tokenizer *tokenizer, int32_t *ids);

// Kinds of tokens, numbered as in tokenizer.ggml.token_type.
enum {
    TLM_TOKEN_NORMAL = 1,
    TLM_TOKEN_UNKNOWN = 2,
    TLM_TOKEN_CONTROL = 3,
    TLM_TOKEN_USER_DEFINED = 4,
    TLM_TOKEN_UNUSED = 5,
    TLM_TOKEN_BYTE = 6,
};

// The ids are 0 … count - 1. Since 0.1
TLM_API int32_t tlm_token_count(const tlm_tokenizer *tokenizer);

// The bytes that a token stands for, perhaps a part of a character, not ended by NUL; "" for an id
// that is no token. Since 0.1
TLM_API const char *tlm_token_text(const tlm_tokenizer *tokenizer, int32_t id, size_t *out_bytes);

// One of the kinds above; 0 for an id that is no token. Since 0.1
TLM_API uint32_t tlm_token_type(const tlm_tokenizer *tokenizer, int32_t id);

// The ids that begin and end a text; TLM_NO_TOKEN = none. Since 0.1
TLM_API int32_t tlm_bos_id(const tlm_tokenizer *tokenizer);
TLM_API int32_t tlm_eos_id(const tlm_tokenizer *tokenizer);

// Whether tlm_tokenize puts the BOS first. Since 0.1
TLM_API bool tlm_adds_bos(const tlm_tokenizer *tokenizer);

// The ids that end generation, ascending, lent; *out_count may be 0. Since 0.1
TLM_API const int32_t *tlm_stop_ids(const tlm_tokenizer *tokenizer, uint32_t *out_count);
TLM_API bool tlm_is_stop(const tlm_tokenizer *tokenizer, int32_t id);

// ------------------------------------------------------------------------------------------- model

// Looks at a model as tlm_context_create does, without making anything of it, and lists what is
// wrong with it in place of ending at the first: keys that are missing, of the wrong type or
// absurd; where these are right, tensors that are missing, of the wrong shape or type, or one too
// many.
//   problems    each problem in one write: a line without its end
//   out_count   how many; 0 = tlm_context_create will take the file
// Errors: TN_E_ARG, TN_E_HOST_MEMORY. [any] Since 0.1
TN_NODISCARD TLM_API tn_status tlm_model_check(const tn_model *model, const tn_sink *problems,
                                               uint32_t *out_count, tn_error *err);

// ------------------------------------------------------------------------------------------ stream

typedef struct tlm_stream tlm_stream;

enum {
    TLM_STREAM_RAW = 1u << 0,       // bytes as the tokens have them, at once
    TLM_STREAM_CONTROL = 1u << 1,   // control tokens show as their text; else they give none
};

// The tokenizer is lent and outlives the stream. Errors: TN_E_ARG, TN_E_HOST_MEMORY. Since 0.1
TN_NODISCARD TLM_API tn_status tlm_stream_create(const tlm_tokenizer *tokenizer, uint32_t flags,
                                                 tlm_stream **out_stream, tn_error *err);

// NULL is fine. Since 0.1
TLM_API void tlm_stream_destroy(tlm_stream *stream);

// Adds a token; the result is the text that is complete now, whole characters only, lent until the
// next call, not ended by NUL. Bytes that can no longer become a character show as U+FFFD. An id
// that is no token adds nothing. Since 0.1
TLM_API const char *tlm_stream_push(tlm_stream *stream, int32_t id, size_t *out_bytes);

// The rest: what waits for the end of a character shows as U+FFFD. The stream is then as new.
// Since 0.1
TLM_API const char *tlm_stream_finish(tlm_stream *stream, size_t *out_bytes);

// ----------------------------------------------------------------------------------------- sampler

typedef struct tlm_sampler tlm_sampler;

typedef struct tlm_logit_bias {
    int32_t id;
    float bias;   // added to the id's logit; -inf = never picked
} tlm_logit_bias;

// The ends of ranges of the options below; frequency and presence penalty go from -TLM_MAX_PENALTY
// to TLM_MAX_PENALTY. Since 0.1
#define TLM_MAX_TEMPERATURE        1000
#define TLM_MIN_REPETITION_PENALTY 0.001
#define TLM_MAX_REPETITION_PENALTY 1000
#define TLM_MAX_PENALTY            1000

// The steps run in this order: biases, repetition penalty, frequency and presence penalty, top_k,
// top_p, min_p, temperature, then one draw.
typedef struct tlm_sampler_options {
    uint32_t size;       // sizeof
    uint32_t top_k;      // keep the k best; 0 = all
    float top_p;         // keep the best ones up to this share of the probability; 1 = all
    float min_p;         // keep those at least this likely relative to the best; 0 = all
    float temperature;   // 0 = greedy: after biases and penalties the best, the lowest id of equals
    uint32_t reserved;   // 0
    uint64_t seed;       // the same seed and logits give the same ids everywhere

    // Penalties on the last penalty_tokens ids, those of tlm_sample and tlm_sampler_accept.
    float repetition_penalty;   // logits above 0 are divided, others multiplied by it; 0 or 1 =
                                // none
    float frequency_penalty;    // taken off for each time an id is there; 0 = none
    float presence_penalty;     // taken off once; 0 = none
    uint32_t penalty_tokens;    // 0 = 64

    const tlm_logit_bias *biases;   // copied; an id stands once at most; NULL = none
    uint32_t bias_count;
    uint32_t reserved_2;   // 0
} tlm_sampler_options;

// The defaults: those below, 0 for the rest. In the header, so that it sets the struct that the
// caller was compiled with. Since 0.1
static inline void tlm_sampler_defaults(tlm_sampler_options *out_options)
{
    if (!out_options)
        return;
    memset(out_options, 0, sizeof *out_options);
    out_options->size = sizeof *out_options;
    out_options->top_k = 40;
    out_options->top_p = 0.95f;
    out_options->min_p = 0.05f;
    out_options->temperature = 0.8f;
    out_options->repetition_penalty = 1;
}

// For logits of `vocabulary` tokens. options NULL = defaults; allocator NULL = the C library's.
// Errors: TN_E_ARG an option outside its range, named; TN_E_HOST_MEMORY. Since 0.1
TN_NODISCARD TLM_API tn_status tlm_sampler_create(int32_t vocabulary,
                                                  const tlm_sampler_options *options,
                                                  const tn_allocator *allocator,
                                                  tlm_sampler **out_sampler, tn_error *err);

// NULL is fine. Since 0.1
TLM_API void tlm_sampler_destroy(tlm_sampler *sampler);

// Picks an id from logits F32 {count}, which stay as they are; -inf excludes a token. Penalties
// count the id from then on.
// Errors: TN_E_ARG count is not that of creation; TN_E_DATA a logit is NaN or +inf, or no token is
// left by -inf and biases. Since 0.1
TN_NODISCARD TLM_API tn_status tlm_sample(tlm_sampler *sampler, const float *logits, uint32_t count,
                                          int32_t *out_id, tn_error *err);

// Penalties count these ids, in their order, beside those that tlm_sample picks: the prompt's.
// Errors: TN_E_DATA an id that is no token; nothing is counted then. Since 0.1
TN_NODISCARD TLM_API tn_status tlm_sampler_accept(tlm_sampler *sampler, const int32_t *ids,
                                                  uint32_t count, tn_error *err);

// ----------------------------------------------------------------------------------------- context

typedef struct tlm_context tlm_context;

enum {
    TLM_ALL_LOGITS = 1u << 0,   // tlm_eval gives the logits after each id of the call, not the last
    TLM_NO_FAILOVER = 1u << 1,   // a device that fails is an error at once (tenon/session.h)
};

// Tensors whose names a pattern (a regular expression of PCRE2) matches anywhere: what reads them
// runs on the device.
typedef struct tlm_override {
    const char *pattern;
    tn_device *device;
} tlm_override;

// All fields but size may be 0 or NULL. Copied during the call.
typedef struct tlm_context_options {
    uint32_t size;   // sizeof
    uint32_t flags;
    uint32_t context_tokens;   // capacity of the KV cache; 0 = the model's, at most 4096
    tn_dtype kv_type;          // TN_DTYPE_F32, _F16 or _Q8_0; 0 = F16
    uint32_t reserved;         // 0
    uint32_t device_count;
    tn_device *const *devices;   // the earlier wins where costs are equal; no other is ever used.
                                 // None = all but software
    const tn_allocator *allocator;   // NULL = the C library's; for the session the runtime's
    uint32_t batch_tokens;           // ids that go through the model at once; 0 = 512
    uint32_t reserved_2;             // 0
    // Layer n is block n of the model; the output norm and matrix are one more after the last. NULL
    // = the fastest placement that fits. With TN_SPLIT_ROW and TN_SPLIT_TENSOR the graphs divide
    // each layer that is for the devices of the split; without shares by all the memory that
    // these have, so that a model is divided in the same way every time.
    //   row     each has rows of every matrix, and what they give is put together
    //   tensor  each has heads of attention with their KV cache, and columns of the feed-forward,
    //           and what they give is added up; tlm_context_warning tells where a model does not
    //           allow it
    const tn_placement *placement;
    const tlm_override *overrides;   // the first that matches a name counts, before the placement's
    uint32_t override_count;         // pins
    uint32_t reserved_3;             // 0
} tlm_context_options;

// Checks metadata and tensors of the model, builds its graphs and compiles them. options NULL =
// defaults.
// Errors: TN_E_FILE a key or tensor that is missing or not as expected, named, or an architecture
// that this release does not know; TN_E_UNSUPPORTED a node that no device takes; TN_E_ARG an option
// outside its range, or a pattern that is none; those of tn_session_create: TN_E_DEVICE_MEMORY says
// how long a context would fit, where it is the plan that does not fit. Since 0.1
TN_NODISCARD TLM_API tn_status tlm_context_create(tn_runtime *runtime, const tn_model *model,
                                                  const tlm_context_options *options,
                                                  tlm_context **out_context, tn_error *err);

// NULL is fine. Since 0.1
TLM_API void tlm_context_destroy(tlm_context *context);

// Appends ids to the KV cache and computes logits.
//   out_logits   F32 {vocabulary} after the last id, with TLM_ALL_LOGITS {vocabulary, count}; lent
//                until the next call
// Errors: TN_E_ARG count is 0; TN_E_DATA an id that is no token, or no room in the context: the
// numbers are told; those of tn_session_run. After one of a device: TN_E_ARG until a
// tlm_context_reset or tlm_context_load that succeeds, as none does when no device is left. After
// an error the position is that from before the call. Since 0.1
TN_NODISCARD TLM_API tn_status tlm_eval(tlm_context *context, const int32_t *ids, uint32_t count,
                                        const float **out_logits, tn_error *err);

// How many ids are in the KV cache. Since 0.1
TLM_API uint32_t tlm_context_position(const tlm_context *context);

// Goes back to `position` ids, at most those there are: what came after is forgotten.
// Errors: TN_E_ARG. Since 0.1
TN_NODISCARD TLM_API tn_status tlm_context_rewind(tlm_context *context, uint32_t position,
                                                  tn_error *err);

// The ids in the KV cache, tlm_context_position of them, lent until the next call that changes
// them. Since 0.1
TLM_API const int32_t *tlm_context_ids(const tlm_context *context);

// Writes what the KV cache holds, and its ids, to a file: a snapshot (tn_session_save) as large as
// the ids that are there, that fits a context of the same model, capacity, kv_type, flags and
// batch_tokens, on any device. A model is told by its tensors' names, types and shapes, and a
// sample of their bytes.
// Errors: those of tn_session_save; TN_E_ARG also while a reset is needed. Since 0.1
TN_NODISCARD TLM_API tn_status tlm_context_save(tlm_context *context, const char *path,
                                                tn_error *err);

// The KV cache, ids and position become those of a file. After a device failed this mends the
// context, as tlm_context_reset does. To use it for a text that begins otherwise, compare
// tlm_context_ids and rewind.
// Errors, after which the context is as it was: those of tn_snapshot_open; TN_E_GRAPH it is of
// another model or context; TN_E_DATA its ids do not fit, or its states are not of so many.
// Others are of a device: until a reset or a load that succeeds, tlm_eval and tlm_context_save then
// answer TN_E_ARG. Since 0.1
TN_NODISCARD TLM_API tn_status tlm_context_load(tlm_context *context, const char *path,
                                                tn_error *err);

// Position 0 and an empty KV cache, also after a device failed. Errors: those of tn_session_reset.
// Since 0.1
TN_NODISCARD TLM_API tn_status tlm_context_reset(tlm_context *context, tn_error *err);

// One line on what the options named and the model has not, and on what of it cannot be divided as
// they ask, with what is done instead; "" when there is nothing. Lent. Since 0.1
TLM_API const char *tlm_context_warning(const tlm_context *context);

// What a context is made of. Since 0.1
typedef struct tlm_context_info {
    uint32_t size;                   // sizeof, set by the caller
    uint32_t context_tokens;         // capacity of the KV cache
    uint32_t model_context_tokens;   // what the model was trained for
    uint32_t vocabulary;
    uint32_t layers;
    tn_dtype kv_type;
    const char *architecture;
} tlm_context_info;
TLM_API void tlm_context_describe(const tlm_context *context, tlm_context_info *out_info);

// The session, lent, for tn_session_explain, tn_session_events and the reports of memory; its
// graphs are those for 1, 32 and 512 tokens, as far as context and batch_tokens go. Since 0.1
TLM_API const tn_session *tlm_context_session(const tlm_context *context);

// How many tokens graph number `graph` of the session takes at once, ascending; 0 = there is no
// such graph. Since 0.1
TLM_API uint32_t tlm_context_batch(const tlm_context *context, uint32_t graph);

enum { TLM_MOST_PARTS = 64 };   // of a layer that TN_SPLIT_ROW or TN_SPLIT_TENSOR divides

// Writes the name that part number `part`, from 0, of what has a name as a whole has in the graphs:
// "k.0" has "k.0.part1". With its NUL at most `bytes`; false where that cuts it, or NULL is given.
// [any] Since 0.1
TLM_API bool tlm_part_name(const char *name, uint32_t part, char *to, size_t bytes);

// What a call of tlm_eval does at the least, whatever devices do it: by these a speed is held
// against what a machine can do.
typedef struct tlm_work {
    uint32_t size;         // sizeof, set by the caller
    uint32_t reserved;     // 0
    uint64_t bytes_read;   // weights, once for each pass of up to batch_tokens ids, and what these
                           // see of the KV cache
    double operations;     // of matmuls and attention: a product and its sum are two
} tlm_work;

// For `count` ids behind the first `position`, as far as the context goes. Since 0.1
TLM_API void tlm_context_work(const tlm_context *context, uint32_t position, uint32_t count,
                              tlm_work *out_work);

// tn_session_memory of it. out_report->size is set by the caller. Since 0.1
TLM_API void tlm_context_memory(const tlm_context *context, tn_memory_report *out_report);

#ifdef __cplusplus
}
#endif
#endif
