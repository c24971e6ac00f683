// fit_internal.h: what the files of fit.h share.
#ifndef TNI_EXEC_FIT_INTERNAL_H
#define TNI_EXEC_FIT_INTERNAL_H

#include "exec/session.h"

// The tables, and what is free now.
tn_status tni_fit_begin(tn_session *session, tn_error *err);
// The arena of a lane, as large as the device makes it.
uint64_t tni_fit_arena_bytes(const tn_session *session, uint32_t place);
// Before anything is allocated: what is needed against what is free, so that a machine which
// promises more than it has does not find out later. Errors: TN_E_DEVICE_MEMORY with the numbers of
// the first lane that lacks some.
tn_status tni_fit_check_memory(tn_session *session, tn_error *err);
// States that no node touches: any place does that has room for them.
void tni_fit_place_idle_states(tn_session *session);
// After an error of memory, when all that was tried is taken back: says what is demanded of
// the device that is short, or of another that cannot hold what it has to, and adds it to *err.
void tni_fit_tell_demands(tn_session *session, tn_error *err);
// A pin that no graph has is most likely a slip: a line in the log, once.
tn_status tni_fit_warn_of_pins(tn_session *session, tn_error *err);

// A line of what fitting came to, for the log or for people.
typedef void tni_fit_say(const void *to, const char *line);
// States that are not with their layers, since not all that touches them is taken there: a line for
// each device that has some.
void tni_fit_say_states(const tn_session *session, tni_fit_say *say, const void *to);

// Without limits, then within them. err: of the first round, which knows what everything together
// needs, unless it was another failure.
tn_status tni_fit_in_rounds(tn_session *session, tn_error *err);
// As the placement says, or the most layers below that which fit.
tn_status tni_fit_layers(tn_session *session, tn_error *err);
// Beside what the rounds found, or did not (`rounds`): whole layers, as a placement would ask for
// them; the cheapest by the cost model stays.
tn_status tni_fit_layers_beside(tn_session *session, tn_status rounds, tn_error *err);

// How many layers run on each place, as the first graph has them: where most nodes of a layer are.
// Answers how many others are divided.
uint32_t tni_fit_count_layers(const tn_session *session, uint32_t *counts);
uint32_t tni_fit_count_offloaded(const tn_session *session);   // those that are not on CPUs

// Where the nodes are before anything had to give way, of the first placement that is tried; and
// then: what is elsewhere is there because of memory.
tn_status tni_fit_note_wanted(tn_session *session, tn_error *err);
void tni_fit_mark_moved(tn_session *session);

#endif
