// spm.h: merging by score, as SentencePiece does: tokenizer.ggml.model = llama.
#ifndef TLM_SPM_H
#define TLM_SPM_H

#include "tokenizer.h"

extern const tlm_tokenizer_kind tlm_spm_kind;

#endif
