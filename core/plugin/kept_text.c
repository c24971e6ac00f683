// kept_text.c: the file of what is known of a plugin's file:
//
//   tenon plugin 1
//   path <SHA-256 of the release and the file's path>
//   file <device> <inode> <bytes> <seconds> <nanoseconds>
//   hash <SHA-256 of the file>
//   quarantined <reason>              or
//   answered                          or
//   listed <what the answer depends on>, and the answer (answer.c)
//   sha256 <of all before this line>
//
// and beside it that of a crash in use:
//
//   tenon crash 1, and the next three lines as above
//   signal <number> <seconds since the epoch>
//
// Every line has its place: what differs is damaged, and as good as not there.
#include <inttypes.h>
#include <limits.h>
#include <sha2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "plugin/plugin_internal.h"

enum { HEAD_BYTES = 1024 };

static size_t write_head(const char *what, const tni_identity *identity, const char *sha256,
                         const char *key, char *to, size_t room)
{
    return (size_t)snprintf(to, room,
                            "tenon %s 1\npath %s\nfile %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                            " %" PRIu64 "\nhash %s\n",
                            what, key, (uint64_t)identity->device, (uint64_t)identity->inode,
                            (uint64_t)identity->bytes, (uint64_t)identity->changed.tv_sec,
                            (uint64_t)identity->changed.tv_nsec, sha256);
}

size_t tni_kept_text(const tni_kept *kept, const tni_identity *identity, const char *key, char *to)
{
    char hash[SHA256_DIGEST_STRING_LENGTH];
    size_t used = write_head("plugin", identity, kept->sha256, key, to, HEAD_BYTES);
    if (kept->verdict == TNI_QUARANTINED) {
        used += (size_t)snprintf(to + used, HEAD_BYTES, "quarantined %s\n", kept->reason);
    } else if (kept->verdict == TNI_LISTED) {
        used += (size_t)snprintf(to + used, HEAD_BYTES, "listed %s\n", kept->situation);
        used += tni_answer_write(&kept->answer, to + used);
    } else {
        used += (size_t)snprintf(to + used, HEAD_BYTES, "answered\n");
    }
    SHA256Data((const uint8_t *)to, used, hash);
    return used + (size_t)snprintf(to + used, HEAD_BYTES, "sha256 %s\n", hash);
}

static bool take_identity(tni_cursor *c, tni_identity *out)
{
    uint64_t device, inode, bytes, seconds, ns;
    if (!tni_take_text(c, "file ") || !tni_take_number(c, UINT64_MAX, &device) ||
        !tni_take_text(c, " ") || !tni_take_number(c, UINT64_MAX, &inode) ||
        !tni_take_text(c, " ") || !tni_take_number(c, INT64_MAX, &bytes) ||
        !tni_take_text(c, " ") || !tni_take_number(c, UINT64_MAX, &seconds) ||
        !tni_take_text(c, " ") || !tni_take_number(c, 999999999, &ns) || !tni_take_text(c, "\n"))
        return false;
    *out = (tni_identity){ .device = (dev_t)device,
                           .inode = (ino_t)inode,
                           .bytes = (off_t)bytes,
                           .changed = { (time_t)seconds, (long)ns } };
    return true;
}

static bool take_head(tni_cursor *c, const char *what, const char *key, tni_identity *out_identity,
                      char sha256[TNI_DIGITS_BYTES])
{
    return tni_take_text(c, "tenon ") && tni_take_text(c, what) && tni_take_text(c, " 1\npath ") &&
           tni_take_text(c, key) && tni_take_text(c, "\n") && take_identity(c, out_identity) &&
           tni_take_text(c, "hash ") && tni_take_digits(c, sha256) && tni_take_text(c, "\n");
}

static bool take_verdict(tni_cursor *c, tni_arena *arena, tni_kept *kept, bool *out_has_memory)
{
    if (tni_take_text(c, "answered\n")) {
        kept->verdict = TNI_ANSWERED;
        return true;
    }
    if (tni_take_text(c, "quarantined ")) {
        kept->verdict = TNI_QUARANTINED;
        return tni_take_line(c, kept->reason, sizeof kept->reason) && kept->reason[0];
    }
    kept->verdict = TNI_LISTED;
    return tni_take_text(c, "listed ") && tni_take_digits(c, kept->situation) &&
           tni_take_text(c, "\n") && tni_answer_take(c, arena, &kept->answer, out_has_memory) &&
           tni_kept_may_list(&kept->answer);
}

bool tni_kept_read(const char *text, size_t bytes, const char *key, tni_arena *arena,
                   tni_kept *out_kept, tni_identity *out_identity, bool *out_has_memory)
{
    tni_cursor c = { text, text + bytes };
    tni_kept kept = { 0 };
    *out_kept = kept;
    *out_has_memory = true;
    if (!take_head(&c, "plugin", key, out_identity, kept.sha256) ||
        !take_verdict(&c, arena, &kept, out_has_memory) || !tni_take_hash(&c, text))
        return false;
    *out_kept = kept;
    return true;
}

// ---------------------------------------------------------------------------------- a crash in use

static bool is_of_a_crash(uint64_t number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
           number == SIGABRT;
}

size_t tni_crash_text(const tni_crash *crash, const char *key, char to[TNI_CRASH_BYTES])
{
    size_t used = write_head("crash", &crash->identity, crash->sha256, key, to, TNI_CRASH_BYTES);
    return used + (size_t)snprintf(to + used, TNI_CRASH_BYTES - used, "signal ");
}

bool tni_crash_read(const char *text, size_t bytes, const char *key, tni_crash *out_crash)
{
    tni_cursor c = { text, text + bytes };
    tni_crash crash = { 0 };
    uint64_t number, seconds;
    *out_crash = crash;
    if (!take_head(&c, "crash", key, &crash.identity, crash.sha256) ||
        !tni_take_text(&c, "signal ") || !tni_take_number(&c, INT_MAX, &number) ||
        !is_of_a_crash(number) || !tni_take_text(&c, " ") ||
        !tni_take_number(&c, INT64_MAX, &seconds) || !tni_take_text(&c, "\n") || c.at != c.end)
        return false;
    crash.number = (int)number;
    crash.seconds = (int64_t)seconds;
    *out_crash = crash;
    return true;
}
