// explain.h: what the files of this folder share that say why a schedule is as it is.
//
//   boundaries.c     why a segment begins where it does, in words
//   segments.c       segments, copies and links in numbers
//   explain.c        the whole plan in words
//   explain_name.c   what has one name, in words
#ifndef TNI_EXEC_EXPLAIN_H
#define TNI_EXEC_EXPLAIN_H

#include <tenon/schedule.h>

#include "exec/session.h"

enum {
    TNI_REASON_BYTES = 512,   // of the text of a reason; longer ones are cut
    TNI_MOST_REASONS = 8,     // of refusals, told of one device
};

// The refusals of a place, each reason once, with the first node that it was given for; of nodes of
// this op, TNP_NONE = of all. graph: that was asked about. Answers how many.
uint32_t tni_reasons_of(const tni_answers *answers, const tn_graph *graph, uint32_t place,
                        uint32_t op, const tni_refusal *out[TNI_MOST_REASONS]);
bool tni_refuses_alike(const tni_refusal *a, const tni_refusal *b);   // a place, for one reason

// "1.234 us".
const char *tni_time_text(double ns, char *text, size_t room);

double tni_copy_ns(const tni_schedule *schedule, uint32_t transfer);

// Why a segment begins, beginning with the kind: "unsupported: …".
void tni_boundary_text(const tn_session *session, const tni_compiled *compiled,
                       const tni_offers *offers, uint32_t segment, char *text, size_t room);

// What follows a noun of which there are so many.
static inline const char *tni_plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

#endif
