// relay.h: how far a queue of one device has come, told to another that cannot wait for it.
#ifndef TNI_EXEC_RELAY_H
#define TNI_EXEC_RELAY_H

#include <pthread.h>

#include <tenon/session.h>

#include "plugin/host.h"

// Tells a lane that a queue has come to where a work ends.
typedef struct tni_relay {
    tnp_notice notice;
    struct tn_session *session;
    uint32_t queue;   // of the session
    uint32_t place;
} tni_relay;

// Notices that plugins have at the moment. They come on any thread.
typedef struct tni_relays {
    pthread_mutex_t lock;
    pthread_cond_t came;
    uint32_t lent;
} tni_relays;

void tni_relays_init(tni_relays *relays);
void tni_relays_finish(tni_relays *relays);
// What relays have a notice for comes by itself. Errors: the device's.
tn_status tni_relay_lend(tni_relay *relay, uint64_t value, tn_error *err);
bool tni_relay_can_lend(const tni_relay *relay);
// The queue has come to this value. Errors: the device's whose semaphore it is.
tn_status tni_relay_tell(const tni_relay *relay, uint64_t value, tn_error *err);
void tni_relays_wait(tni_relays *relays);       // until all notices are back
void tni_relays_give_up(tn_session *session);   // what still waits for one is let go

#endif
