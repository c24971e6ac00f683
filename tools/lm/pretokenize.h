// pretokenize.h: cutting text into words by the patterns of pretokenizers.def.
#ifndef TLM_PRETOKENIZE_H
#define TLM_PRETOKENIZE_H

#include <tenon/lm.h>

typedef struct tlm_pretokenizer tlm_pretokenizer;

bool tlm_pretokenizer_is_known(const char *name);

// What else the name of a pre-tokenizer says about a vocabulary.
enum {
    TLM_PRE_WHOLE_WORDS = 1u << 0,   // a word that is a token is taken whole, whatever merges say
    TLM_PRE_ADDS_BOS = 1u << 1,      // a BOS goes first when the file does not say
};
uint32_t tlm_pretokenizer_traits(const char *name);   // of a known one

// The names of all, "default, …", for messages.
void tlm_pretokenizer_names(char *to, size_t room);

// name: a known one. Errors: TN_E_HOST_MEMORY, TN_E_INTERNAL. The result is not changed by use:
// [any].
tn_status tlm_pretokenizer_create(const char *name, const tn_allocator *allocator,
                                  tlm_pretokenizer **out_pretokenizer, tn_error *err);
void tlm_pretokenizer_destroy(tlm_pretokenizer *pretokenizer);   // NULL is fine

// Takes one word; an answer other than TN_OK ends the cutting with it.
typedef tn_status tlm_word_taker(void *context, const char *word, size_t bytes, tn_error *err);

// Gives every byte of text to `take` exactly once, in order, in words that are not empty. Words do
// not reach over bytes that are not UTF-8; a run of those is a word of its own.
tn_status tlm_pretokenize(const tlm_pretokenizer *pretokenizer, const char *text, size_t bytes,
                          tlm_word_taker *take, void *context, tn_error *err);

#endif
