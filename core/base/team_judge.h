// team_judge.h: how many workers a run of the pool gets, by how the runs before went. For team.c.
#ifndef TNI_TEAM_JUDGE_H
#define TNI_TEAM_JUDGE_H

#include <stdint.h>

// Read and written by the caller whose turn it is, alone.
typedef struct tni_team_judge {
    uint32_t threads;               // of the pool
    uint32_t limit;                 // workers that a run gets at most
    uint64_t changed_ns, wait_ns;   // when limit was changed; how long until it may be raised
    uint64_t pause_ns;              // how long to wait after it was lowered
    uint64_t begin_ns;              // of the runs that have not been judged yet
    uint64_t seen_ns, lost_ns;      // time of all workers in them
} tni_team_judge;

// For a pool of so many threads, the caller counted.
void tni_team_judge_begin(tni_team_judge *judge, uint32_t threads);
// How many workers a run that begins now gets: at least 1 and at most `wanted`.
uint32_t tni_team_judge_permit(tni_team_judge *judge, uint32_t wanted, uint64_t now_ns);
// After a run by two or more. lost_ns: what its workers together slept.
void tni_team_judge_run(tni_team_judge *judge, uint32_t workers, uint64_t begin_ns, uint64_t end_ns,
                        uint64_t lost_ns);

#endif
