// bpe.h: byte-level byte pair encoding: tokenizer.ggml.model = gpt2.
#ifndef TLM_BPE_H
#define TLM_BPE_H

#include "tokenizer.h"

extern const tlm_tokenizer_kind tlm_bpe_kind;

#endif
