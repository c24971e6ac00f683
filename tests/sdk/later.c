// later.c: a plugin of a release that does not exist yet, built with the headers of grow_header.py:
// the template, which also takes an op that is new there, offers each node also as claims that an
// older host cannot understand, has a further call, and uses the host's.
#define TNP_QUERY template_query
#include "template.c"
#undef TNP_QUERY

static tnp_plugin later;

static tnp_status start_later(const tnp_host *host, tnp_instance **out, tnp_error *err)
{
    tnp_status status = start(host, out, err);
    if (status == TNP_OK && TNP_CAN(tnp_host, host, later_call))
        host->later_call(host->context);
    return status;
}

// A kind of device that came later.
static tnp_status device_info_later(tnp_instance *instance, uint32_t index, tnp_device_info *info,
                                    tnp_error *err)
{
    tnp_status status = device_info(instance, index, info, err);
    if (status == TNP_OK)
        info->kind = 9;
    return status;
}

static uint32_t later_call(tnp_instance *instance)
{
    return instance ? 7 : 0;
}

// What is asked, in the words of the template: the new op computes what silu does.

enum { MOST = 8 };

typedef struct older {
    tnp_slice slice;
    tnp_node nodes[MOST];
    const tnp_node *pointers[MOST];
} older;

static const tnp_slice *read_slice(const tnp_slice *from, older *to)
{
    TNP_TAKE(&to->slice, from);
    if (from->node_count > MOST)
        return from;
    for (uint32_t i = 0; i < from->node_count; i++) {
        if (!TNP_TAKE(&to->nodes[i], from->nodes[i]))
            return from;
        if (to->nodes[i].op == TNP_OP_LATER)
            to->nodes[i].op = TNP_OP_SILU;
        to->pointers[i] = &to->nodes[i];
    }
    to->slice.nodes = to->pointers;
    return &to->slice;
}

// A host of the release before drops the first, which it cannot understand, and has the second.
static void take_twice(void *context, const tnp_claim *claim)
{
    const tnp_claim_sink *sink = context;
    tnp_claim kind = *claim;
    kind.flags = TNP_CLAIM_LATER;
    sink->take(sink->context, &kind);
    kind.flags = 0;
    kind.later[0] = 1;
    sink->take(sink->context, &kind);
    sink->take(sink->context, claim);
}
static void refuse(void *context, uint32_t node, const char *reason)
{
    const tnp_claim_sink *sink = context;
    sink->refuse(sink->context, node, reason);
}

static tnp_status claim_later(tnp_device *device, const tnp_slice *slice,
                              const tnp_claim_sink *sink, tnp_error *err)
{
    older known;
    tnp_claim_sink twice = {
        .size = sizeof twice, .context = (void *)sink, .take = take_twice, .refuse = refuse
    };
    return claim(device, read_slice(slice, &known), &twice, err);
}

static tnp_status compile_later(tnp_device *device, const tnp_compile *from, tnp_program **out,
                                tnp_error *err)
{
    older known;
    tnp_compile what;
    tnp_claim units[MOST];
    const tnp_claim *pointers[MOST];
    if (!TNP_TAKE(&what, from) || what.unit_count > MOST)
        return tnh_fail_unknown(err, "compile");
    what.slice = read_slice(what.slice, &known);
    for (uint32_t i = 0; i < what.unit_count; i++) {
        if (!TNP_TAKE(&units[i], what.units[i]) || TNP_ALIEN(units[i].flags, TNP_CLAIM_LATER))
            return tnh_fail_unknown(err, "compile");
        units[i].flags = 0;
        pointers[i] = &units[i];
    }
    what.units = pointers;
    return compile(device, &what, out, err);
}

__attribute__((constructor)) static void make_later(void)
{
    later = table;
    later.start = start_later;
    later.device_info = device_info_later;
    later.claim = claim_later;
    later.compile = compile_later;
    later.later_call = later_call;
}

TNP_EXPORT const tnp_plugin *TNP_CALL tenon_plugin_query(uint32_t host_abi, tnp_error *err);
const tnp_plugin *tenon_plugin_query(uint32_t host_abi, tnp_error *err)
{
    return tnh_query(&later, host_abi, err);
}
