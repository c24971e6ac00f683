// measured_text.c: the file of what was measured of a device:
//
//   tenon tune 1
//   device <key, 64 hexadecimal digits>
//   claim_ppm <number>
//   submit_ns <number>
//   up <latency_ns> <bytes_per_s>
//   down <latency_ns> <bytes_per_s>
//   peer <key> <latency_ns> <bytes_per_s>          for each
//   sha256 <64 hexadecimal digits: of all before this line>
//
// Numbers are whole, so that no locale matters. Every line has its place: what differs is damaged.
#include <inttypes.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plugin/measured.h"

enum { KEY_DIGITS = TNI_DEVICE_KEY_BYTES - 1 };

// What cannot be true of any device, and would make costs of no sense.
static const uint64_t most_ns = UINT64_C(1000000000000), most_ppm = UINT64_C(1000000000000);

static size_t add_link(const char *word, const tni_link_figures *link, char *to, size_t room)
{
    int used = snprintf(to, room, "%s %" PRIu64 " %" PRIu64 "\n", word, link->latency_ns,
                        link->bytes_per_s);
    return used > 0 && (size_t)used < room ? (size_t)used : 0;
}

size_t tni_measured_write(const tni_measured *m, const char *key, char text[TNI_MEASURED_BYTES])
{
    char word[TNI_DEVICE_KEY_BYTES + 8];
    size_t used = (size_t)snprintf(text, TNI_MEASURED_BYTES,
                                   "tenon tune 1\ndevice %s\nclaim_ppm %" PRIu64
                                   "\nsubmit_ns %" PRIu64 "\n",
                                   key, m->claim_ppm, m->submit_ns);
    used += add_link("up", &m->up, text + used, TNI_MEASURED_BYTES - used);
    used += add_link("down", &m->down, text + used, TNI_MEASURED_BYTES - used);
    for (uint32_t i = 0; i < m->peer_count; i++) {
        snprintf(word, sizeof word, "peer %s", m->peers[i].key);
        used += add_link(word, &m->peers[i].link, text + used, TNI_MEASURED_BYTES - used);
    }
    char hash[SHA256_DIGEST_STRING_LENGTH];
    SHA256Data((const uint8_t *)text, used, hash);
    return used + (size_t)snprintf(text + used, TNI_MEASURED_BYTES - used, "sha256 %s\n", hash);
}

// ----------------------------------------------------------------------------------------- reading

typedef struct reading {
    const char *at, *end;
} reading;

static bool take_text(reading *r, const char *text)
{
    size_t bytes = strlen(text);
    if ((size_t)(r->end - r->at) < bytes || memcmp(r->at, text, bytes) != 0)
        return false;
    r->at += bytes;
    return true;
}

static bool take_number(reading *r, uint64_t most, uint64_t *out)
{
    uint64_t number = 0;
    const char *first = r->at;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        uint64_t digit = (uint64_t)(*r->at - '0');
        if (number > (UINT64_MAX - digit) / 10)
            return false;
        number = 10 * number + digit;
    }
    *out = number;
    return r->at > first && number <= most;
}

static bool take_key(reading *r, char *key)
{
    if (r->end - r->at < KEY_DIGITS)
        return false;
    for (int i = 0; i < KEY_DIGITS; i++)
        if (!strchr("0123456789abcdef", r->at[i]) || !r->at[i])
            return false;
    memcpy(key, r->at, KEY_DIGITS);
    key[KEY_DIGITS] = 0;
    r->at += KEY_DIGITS;
    return true;
}

static bool take_link(reading *r, tni_link_figures *link)
{
    return take_number(r, most_ns, &link->latency_ns) && take_text(r, " ") &&
           take_number(r, UINT64_MAX, &link->bytes_per_s) && take_text(r, "\n");
}

static bool take_peers(reading *r, tni_measured *m)
{
    while (take_text(r, "peer ")) {
        if (m->peer_count == TNI_MOST_PEERS)
            return false;
        tni_peer_figures *peer = &m->peers[m->peer_count++];
        if (!take_key(r, peer->key) || !take_text(r, " ") || !take_link(r, &peer->link))
            return false;
    }
    return true;
}

static bool take_all(reading *r, tni_measured *m)
{
    return take_text(r, "claim_ppm ") && take_number(r, most_ppm, &m->claim_ppm) &&
           take_text(r, "\nsubmit_ns ") && take_number(r, most_ns, &m->submit_ns) &&
           take_text(r, "\nup ") && take_link(r, &m->up) && take_text(r, "down ") &&
           take_link(r, &m->down) && take_peers(r, m);
}

bool tni_measured_read(const char *text, size_t bytes, const char *key, tni_measured *out,
                       const char **out_why)
{
    char whose[TNI_DEVICE_KEY_BYTES], hash[SHA256_DIGEST_STRING_LENGTH];
    reading r = { text, text + bytes };
    tni_measured m = { .is_there = true };
    *out = (tni_measured){ 0 };
    *out_why = "it is no file of tenon tune, or of another release";
    if (!take_text(&r, "tenon tune 1\ndevice "))
        return false;
    *out_why = "it is damaged";
    if (!take_key(&r, whose) || !take_text(&r, "\n") || !take_all(&r, &m))
        return false;
    SHA256Data((const uint8_t *)text, (size_t)(r.at - text), hash);
    if (!take_text(&r, "sha256 ") || !take_text(&r, hash) || !take_text(&r, "\n") || r.at != r.end)
        return false;
    *out_why = "it is of another device";
    if (strcmp(whose, key) != 0)
        return false;
    *out = m;
    return true;
}
