#include "base/faults.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/macros.h"

static const int told[] = { SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGABRT };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;   // of who installs
static bool is_installed[NSIG];
static struct sigaction before[NSIG];
static bool (*_Atomic mender)(const tni_fault *fault);
static void (*_Atomic teller)(const tni_fault *fault);

// Who tells, and of which fault. One at a time: thread-local memory of a library that was opened
// may be allocated when it is first touched, which no handler may do.
static atomic_int telling;   // the thread; 0 = none
static tni_fault first;      // that thread's alone

static void set_default(int number)
{
    sigaction(number, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

// To a handler that was there, with the signals blocked that it asked for.
static void call_before(const tni_fault *fault)
{
    const struct sigaction *action = &before[fault->number];
    sigset_t blocked = ((const ucontext_t *)fault->context)->uc_sigmask, now;
    for (int i = 1; i < NSIG; i++)
        if (sigismember(&action->sa_mask, i) == 1)
            sigaddset(&blocked, i);
    if (!(action->sa_flags & SA_NODEFER))
        sigaddset(&blocked, fault->number);
    if (action->sa_flags & (int)SA_RESETHAND)
        set_default(fault->number);
    pthread_sigmask(SIG_SETMASK, &blocked, &now);
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(fault->number, fault->info, fault->context);
    else
        action->sa_handler(fault->number);
    pthread_sigmask(SIG_SETMASK, &now, NULL);
}

static void pass_on(const tni_fault *fault)
{
    const struct sigaction *action = &before[fault->number];
    const bool is_own = tni_fault_is_own(fault);
    if ((action->sa_flags & SA_SIGINFO) ||
        (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN)) {
        call_before(fault);
    } else if (is_own || action->sa_handler == SIG_DFL) {
        // The default from now on: the fault is made again, and ends the process as without this
        // handler.
        set_default(fault->number);
        if (!is_own)
            raise(fault->number);
    }
}

// Another thread's fault may be told at the moment, and this one would end the process before that
// is done: several workers often fail at once.
static bool begin_to_tell(int thread)
{
    enum { MOST_WAITS = 2000 };
    for (int i = 0; i < MOST_WAITS; i++) {
        int nobody = 0;
        if (atomic_compare_exchange_strong(&telling, &nobody, thread))
            return true;
        poll(NULL, 0, 1);
    }
    return false;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    const int error = errno;
    const tni_fault fault = { number, info, context };
    const int thread = gettid();
    if (atomic_load(&telling) == thread) {   // `tell` made a fault: there is no way back into it
        const tni_fault cause = first;
        sigset_t only;
        atomic_store(&telling, 0);
        pass_on(&cause);
        set_default(cause.number);
        sigemptyset(&only);
        sigaddset(&only, cause.number);
        pthread_sigmask(SIG_UNBLOCK, &only, NULL);
        raise(cause.number);
    }
    bool (*mend)(const tni_fault *) = atomic_load(&mender);
    void (*tell)(const tni_fault *) = atomic_load(&teller);
    const bool is_mended = mend && number == SIGBUS && mend(&fault);
    if (!is_mended && tell && begin_to_tell(thread)) {
        first = fault;
        tell(&fault);
        atomic_store(&telling, 0);
    }
    if (!is_mended)
        pass_on(&fault);
    errno = error;
}

static tn_status install(int number, tn_error *err)
{
    if (is_installed[number])
        return TN_OK;
    // Faults of `tell` come through, and nothing else does until the fault has gone its way.
    struct sigaction action = { .sa_sigaction = on_fault,
                                .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < TN_COUNT_OF(told); i++)
        sigdelset(&action.sa_mask, told[i]);
    // Before it is installed it must know who was there.
    if (sigaction(number, NULL, &before[number]) != 0 || sigaction(number, &action, NULL) != 0)
        return tni_fail(err, TN_E_INTERNAL, "a handler of SIG%s cannot be installed: %s",
                        sigabbrev_np(number), strerror(errno));
    is_installed[number] = true;
    return TN_OK;
}

tn_status tni_faults_mend(bool (*mend)(const tni_fault *fault), tn_error *err)
{
    pthread_mutex_lock(&lock);
    tn_status status = install(SIGBUS, err);
    if (status == TN_OK)
        atomic_store(&mender, mend);
    pthread_mutex_unlock(&lock);
    return status;
}

tn_status tni_faults_tell(void (*tell)(const tni_fault *fault), tn_error *err)
{
    tn_status status = TN_OK;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; status == TN_OK && i < TN_COUNT_OF(told); i++)
        status = install(told[i], err);
    if (status == TN_OK)
        atomic_store(&teller, tell);
    pthread_mutex_unlock(&lock);
    return status;
}

bool tni_faults_are_told(void)
{
    return atomic_load(&teller) != NULL;
}

void tni_faults_wait(void)
{
    while (atomic_load(&telling))
        sched_yield();
}
