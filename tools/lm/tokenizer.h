// tokenizer.h: what the parts of a tokenizer share. A kind of tokenizer (such as BPE) is one
// file that fills in a tlm_tokenizer_kind and one line of tokenizer_kinds.def.
#ifndef TLM_TOKENIZER_H
#define TLM_TOKENIZER_H

#include "vocabulary.h"

// A list of ids that grows.
typedef struct tlm_ids {
    tn_allocator allocator;
    int32_t *ids;
    size_t count, capacity;
} tlm_ids;

tn_status tlm_ids_add(tlm_ids *ids, int32_t id, tn_error *err);

// Tokens that are cut out of a text before anything else: control, unknown and user-defined ones,
// ascending by their bytes; of equal ones two at most.
typedef struct tlm_specials {
    int32_t *ids;
    uint32_t count;
} tlm_specials;

tn_status tlm_specials_init(tlm_specials *specials, const tlm_vocabulary *vocabulary,
                            tn_error *err);
void tlm_specials_finish(tlm_specials *specials, const tlm_vocabulary *vocabulary);

// The first special token in text, the longest of those that begin at one place; *out_begin is its
// place. With is_plain only user-defined ones. TLM_NO_TOKEN, and *out_begin = bytes, when there is
// none.
int32_t tlm_specials_find(const tlm_specials *specials, const tlm_vocabulary *vocabulary,
                          const char *text, size_t bytes, bool is_plain, size_t *out_begin);

// The ids that end generation, ascending.
typedef struct tlm_stops {
    int32_t *ids;
    uint32_t count;
} tlm_stops;

tn_status tlm_stops_init(tlm_stops *stops, const tlm_vocabulary *vocabulary, const tn_model *model,
                         tn_error *err);
void tlm_stops_finish(tlm_stops *stops, const tlm_vocabulary *vocabulary);

typedef struct tlm_tokenizer_kind {
    const char *name;   // of tokenizer.ggml.model

    // Makes what the kind keeps; tokenizer->vocabulary is there already.
    tn_status (*create)(const tlm_tokenizer *tokenizer, const tn_model *model, const char *pre,
                        void **out_state, tn_error *err);
    void (*destroy)(void *state);   // NULL is fine

    // Adds the ids of a text without special tokens. is_first: nothing or a special token stands
    // before it. [any]
    tn_status (*encode)(const void *state, const char *text, size_t bytes, bool is_first,
                        tlm_ids *ids, tn_error *err);

    // Writes the bytes that a normal token stands for to `to`, at most as many as its text has, and
    // answers how many.
    size_t (*decode)(const tlm_token *token, char *to);

    const char *default_pre;   // assumed, with a warning, when the file names none or one that is
                               // not known; NULL: the kind does not cut text into words
    bool adds_bos;             // when the file does not say, but has a BOS
} tlm_tokenizer_kind;

struct tlm_tokenizer {
    tn_allocator allocator;
    const tlm_tokenizer_kind *kind;
    void *state;   // of the kind
    tlm_vocabulary vocabulary;
    tlm_specials specials;
    tlm_stops stops;
    int32_t bos_id, eos_id;
    bool adds_bos, adds_eos;
    char *pieces;         // what the tokens stand for, one after the other
    size_t *piece_ends;   // {count}: where the piece of an id ends; it begins where that before
                          // ends
    size_t longest_piece;
    char warning[512];
};

#endif
