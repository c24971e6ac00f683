// Takes rows with bytes between them, and computes as if there were none.
#include "honest.inc"

enum { MOST = 64 };

typedef struct flat {
    tnp_slice slice;
    tnp_value values[MOST];
    const tnp_value *pointers[MOST];
} flat;

static const tnp_slice *flatten(const tnp_slice *from, flat *to)
{
    if (from->value_count > MOST || from->size != sizeof *from)
        return from;   // of a later host
    to->slice = *from;
    to->slice.values = to->pointers;
    for (uint32_t i = 0; i < from->value_count; i++) {
        to->values[i] = *from->values[i];
        to->pointers[i] = &to->values[i];
        for (int d = 1; d < TNP_MAX_DIMS; d++)
            to->values[i].strides[d] = to->values[i].strides[d - 1] * to->values[i].dims[d - 1];
    }
    return &to->slice;
}

// Without pairs in place: these would show that strides were not looked at.
static void take(void *context, const tnp_claim *claim)
{
    const tnp_claim_sink *sink = context;
    tnp_claim own = *claim;
    own.in_place_count = 0;
    sink->take(sink->context, &own);
}
static void refuse(void *context, uint32_t node, const char *reason)
{
    const tnp_claim_sink *sink = context;
    sink->refuse(sink->context, node, reason);
}

static tnp_status faulty_claim(tnp_device *device, const tnp_slice *slice,
                               const tnp_claim_sink *sink, tnp_error *err)
{
    flat own;
    tnp_claim_sink without = { sizeof without, 0, (void *)sink, take, refuse };
    return claim(device, flatten(slice, &own), &without, err);
}

static tnp_status faulty_compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                                 tnp_error *err)
{
    flat own;
    tnp_compile other = *what;
    other.slice = flatten(what->slice, &own);
    return compile(device, &other, out, err);
}

static void spoil(void)
{
    faulty.claim = faulty_claim;
    faulty.compile = faulty_compile;
}
