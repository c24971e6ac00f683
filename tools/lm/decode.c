// decode.c: ids back to text, a token at a time.
//
// A token may end within a character. The stream keeps such a beginning (at most 3 bytes) until the
// rest comes, so what it hands out is whole characters, and U+FFFD for what can never become one.
// Its buffers are sized at creation for the longest token, every byte of which may turn into a
// U+FFFD.
#include "tokenizer.h"

#include "alloc.h"
#include "error.h"
#include "utf8.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_PENDING = 3, REPLACEMENT_BYTES = 3 };

static const char replacement[REPLACEMENT_BYTES + 1] = "\xEF\xBF\xBD";

struct tlm_stream {
    tn_allocator allocator;
    const tlm_tokenizer *tokenizer;
    uint32_t flags;
    size_t pending;   // bytes at the start of `waiting` that may begin a character
    char *waiting;    // pending bytes, and room for a token behind them
    char *out;        // what the last call handed out
};

tn_status tlm_stream_create(const tlm_tokenizer *tokenizer, uint32_t flags, tlm_stream **out_stream,
                            tn_error *err)
{
    tn_status status = tlm_need(err, __func__, "tokenizer", tokenizer, "out_stream", out_stream,
                                NULL);
    if (out_stream)
        *out_stream = NULL;
    if (status != TN_OK)
        return status;
    if (flags & ~(uint32_t)(TLM_STREAM_RAW | TLM_STREAM_CONTROL))
        return tlm_fail(err, TN_E_ARG, "stream: flags 0x%" PRIx32 " are not known", flags);
    const tn_allocator *allocator = &tokenizer->allocator;
    size_t room = tokenizer->longest_piece + MOST_PENDING;
    tlm_stream *s = tlm_alloc(allocator, 1, sizeof *s);
    if (!s)
        return tlm_fail_memory(err, "the stream");
    s->allocator = *allocator;
    s->tokenizer = tokenizer;
    s->flags = flags;
    s->waiting = tlm_alloc(allocator, room, 1);
    s->out = tlm_alloc(allocator, room, REPLACEMENT_BYTES);
    if (!s->waiting || !s->out) {
        tlm_stream_destroy(s);
        return tlm_fail_memory(err, "the stream");
    }
    *out_stream = s;
    return tlm_succeed(err);
}

void tlm_stream_destroy(tlm_stream *stream)
{
    if (!stream)
        return;
    tn_allocator allocator = stream->allocator;
    tlm_free(&allocator, stream->waiting);
    tlm_free(&allocator, stream->out);
    tlm_free(&allocator, stream);
}

// Moves what is decided of waiting[0..bytes) to `out` and answers how much that makes; keeps the
// rest. At the end of the text all is decided.
static size_t settle(tlm_stream *s, size_t bytes, bool is_end)
{
    size_t done = 0, written = 0;
    while (done < bytes) {
        size_t length;
        tlm_utf8 kind = tlm_utf8_next(s->waiting + done, bytes - done, &length);
        if (kind == TLM_UTF8_CUT && !is_end)
            break;
        const char *from = kind == TLM_UTF8_WHOLE ? s->waiting + done : replacement;
        size_t count = kind == TLM_UTF8_WHOLE ? length : REPLACEMENT_BYTES;
        memcpy(s->out + written, from, count);
        written += count;
        done += length;
    }
    s->pending = bytes - done;
    memmove(s->waiting, s->waiting + done, s->pending);
    return written;
}

const char *tlm_stream_push(tlm_stream *stream, int32_t id, size_t *out_bytes)
{
    size_t bytes, unasked;
    if (!out_bytes)
        out_bytes = &unasked;
    *out_bytes = 0;
    if (!stream)
        return "";
    const char *piece = tlm_token_text(stream->tokenizer, id, &bytes);
    bool is_control = tlm_token_type(stream->tokenizer, id) == TLM_TOKEN_CONTROL;
    if (is_control && !(stream->flags & TLM_STREAM_CONTROL))
        bytes = 0;
    if (stream->flags & TLM_STREAM_RAW) {
        *out_bytes = bytes;
        return piece;
    }
    memcpy(stream->waiting + stream->pending, piece, bytes);
    *out_bytes = settle(stream, stream->pending + bytes, false);
    return stream->out;
}

const char *tlm_stream_finish(tlm_stream *stream, size_t *out_bytes)
{
    size_t unasked;
    if (!out_bytes)
        out_bytes = &unasked;
    *out_bytes = stream ? settle(stream, stream->pending, true) : 0;
    return stream ? stream->out : "";
}
