// The CPU plugin, except that it does not see extents: all of a dim counts in every run.
#include <tenon/plugin.h>

#include "../wrapped_cpu.h"

#if defined(__x86_64__)
enum { MACHINE = 62 };
#else
enum { MACHINE = 183 };
#endif
TNP_MANIFEST(MACHINE, TNP_OS_LINUX, 0, TNP_ABI(1, 0), "ignores_extents", "1.0", "Tenon tests",
             "Apache-2.0");

enum { MOST = 64 };

typedef struct whole {
    tnp_slice slice;
    tnp_value values[MOST];
    const tnp_value *pointers[MOST];
} whole;

static const tnp_plugin *cpu;
static tnp_plugin table;

static const tnp_slice *without_extents(const tnp_slice *from, whole *to)
{
    if (from->value_count > MOST || from->size != sizeof *from)
        return from;   // of a later host
    to->slice = *from;
    to->slice.values = to->pointers;
    for (uint32_t i = 0; i < from->value_count; i++) {
        to->values[i] = *from->values[i];
        to->pointers[i] = &to->values[i];
        memset(to->values[i].extent, 0, sizeof to->values[i].extent);
    }
    return &to->slice;
}

static tnp_status claim(tnp_device *device, const tnp_slice *slice, const tnp_claim_sink *sink,
                        tnp_error *err)
{
    whole own;
    return cpu->claim(device, without_extents(slice, &own), sink, err);
}

static tnp_status compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                          tnp_error *err)
{
    whole own;
    tnp_compile other = *what;
    other.slice = without_extents(what->slice, &own);
    return cpu->compile(device, &other, out, err);
}

const tnp_plugin *TNP_QUERY(uint32_t host_abi, tnp_error *err)
{
    cpu = wrapped_cpu(TN_CPU_PLUGIN, host_abi, err);
    if (!cpu)
        return NULL;
    table = *cpu;
    table.note = &tnp_note_;
    table.claim = claim;
    table.compile = compile;
    return &table;
}
