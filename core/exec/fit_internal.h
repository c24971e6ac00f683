// fit_internal.h: what the files of fit.h share.
#ifndef TNI_EXEC_FIT_INTERNAL_H
#define TNI_EXEC_FIT_INTERNAL_H

#include "exec/session.h"

// The tables, and what is free now.
tn_status tni_fit_begin(tn_session *session, tn_error *err);
// What constants of the graphs other sessions have on the lanes already.
tn_status tni_fit_find_shared(tn_session *session, tn_error *err);
// Whether it is among the latter, so that it takes nothing.
bool tni_fit_is_shared(const tn_session *session, const tni_resident_bytes *what);
// The same as it is or packed, whatever its size.
bool tni_fit_has_shared(const tn_session *session, uint32_t place, const void *data);
// What a lane has for weights, states and arenas: free, or there already. UINT64_MAX = not known.
uint64_t tni_fit_reach(const tn_session *session, uint32_t place);
// Takes back what a round before has made of the graphs.
tn_status tni_fit_start_again(tn_session *session, tn_error *err);
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
// Whether that alone is more than one has room for, so that no strategy can help; what was tried is
// taken back.
bool tni_fit_demands_too_much(tn_session *session);
// A pin that no graph has is most likely a slip: a line in the log, once.
tn_status tni_fit_warn_of_pins(tn_session *session, tn_error *err);

// A line of what fitting came to, for the log or for people.
typedef void tni_fit_say(const void *to, const char *line);
// States that are not with their layers, since not all that touches them is taken there: a line for
// each device that has some.
void tni_fit_say_states(const tn_session *session, tni_fit_say *say, const void *to);

// Before the graphs are scheduled: decides for all of them where states are and, while memory is
// short, weights.
tn_status tni_fit_lead(tn_session *session, tn_error *err);

// Without limits, then within them. err: of the first round, which knows what everything together
// needs, unless it was another failure.
tn_status tni_fit_in_rounds(tn_session *session, tn_error *err);
// The last of these rounds, as it was with this set aside for arenas, by lane.
tn_status tni_fit_repeat(tn_session *session, bool is_short, const uint64_t *arena, tn_error *err);
// As the placement says, or the most layers below that which fit.
tn_status tni_fit_layers(tn_session *session, tn_error *err);
// Its parts. Finds which layers there are. Then: the devices of the split share what is offloaded
// as they are asked to, or, where that is more than one has room for, within what each has. The
// most layers below what was asked that fit; err: of what is no lack of memory.
tn_status tni_fit_find_layers(tn_session *session, tn_error *err);
tn_status tni_fit_try_layers(tn_session *session, uint32_t offloaded, tn_error *err);
tn_status tni_fit_fewer(tn_session *session, tn_error *err);
// No layers but on CPUs: of other devices nothing takes less, so where these have room for that and
// it does not fit, nothing does: *out_is_hopeless.
tn_status tni_fit_least(tn_session *session, bool *out_is_hopeless);

// Beside what the rounds found, or did not (`rounds`): other strategies; the one whose likely runs
// cost least stays.
tn_status tni_fit_beside(tn_session *session, tn_status rounds, tn_error *err);
// Where all layers were asked to be off the CPUs and some are not: what would be chosen if nothing
// were asked stays if it has more of them there, or as many for less.
tn_status tni_fit_beside_all(tn_session *session, tn_error *err);
// What all likely runs cost at least by the placement at hand: a strategy that cannot be the
// cheapest any more is given up (is_dearer).
void tni_fit_note_bound(tn_session *session, double bound_ns);

uint32_t tni_fit_count_offloaded(const tn_session *session);   // those that are not on CPUs

#endif
