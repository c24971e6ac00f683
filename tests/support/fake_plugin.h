// fake_plugin.h: a plugin that only answers: devices that claim what a test tells them to. It runs
// nothing; open, close, memory_info and claim are all its calls.
#ifndef TEST_FAKE_PLUGIN_H
#define TEST_FAKE_PLUGIN_H

#include <tenon/plugin.h>

enum { FAKE_CLAIM_NODES = 8, FAKE_CLAIMS = 16, FAKE_OPS = 8 };

typedef struct fake_claim {
    uint32_t node_count;
    uint32_t nodes[FAKE_CLAIM_NODES];   // of the slice
    double cost_ns;
} fake_claim;

typedef struct fake_device fake_device;
struct fake_device {
    // The script. A claim on each node alone comes first, then `claims`, then what `answer` says.
    double cost_ns;    // of a node alone; 0 = no such claims
    tnp_op cheap_op;   // an op that costs cheap_ns instead
    double cheap_ns;
    tnp_op refused_ops[FAKE_OPS];     // up to 0: no claim on these, but a refusal
    const char *reason;               // of the refusals
    fake_claim claims[FAKE_CLAIMS];   // up to one without nodes
    void (*answer)(const fake_device *device, const tnp_slice *slice, const tnp_claim_sink *sink);
    const void *argument;                   // for `answer`
    tnp_status open_status, claim_status;   // not TNP_OK: what these calls answer
    tnp_memory_info memory;

    uint32_t open_count, claim_count;   // calls so far
};

extern const tnp_plugin fake_plugin;
extern const tnp_plugin fake_plugin_with_pack;   // the same, and has the call pack

// As the instance whose one device it is.
static inline tnp_instance *fake_instance(fake_device *device)
{
    return (tnp_instance *)device;
}

// A claim on one node as it should be, for `answer` to change.
tnp_claim fake_claim_on(const uint32_t *nodes, uint32_t count, double cost_ns);

#endif
