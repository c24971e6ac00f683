// groups.h: which transfers are brought together, and by which route.
#ifndef TNI_EXEC_GROUPS_H
#define TNI_EXEC_GROUPS_H

#include <tenon/session.h>

#include "sched/sched.h"

// Transfers that one copy brings: from one segment, to one segment.
typedef struct tni_group {
    uint32_t made_by, needed_by;   // segments
    uint32_t from, to;             // places
    uint32_t first, count;         // in the transfers of the works
    uint32_t out;                  // the work that copies them to the host; TNP_NONE
    bool has_come;
} tni_group;

typedef struct tni_groups {
    uint32_t count;
    tni_group *list;        // by the segment that needs them
    uint32_t *by_maker;     // by the segment that makes them: first_made[s] … first_made[s + 1]
    uint32_t *first_made;   // [segment], in by_maker
    bool *is_transferred;   // by storage
    uint32_t *transfers;    // of the schedule, by group
} tni_groups;

// transfers comes from arena, the rest from `scratch`. false: out of memory.
bool tni_groups_find(const tni_schedule *schedule, tni_arena *arena, tni_arena *scratch,
                     tni_groups *out);

// Whether a device copies from arena to arena between two places; else bytes go by the host, where
// one of the two arenas may be the host's own memory already.
bool tni_route_is_direct(const tn_session *session, uint32_t from, uint32_t to);
// Whether a group is copied out of its first place, and into its second, by works of their own.
bool tni_group_goes_out(const tn_session *session, const tni_group *group);
bool tni_group_goes_in(const tn_session *session, const tni_group *group);

#endif
