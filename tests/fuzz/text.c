// text.c: any bytes as text, through a tokenizer of each kind and back: what comes out is what went
// in, and what a stream shows are whole characters.
//
// The first byte says which tokenizer and which flags, the rest is the text.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/lm.h>

#include "utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const paths[] = {
    FUZZ_MODELS "/austen/austen-4m-q8_0.gguf",
    FUZZ_TOKENIZERS "/llama-bpe.gguf",
    FUZZ_TOKENIZERS "/qwen2.gguf",
    FUZZ_TOKENIZERS "/default.gguf",
    FUZZ_CORPUS "/vocabulary/spm_as_is",
    FUZZ_CORPUS "/vocabulary/spm",   // puts a space before what follows a special token
};
enum { KINDS = sizeof paths / sizeof *paths, SPM = KINDS - 2, SPM_ADDS_SPACES, SPACE_BYTES = 3 };
static tn_model *models[KINDS];
static tlm_tokenizer *tokenizers[KINDS];

static void close_all(void)
{
    for (size_t i = 0; i < KINDS; i++) {
        tlm_tokenizer_destroy(tokenizers[i]);
        tn_model_close(models[i]);
    }
}

static void open_all(void)
{
    tn_error err = { 0 };
    for (size_t i = 0; i < KINDS; i++)
        if (tn_model_open(paths[i], NULL, &models[i], &err) != TN_OK ||
            tlm_tokenizer_create(models[i], NULL, &tokenizers[i], &err) != TN_OK) {
            fprintf(stderr, "%s: %s\n", paths[i], err.text);
            __builtin_trap();
        }
    atexit(close_all);
}

// The text as it must come back: a vocabulary of the kind `llama` has U+2581 for spaces.
static size_t expected(const uint8_t *data, size_t size, bool is_spm, char *to)
{
    size_t end = 0;
    for (size_t i = 0; i < size; i++) {
        bool is_space = is_spm && size - i >= SPACE_BYTES &&
                        memcmp(data + i, "\xE2\x96\x81", SPACE_BYTES) == 0;
        to[end++] = is_space ? ' ' : (char)data[i];
        i += is_space ? SPACE_BYTES - 1 : 0;
    }
    return end;
}

static void expect_whole_characters(const char *text, size_t bytes)
{
    for (size_t at = 0, length; at < bytes; at += length)
        if (tlm_utf8_next(text + at, bytes - at, &length) != TLM_UTF8_WHOLE)
            __builtin_trap();
}

// The ids' bytes, as they are, are the text.
static void expect_text(const tlm_tokenizer *t, const int32_t *ids, uint32_t count,
                        const char *want, size_t want_bytes)
{
    tlm_stream *stream;
    tn_error err;
    size_t done = 0, bytes;
    if (tlm_stream_create(t, TLM_STREAM_RAW | TLM_STREAM_CONTROL, &stream, &err) != TN_OK)
        return;
    for (uint32_t i = 0; i < count; i++, done += bytes) {
        const char *piece = tlm_stream_push(stream, ids[i], &bytes);
        if (bytes > want_bytes - done || memcmp(piece, want + done, bytes) != 0)
            __builtin_trap();
    }
    if (done != want_bytes)
        __builtin_trap();
    tlm_stream_destroy(stream);
}

static void expect_shown(const tlm_tokenizer *t, const int32_t *ids, uint32_t count)
{
    tlm_stream *stream;
    tn_error err;
    size_t bytes;
    if (tlm_stream_create(t, TLM_STREAM_CONTROL, &stream, &err) != TN_OK)
        return;
    for (uint32_t i = 0; i < count; i++) {
        const char *piece = tlm_stream_push(stream, ids[i], &bytes);
        expect_whole_characters(piece, bytes);
    }
    const char *rest = tlm_stream_finish(stream, &bytes);
    expect_whole_characters(rest, bytes);
    tlm_stream_destroy(stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!tokenizers[0])
        open_all();
    if (size == 0)
        return 0;
    unsigned kind = data[0] % KINDS, choice = data[0] / KINDS;
    const tlm_tokenizer *t = tokenizers[kind];
    uint32_t flags = (choice & 1 ? TLM_TEXT_PLAIN : 0) | (choice & 2 ? 0 : TLM_TEXT_CONTINUES);
    int32_t *ids;
    uint32_t count;
    tn_error err;
    data++;
    size--;
    char *want = malloc(size + 1);
    if (want && tlm_tokenize(t, (const char *)data, size, flags, &ids, &count, &err) == TN_OK) {
        for (uint32_t i = 0; i < count; i++)
            if (ids[i] < 0 || ids[i] >= tlm_token_count(t))
                __builtin_trap();
        if (flags & TLM_TEXT_CONTINUES && kind != SPM_ADDS_SPACES)
            expect_text(t, ids, count, want, expected(data, size, kind == SPM, want));
        expect_shown(t, ids, count);
        tlm_ids_free(t, ids);
    }
    free(want);
    return 0;
}
