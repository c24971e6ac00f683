// measured.h: what `tenon tune` has measured of a device, kept in the user's cache between
// processes: the file of a device, and whether it is of the device at hand.
#ifndef TNI_MEASURED_H
#define TNI_MEASURED_H

#include <stdbool.h>
#include <stdint.h>

#include <tenon/status.h>

#include "plugin/cursor.h"

enum { TNI_DEVICE_KEY_BYTES = TNI_DIGITS_BYTES, TNI_MOST_PEERS = 16 };

typedef struct tni_link_figures {
    uint64_t latency_ns;
    uint64_t bytes_per_s;   // 0 = not measured
} tni_link_figures;

typedef struct tni_peer_figures {
    char key[TNI_DEVICE_KEY_BYTES];   // of the device that it leads to
    tni_link_figures link;
} tni_peer_figures;

typedef struct tni_measured {
    bool is_there;
    uint64_t claim_ppm;   // its claims cost so many millionths of what it says; 0 = not known
    uint64_t submit_ns;   // of one submit and its wait, beside the work
    tni_link_figures up, down;   // to the host, from the host
    uint32_t peer_count;
    tni_peer_figures peers[TNI_MOST_PEERS];
} tni_measured;

// A claim of the device costs so many times what it says: 1 until it was measured.
static inline double tni_measured_claim_factor(const tni_measured *measured)
{
    return measured->claim_ppm ? (double)measured->claim_ppm / 1e6 : 1;
}

enum { TNI_MEASURED_BYTES = 4096 };   // of a file

// The text of a file. key: of its device. Answers how many bytes.
size_t tni_measured_write(const tni_measured *measured, const char *key,
                          char text[TNI_MEASURED_BYTES]);
// false: *out_why says what is wrong with it: damaged, of another form, or of another device.
bool tni_measured_read(const char *text, size_t bytes, const char *key, tni_measured *out_measured,
                       const char **out_why);

#endif
