// search_internal.h: the state of a search, shared by search.c, search_state.c and search_runs.c.
#ifndef TNI_PLAN_SEARCH_INTERNAL_H
#define TNI_PLAN_SEARCH_INTERNAL_H

#include "plan/radix.h"
#include "plan/search.h"
#include "plan/sections.h"

enum { WORK_SECTIONS = 64 };   // that are as much work as a decision

#define TNI_NO_SCORE    UINT64_MAX
#define TNI_NO_WALL     UINT64_MAX   // the floor of a section on which everything is placed
#define TNI_ANY_SECTION UINT32_MAX

// Sections next to each other.
typedef struct stretch {
    uint32_t first, end;
} stretch;

// Open sections of a valley next to each other, and what to decide about them: what covers
// `section`; or, where there is room enough on all of them, TNI_ANY_SECTION: what lies in the run
// at all.
typedef struct open_run {
    uint32_t end;
    uint32_t section;
    stretch valley;
    uint64_t score;   // lower comes first
    bool may_close;   // the room above allows it, or all of them, to stay empty here
} open_run;

typedef enum change_kind {
    PLACED,       // item a
    CLOSED,       // sections [a, b) by decision
    MUST_CLOSE,   // sections [a, b): nothing fits there, which `reason` depends on
    RAISED        // sections [a, b) from `height`
} change_kind;

typedef struct change {
    change_kind kind;
    uint32_t a, b;
    stretch reason;
    uint64_t height;
} change;

typedef struct old_run {
    uint32_t at;
    bool is_run;
    open_run run;
} old_run;

// A decision: which of the choices for a section comes next.
typedef struct frame {
    uint32_t change_mark, run_mark;   // what to undo to
    uint32_t run_first, run_end, section;
    uint32_t next_rank;   // choices of lower rank were tried
    bool may_close;       // the last choice
    stretch conflict;     // sections that the dead ends below depend on
} frame;

struct tni_plan_search {
    tn_allocator allocator;
    tni_arena arena;   // the arrays whose size is known
    const tni_plan_sections *sections;
    uint64_t limit;
    uint64_t ample;         // a slack above this needs no thought
    uint32_t slack_shift;   // makes a slack fit 32 bits

    uint32_t *rank;              // by item: order of trying; a permutation
    tni_keyed *ranked, *spare;   // scratch, by item
    bool is_longest_first;       // the rank of what begins in one section is the order of its list
    uint64_t *offsets;           // by item
    uint32_t *head;              // by section: first of the unplaced items that begin there
    uint32_t *next, *previous;   // by item: that list
    uint32_t *reach;             // by section: the first section of any item that covers it

    uint64_t *floor, *rest;   // by section; floor + rest is what its top will be at least
    bool *is_closed;
    uint32_t *weight;   // by section, in 16ths
    bool was_relaxed;
    uint32_t unplaced;
    uint64_t deadline_ns;   // 0 = none
    uint32_t decisions;     // since it was set
    uint64_t work;          // decisions, changes undone, sections looked at by WORK_SECTIONS

    open_run *runs;         // by first section
    bool *is_run;           // whether one begins there
    uint32_t *tree;         // tournament over sections by score of the run that begins there
    uint32_t leaves;        // of the tree; a power of two
    uint32_t *difference;   // scratch, by section: where choices begin and end

    change *changes;
    uint32_t change_count, change_capacity;
    old_run *old_runs;
    uint32_t old_run_count, old_run_capacity;
    frame *frames;
    uint32_t frame_count, frame_capacity;
};

typedef enum look_answer { LOOK_FINE, LOOK_DEAD_END, LOOK_NO_MEMORY } look_answer;

// ------------------------------------------------------------------------------------------- state

void tni_plan_search_reset(tni_plan_search *search, uint64_t limit);
bool tni_plan_search_place(tni_plan_search *search, uint32_t item, uint64_t height);
bool tni_plan_search_close(tni_plan_search *search, change_kind kind, stretch sections,
                           stretch reason);
bool tni_plan_search_raise(tni_plan_search *search, stretch sections, uint64_t height);
bool tni_plan_search_set_run(tni_plan_search *search, uint32_t at,
                             const open_run *run);   // NULL: none
void tni_plan_search_undo(tni_plan_search *search, uint32_t change_mark, uint32_t run_mark);
// The run to decide about; NULL: nothing is left to place.
const open_run *tni_plan_search_best_run(const tni_plan_search *search, uint32_t *out_first);

static inline uint64_t tni_plan_search_wall(const tni_plan_search *search, uint32_t section)
{
    return section < search->sections->count ? search->floor[section] : TNI_NO_WALL;
}

static inline stretch stretch_around(stretch s)
{
    return (stretch){ s.first ? s.first - 1 : 0, s.end + 1 };
}

// An item just like the one before it in its list need not be tried beside that.
static inline bool tni_plan_search_is_twin(const tni_plan_search *search, uint32_t item)
{
    uint32_t other = search->previous[item];
    if (other == TNP_NONE)
        return false;
    const tni_item *x = &search->sections->items[item], *y = &search->sections->items[other];
    return x->end == y->end && x->bytes == y->bytes;
}

// -------------------------------------------------------------------------------------------- runs

// Looks again at every valley that a change of these sections touches: closes what nothing fits
// on, raises what is closed, notes the best section of each open run. A dead end tells what it
// depends on.
look_answer tni_plan_search_look(tni_plan_search *search, stretch changed, stretch *out_conflict);

#endif
