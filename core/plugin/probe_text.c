// probe_text.c: what comes from the process that probes a plugin:
//
//   hash <SHA-256 of the file>
//   at <call>                      a line before each call into the plugin
//   whole
//   <answer>                       see answer.c
//   sha256 <of all before this line>
//
// The plugin was in that process: what came may be cut at any byte, and anything at all.
#include <string.h>

#include "plugin/plugin_internal.h"

static bool take_call(tni_cursor *c, char *call, size_t room)
{
    tni_cursor ahead = *c;
    char word[16];
    if (room > sizeof word || !tni_take_text(&ahead, "at ") || !tni_take_line(&ahead, word, room) ||
        !word[0])
        return false;
    memcpy(call, word, room);
    *c = ahead;
    return true;
}

bool tni_probed_read(const char *text, size_t bytes, tni_arena *arena, tni_probed *out)
{
    tni_cursor c = { text, text + bytes };
    bool has_memory = true;
    *out = (tni_probed){ 0 };
    out->is_garbage = bytes > 0;
    if (!tni_take_text(&c, "hash ") || !tni_take_digits(&c, out->sha256) ||
        !tni_take_text(&c, "\n"))
        return true;
    while (take_call(&c, out->at, sizeof out->at))
        out->has_begun = true;
    out->is_garbage = c.at < c.end;
    if (!tni_take_text(&c, "whole\n"))
        return true;
    out->is_whole = tni_answer_take(&c, arena, &out->answer, &has_memory) &&
                    tni_take_hash(&c, text);
    out->is_garbage = !out->is_whole;
    return has_memory;
}
