// program.h: the segments of a graph, compiled for their devices and bound to addresses.
#ifndef TNI_EXEC_PROGRAM_H
#define TNI_EXEC_PROGRAM_H

#include <tenon/session.h>

#include "plugin/host.h"

typedef struct tni_compiled tni_compiled;

typedef struct tni_program {   // one segment
    uint32_t place;
    tnp_program *program;
    tnp_bound *bound;
    uint32_t update_count;
    tnp_update *updates;   // data: the staging bytes of inputs
    uint32_t fed_count;   // inputs too large for an update, that no segment before has on this lane
    uint32_t *fed;        // storages: copied before it runs
} tni_program;

// Those of these graphs, in their order.
tn_status tni_programs_make(tn_session *session, tni_compiled *const *graphs, uint32_t graph_count,
                            tn_error *err);
void tni_programs_release(tn_session *session, tni_compiled *compiled);

#endif
