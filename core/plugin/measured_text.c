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
#include "plugin/cursor.h"
#include "plugin/measured.h"

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

static bool take_link(tni_cursor *r, tni_link_figures *link)
{
    return tni_take_number(r, most_ns, &link->latency_ns) && tni_take_text(r, " ") &&
           tni_take_number(r, UINT64_MAX, &link->bytes_per_s) && tni_take_text(r, "\n");
}

static bool take_peers(tni_cursor *r, tni_measured *m)
{
    while (tni_take_text(r, "peer ")) {
        if (m->peer_count == TNI_MOST_PEERS)
            return false;
        tni_peer_figures *peer = &m->peers[m->peer_count++];
        if (!tni_take_digits(r, peer->key) || !tni_take_text(r, " ") || !take_link(r, &peer->link))
            return false;
    }
    return true;
}

static bool take_all(tni_cursor *r, tni_measured *m)
{
    return tni_take_text(r, "claim_ppm ") && tni_take_number(r, most_ppm, &m->claim_ppm) &&
           tni_take_text(r, "\nsubmit_ns ") && tni_take_number(r, most_ns, &m->submit_ns) &&
           tni_take_text(r, "\nup ") && take_link(r, &m->up) && tni_take_text(r, "down ") &&
           take_link(r, &m->down) && take_peers(r, m);
}

bool tni_measured_read(const char *text, size_t bytes, const char *key, tni_measured *out,
                       const char **out_why)
{
    char whose[TNI_DEVICE_KEY_BYTES];
    tni_cursor r = { text, text + bytes };
    tni_measured m = { .is_there = true };
    *out = (tni_measured){ 0 };
    *out_why = "it is no file of tenon tune, or of another release";
    if (!tni_take_text(&r, "tenon tune 1\ndevice "))
        return false;
    *out_why = "it is damaged";
    if (!tni_take_digits(&r, whose) || !tni_take_text(&r, "\n") || !take_all(&r, &m) ||
        !tni_take_hash(&r, text))
        return false;
    *out_why = "it is of another device";
    if (strcmp(whose, key) != 0)
        return false;
    *out = m;
    return true;
}
