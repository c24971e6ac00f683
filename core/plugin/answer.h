// answer.h: what a plugin answers when it is started and asked for its devices, and that as text:
// so it comes from the process that probed the plugin, and so it is kept in the cache.
#ifndef TNI_ANSWER_H
#define TNI_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tenon/plugin.h>

#include "base/arena.h"
#include "plugin/cursor.h"

enum {
    TNI_MAX_DEVICES = 256,        // of one plugin
    TNI_MAX_MEMORIES = 64,        // of one device
    TNI_REASON_BYTES = 508,       // as the text of a tn_error
    TNI_ANSWER_BYTES = 1 << 18,   // of its text
};

typedef struct tni_offer {
    uint32_t index;         // the plugin's own
    tnp_device_info info;   // texts are safe to show, kind is one of TNP_KIND_
} tni_offer;

typedef struct tni_answer {
    bool is_refusal;
    bool is_partial;                 // a device is left out: it may be there another time
    char reason[TNI_REASON_BYTES];   // of the refusal, or what there is to tell of its devices
    uint32_t count;
    tni_offer *offers;   // ascending by index
} tni_answer;

// At most TNI_ANSWER_BYTES bytes at `to`; answers how many.
size_t tni_answer_write(const tni_answer *answer, char *to);

// false: it is damaged, or there is no memory (*out_has_memory tells). Offers are the arena's.
bool tni_answer_take(tni_cursor *c, tni_arena *arena, tni_answer *out, bool *out_has_memory);

// Whether both offer the same devices, whatever ids these have and however much is free.
bool tni_answer_is_same(const tni_answer *a, const tni_answer *b);
// Whether it is one device, told twice.
bool tni_offer_is_same(const tni_offer *a, const tni_offer *b);

#endif
