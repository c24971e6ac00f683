// hang.h: waits end, also for a device from which nothing comes.
#ifndef TNI_EXEC_HANG_H
#define TNI_EXEC_HANG_H

#include "exec/lane.h"

// Waits for a value of a queue's semaphore of the lane. Where for the time of hang_timeout_ms, or
// far longer than the run should take, no queue of the session comes on, the device that holds the
// others up is abandoned, and its lane is_given_up; what waits for it fails. [run]
tnp_status tni_hang_wait(const tni_lane *lane, tnp_semaphore *semaphore, uint64_t value,
                         tnp_error *err);
// The lane's own words for what fails on a device that was given up.
tn_status tni_hang_fail(const tni_lane *lane, const char *call, tn_error *err);

// Whether the lane was given up, by this session or by another one: its work may still touch what
// it names, of the host too, so that is left where it is.
bool tni_hang_has(const tni_lane *lane);
// Whether any lane of the session was.
bool tni_hang_is_any(const tn_session *session);

#endif
