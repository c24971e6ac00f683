// answer.c: an answer as text.
//
//   refused <reason>                  or
//   offers <how many> <what there is to tell>        or "lacks", when it is partial
//   device <index> <flags> <kind> <memories> <queues> <copy queues> <update bytes> <bytes> <flops>
//   <name> <driver> <host> <pci>      a line each, perhaps empty
//   <uuid, 32 hexadecimal digits>
//
// Numbers are whole (flops are cut), so that no locale matters. The id of a device is not among
// them: it names the device in one process.
#include "plugin/answer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// -------------------------------------------------------------------------------------------- text

typedef struct writer {
    char *to;
    size_t used;
} writer;

static void put(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(writer *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = TNI_ANSWER_BYTES - w->used;
    int n = vsnprintf(w->to + w->used, room, format, arguments);
    va_end(arguments);
    w->used += n > 0 && (size_t)n < room ? (size_t)n : 0;
}

static uint64_t whole_flops(double flops)
{
    return flops < 0x1p63 ? (uint64_t)flops : UINT64_C(1) << 63;
}

// The longest: nine numbers of 20 digits, four texts that fill their fields, a uuid.
enum { MOST_OFFER_BYTES = 9 * 21 + 128 + 128 + 64 + 32 + 34 + 16 };
_Static_assert(TNI_MAX_DEVICES *MOST_OFFER_BYTES + TNI_REASON_BYTES + 32 <= TNI_ANSWER_BYTES,
               "every answer has room");

static void put_offer(writer *w, const tni_offer *offer)
{
    const tnp_device_info *i = &offer->info;
    put(w, "device %u %u %u %u %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", offer->index, i->flags,
        i->kind, i->memory_count, i->queue_count, i->copy_queue_count, i->update_bytes,
        i->memory_bytes, whole_flops(i->flops_per_s));
    put(w, "%s\n%s\n%s\n%s\n", i->name, i->driver, i->host, i->pci);
    for (size_t b = 0; b < sizeof i->uuid; b++)
        put(w, "%02x", i->uuid[b]);
    put(w, "\n");
}

size_t tni_answer_write(const tni_answer *answer, char *to)
{
    writer w = { to, 0 };
    if (answer->is_refusal) {
        put(&w, "refused %s\n", answer->reason);
        return w.used;
    }
    put(&w, "%s %u %s\n", answer->is_partial ? "lacks" : "offers", answer->count, answer->reason);
    for (uint32_t i = 0; i < answer->count; i++)
        put_offer(&w, &answer->offers[i]);
    return w.used;
}

// ----------------------------------------------------------------------------------------- reading

static bool take_u32(tni_cursor *c, const char *before, uint64_t most, uint32_t *out)
{
    uint64_t number;
    if (!tni_take_text(c, before) || !tni_take_number(c, most, &number))
        return false;
    *out = (uint32_t)number;
    return true;
}

static bool take_u64(tni_cursor *c, const char *before, uint64_t *out)
{
    return tni_take_text(c, before) && tni_take_number(c, UINT64_MAX, out);
}

static bool take_uuid(tni_cursor *c, uint8_t uuid[16])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 32; i++) {
        const char *digit = c->at < c->end && *c->at ? strchr(digits, *c->at) : NULL;
        if (!digit)
            return false;
        uuid[i / 2] = (uint8_t)(uuid[i / 2] << 4 | (digit - digits));
        c->at++;
    }
    return tni_take_text(c, "\n");
}

static bool take_offer(tni_cursor *c, tni_offer *offer)
{
    tnp_device_info *i = &offer->info;
    uint64_t flops;
    bool has_numbers = take_u32(c, "device ", TNI_MAX_DEVICES - 1, &offer->index) &&
                       take_u32(c, " ", UINT32_MAX, &i->flags) &&
                       take_u32(c, " ", TNP_KIND_SOFTWARE, &i->kind) &&
                       take_u32(c, " ", TNI_MAX_MEMORIES, &i->memory_count) &&
                       take_u32(c, " ", UINT32_MAX, &i->queue_count) &&
                       take_u32(c, " ", UINT32_MAX, &i->copy_queue_count) &&
                       take_u64(c, " ", &i->update_bytes) && take_u64(c, " ", &i->memory_bytes) &&
                       take_u64(c, " ", &flops) && tni_take_text(c, "\n");
    if (!has_numbers || i->kind < TNP_KIND_CPU)
        return false;
    i->size = sizeof *i;
    i->flops_per_s = (double)flops;
    return tni_take_line(c, i->name, sizeof i->name) &&
           tni_take_line(c, i->driver, sizeof i->driver) &&
           tni_take_line(c, i->host, sizeof i->host) && tni_take_line(c, i->pci, sizeof i->pci) &&
           take_uuid(c, i->uuid);
}

bool tni_answer_take(tni_cursor *c, tni_arena *arena, tni_answer *out, bool *out_has_memory)
{
    *out = (tni_answer){ 0 };
    *out_has_memory = true;
    if (tni_take_text(c, "refused ")) {
        out->is_refusal = true;
        return tni_take_line(c, out->reason, sizeof out->reason) && out->reason[0];
    }
    uint32_t count;
    out->is_partial = c->at < c->end && *c->at == 'l';
    if (!take_u32(c, out->is_partial ? "lacks " : "offers ", TNI_MAX_DEVICES, &count) ||
        !tni_take_text(c, " ") || !tni_take_line(c, out->reason, sizeof out->reason))
        return false;
    out->offers = count ? tni_arena_take_array(arena, count, sizeof *out->offers) : NULL;
    *out_has_memory = !count || out->offers;
    for (; *out_has_memory && out->count < count; out->count++) {
        tni_offer *offer = &out->offers[out->count];
        if (!take_offer(c, offer) || (out->count && offer->index <= offer[-1].index))
            return false;
    }
    return *out_has_memory;
}

// --------------------------------------------------------------------------------------- comparing

bool tni_offer_is_same(const tni_offer *a, const tni_offer *b)
{
    const tnp_device_info *x = &a->info, *y = &b->info;
    return x->kind == y->kind && x->memory_count == y->memory_count &&
           x->update_bytes == y->update_bytes && strcmp(x->name, y->name) == 0 &&
           strcmp(x->host, y->host) == 0 && strcmp(x->pci, y->pci) == 0 &&
           memcmp(x->uuid, y->uuid, sizeof x->uuid) == 0;
}

bool tni_answer_is_same(const tni_answer *a, const tni_answer *b)
{
    if (a->is_refusal != b->is_refusal || a->count != b->count || strcmp(a->reason, b->reason) != 0)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        const tni_offer *x = &a->offers[i], *y = &b->offers[i];
        if (x->index != y->index || !tni_offer_is_same(x, y) ||
            strcmp(x->info.driver, y->info.driver) != 0 ||
            x->info.memory_bytes != y->info.memory_bytes)
            return false;
    }
    return true;
}
