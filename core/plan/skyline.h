// skyline.h: the quick way to place items: bottom up, in one pass, around what has its place.
//
// The floors of the sections make a skyline. A valley, a stretch of one floor between higher ones,
// is filled with the items that fit between its walls, the most urgent first; when none is left it
// is raised to its lower wall or the end of its chunk, and the room is lost. Valleys do not touch
// each other, so their order does not matter: the pass walks from one to the next. Fixed items lie
// where they are, above the floors until these have grown up to them:
//
//   height        ┌──────┐
//     │           │fixed │          the room below it is filled first,
//     │   ┌───┐   └──────┘          what covers more of the valley has to end below it
//     │   │   │  valley  ┌────┐
//     └───┴───┴──────────┴────┴──► sections
//
// An item that would reach into a fixed one waits until that is taken: its top is the floor then.
//
// One pass costs about the items times a sixteenth of the items that begin in a valley, of which up
// to 256 are looked at together (open_items.h), and what the fixed items cost (ceiling.h). (A
// skyline heuristic of strip packing: Burke, Kendall and Whitwell, A new placement heuristic for
// the orthogonal stock-cutting problem, 2004; here places in time are given, and only heights are
// chosen.)
#ifndef TNI_PLAN_SKYLINE_H
#define TNI_PLAN_SKYLINE_H

#include "plan/sections.h"

typedef struct tni_plan_skyline tni_plan_skyline;

// What a pass needs besides its arguments, from the arena. chunk_bytes: no item that a pass places
// crosses a multiple of it, and none is larger; 0 = no such rule. NULL: no memory.
tni_plan_skyline *tni_plan_skyline_make(const tni_plan_sections *sections, uint64_t chunk_bytes,
                                        tni_arena *arena);

// urgency[item]: of what fits, the highest is placed first. is_fixed[item]: offsets[item] is given
// and kept; those that are live together do not overlap. Sets the other offsets and returns the
// highest end of all.
uint64_t tni_plan_skyline_run(tni_plan_skyline *skyline, const float *urgency, const bool *is_fixed,
                              uint64_t *offsets);

#endif
