// vocabulary.c: any bytes as a GGUF file with a tokenizer: where one can be made of it, a text goes
// through it and back.
#include <stdlib.h>
#include <string.h>
#include <tenon/lm.h>

#include "gguf/gguf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

// Something of everything that a tokenizer looks at.
static const char text[] = "It's 1234 <s>a\xE2\x96\x81 b\xFF\xC3\xA9  abcabc\r\n<|im_end|><tag>";

static void use(const tlm_tokenizer *tokenizer, tlm_stream *stream, uint32_t flags)
{
    int32_t *ids;
    uint32_t count;
    tn_error err;
    size_t got;
    if (tlm_tokenize(tokenizer, text, sizeof text - 1, flags, &ids, &count, &err) != TN_OK)
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] < 0 || ids[i] >= tlm_token_count(tokenizer))
            __builtin_trap();
        (void)tlm_stream_push(stream, ids[i], &got);
        (void)tlm_is_stop(tokenizer, ids[i]);
    }
    (void)tlm_stream_finish(stream, &got);
    tlm_ids_free(tokenizer, ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    tn_model *model = NULL;
    tlm_tokenizer *tokenizer = NULL;
    tlm_stream *stream = NULL;
    tn_error err = { 0 };
    if (tni_model_open_bytes(data, bytes, "fuzz", 0, NULL, &model, &err) == TN_OK &&
        tlm_tokenizer_create(model, NULL, &tokenizer, &err) == TN_OK &&
        tlm_stream_create(tokenizer, TLM_STREAM_CONTROL, &stream, &err) == TN_OK) {
        use(tokenizer, stream, 0);
        use(tokenizer, stream, TLM_TEXT_PLAIN | TLM_TEXT_CONTINUES);
    } else if (!err.text[0] || strchr(err.text, '\n')) {
        __builtin_trap();
    }
    tlm_stream_destroy(stream);
    tlm_tokenizer_destroy(tokenizer);
    tn_model_close(model);
    return 0;
}
