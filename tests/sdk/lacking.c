// lacking.c: the CPU plugin, except that it refuses silu: a session then needs another device for
// it, whatever that costs. It hands out the table of the real one, loaded from TN_CPU_PLUGIN, with
// a claim of its own.
#include <tenon/plugin.h>

#include "../plugins/wrapped_cpu.h"

#if defined(__x86_64__)
enum { MACHINE = 62 };
#else
enum { MACHINE = 183 };
#endif
TNP_MANIFEST(MACHINE, TNP_OS_LINUX, 0, TNP_ABI(1, 0), "lacking", "1.0", "Tenon tests",
             "Apache-2.0");

typedef struct filter {
    const tnp_slice *slice;
    const tnp_claim_sink *sink;
} filter;

static const tnp_plugin *cpu;
static tnp_plugin table;

static void take(void *context, const tnp_claim *claim)
{
    const filter *f = context;
    for (uint32_t i = 0; i < claim->node_count; i++) {
        if (f->slice->nodes[claim->nodes[i]]->op != TNP_OP_SILU)
            continue;
        f->sink->refuse(f->sink->context, claim->nodes[i], "this device lacks silu");
        return;
    }
    f->sink->take(f->sink->context, claim);
}

static void refuse(void *context, uint32_t node, const char *reason)
{
    const filter *f = context;
    f->sink->refuse(f->sink->context, node, reason);
}

static tnp_status claim_but_silu(tnp_device *device, const tnp_slice *slice,
                                 const tnp_claim_sink *sink, tnp_error *err)
{
    filter f = { slice, sink };
    tnp_claim_sink own = { .size = sizeof own, .context = &f, .take = take, .refuse = refuse };
    return cpu->claim(device, slice, &own, err);
}

const tnp_plugin *TNP_QUERY(uint32_t host_abi, tnp_error *err)
{
    cpu = wrapped_cpu(TN_CPU_PLUGIN, host_abi, err);
    if (!cpu) {
        tnp_error said = { sizeof said, TNP_E_IO, "the CPU plugin cannot be loaded" };
        TNP_GIVE(err, &said);
        return NULL;
    }
    table = *cpu;
    table.note = &tnp_note_;
    table.claim = claim_but_silu;
    return &table;
}
