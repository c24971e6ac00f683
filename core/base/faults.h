// faults.h: the handlers of what a fault raises (SIGSEGV, SIGBUS, …), once the program asks for it.
// One handler stands before whatever was there: a fault is mended, or else told, and then takes the
// way that it would have taken without.
//
// What is called by it runs in the handler, on the thread of the fault: nothing that is not
// async-signal-safe.
#ifndef TNI_FAULTS_H
#define TNI_FAULTS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <tenon/status.h>

typedef struct tni_fault {
    int number;
    siginfo_t *info;
    void *context;   // ucontext_t
} tni_fault;

// Raised by what the thread itself did, and not sent by somebody.
static inline bool tni_fault_is_own(const tni_fault *fault)
{
    return fault->info->si_code > 0;
}

// `mend` is asked of each SIGBUS, by several threads at once: true, and the thread goes on.
// Installed once for the process. Errors: TN_E_INTERNAL. [any]
tn_status tni_faults_mend(bool (*mend)(const tni_fault *fault), tn_error *err);

// `tell` is called with what is not mended, by one thread at a time. A fault within it ends it, and
// the first one goes its way. Installed once for the process. Errors: TN_E_INTERNAL. [any]
tn_status tni_faults_tell(void (*tell)(const tni_fault *fault), tn_error *err);
// Whether the program asked for that. [any]
bool tni_faults_are_told(void);
// Comes back when nobody is in a `tell` that began before. [any]
void tni_faults_wait(void);

#endif
