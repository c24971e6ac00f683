// team_judge.c: how many workers a run gets.
//
// Workers in lockstep are as fast as the slowest: where another process holds one of two cores,
// each barrier may wait for the scheduler to bring back the worker that it took off, and two
// workers get less done than one. On 2 cores beside a busy loop, a model of 135M decoded 24
// tokens/s with two workers and 87 with one. So the pool adapts:
//
//   - A worker that sleeps in a barrier, or the caller while it waits for the last worker, counts
//     the time as lost. Short waits, which uneven parts cause, end while it spins, and cost no look
//     at the clock.
//   - When a quarter of all workers' time was lost, the next runs get half as many. A quarter is
//     where two workers do as much as one: both work for half of the time, and for the other half
//     one works or waits for its core, and the other sleeps.
//   - After a pause twice as many are tried, and soon after that the next step up. When that goes
//     wrong before it has gone well for as long as the pause was, the next pause is four times as
//     long, up to MOST_PAUSE_NS: so a busy machine costs a slow run a second, and one that is free
//     again is used in full after a second. Else it is half as long.
//
// This is judged over JUDGE_NS of runs at least: threads that wake up late make a run of a few
// microseconds look bad, and one that loses its core once, for a slice of 3 ms, is no reason to go
// on with half of them. Callers see no difference in results, which do not depend on `workers`.
#include "base/team_judge.h"

#include <stdbool.h>

enum {
    JUDGE_NS = 10000000,
    LEAST_PAUSE_NS = 20000000,
    MOST_PAUSE_NS = 800000000,
    LOST_PART = 4,   // one of so many
};

void tni_team_judge_begin(tni_team_judge *j, uint32_t threads)
{
    *j = (tni_team_judge){ .threads = threads, .limit = threads, .pause_ns = LEAST_PAUSE_NS };
}

uint32_t tni_team_judge_permit(tni_team_judge *j, uint32_t wanted, uint64_t now)
{
    if (j->limit < j->threads && j->limit < wanted && now - j->changed_ns >= j->wait_ns) {
        j->limit = j->limit * 2 < j->threads ? j->limit * 2 : j->threads;
        j->changed_ns = now;
        j->wait_ns = LEAST_PAUSE_NS;
        j->seen_ns = j->lost_ns = 0;
    }
    return wanted < j->limit ? wanted : j->limit;
}

void tni_team_judge_run(tni_team_judge *j, uint32_t workers, uint64_t begin, uint64_t end,
                        uint64_t lost)
{
    if (j->seen_ns == 0)
        j->begin_ns = begin;
    j->seen_ns += (end - begin) * workers;
    j->lost_ns += lost;
    // What is lost already counts against a whole stretch, so that a bad one ends early.
    const uint64_t least_ns = (uint64_t)JUDGE_NS * workers;
    const bool is_bad = j->lost_ns > (j->seen_ns > least_ns ? j->seen_ns : least_ns) / LOST_PART;
    if (is_bad) {
        bool went_well = j->begin_ns - j->changed_ns >= j->pause_ns;
        uint64_t pause = went_well ? j->pause_ns / 2 : j->pause_ns * 4;
        j->pause_ns = pause < LEAST_PAUSE_NS  ? LEAST_PAUSE_NS
                      : pause > MOST_PAUSE_NS ? MOST_PAUSE_NS
                                              : pause;
        j->wait_ns = j->pause_ns;
        j->limit = workers / 2;
        j->changed_ns = end;
    }
    if (is_bad || j->seen_ns >= least_ns)
        j->seen_ns = j->lost_ns = 0;
}
