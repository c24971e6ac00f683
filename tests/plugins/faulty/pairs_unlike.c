// Gives permission in place for a value of other dims, where a slice has one.
#include "honest.inc"

typedef struct pairing {
    const tnp_claim_sink *sink;
    const tnp_slice *slice;
} pairing;

static void take(void *context, const tnp_claim *claim)
{
    const pairing *own = context;
    tnp_claim other = *claim;
    tnp_in_place pair = *claim->in_place;
    for (uint32_t i = 0; i < own->slice->value_count; i++)
        if (own->slice->values[i]->dims[0] != own->slice->values[pair.output]->dims[0])
            pair.input = i;
    other.in_place = &pair;
    own->sink->take(own->sink->context, &other);
}
static void refuse(void *context, uint32_t node, const char *reason)
{
    const pairing *own = context;
    own->sink->refuse(own->sink->context, node, reason);
}

static tnp_status faulty_claim(tnp_device *device, const tnp_slice *slice,
                               const tnp_claim_sink *sink, tnp_error *err)
{
    pairing pairs = { sink, slice };
    tnp_claim_sink own = { sizeof own, 0, &pairs, take, refuse };
    return claim(device, slice, &own, err);
}

static void spoil(void)
{
    faulty.claim = faulty_claim;
}
