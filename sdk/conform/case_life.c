// case_life.c: the table, instances and devices: what is there, what starts and stops, what is left
// behind.
#include <dirent.h>
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "conform_internal.h"

static void every_call_is_there(const kit_case *c)
{
    const tnp_plugin *t = kit_table();
    (void)c;
#define NEEDED(call)                                                                               \
    if (!t->call)                                                                                  \
        kit_fail("every call but the optional ones is there", "%s is NULL", #call);
    NEEDED(start)
    NEEDED(stop)
    NEEDED(device_count)
    NEEDED(device_info)
    NEEDED(open)
    NEEDED(close)
    NEEDED(abandon)
    NEEDED(memory_info)
    NEEDED(link)
    NEEDED(buffer_alloc)
    NEEDED(buffer_free)
    NEEDED(semaphore_create)
    NEEDED(semaphore_destroy)
    NEEDED(semaphore_read)
    NEEDED(semaphore_signal)
    NEEDED(semaphore_fail) NEEDED(semaphore_wait) NEEDED(queue_create) NEEDED(queue_destroy)
        NEEDED(queue_copy) NEEDED(queue_submit) NEEDED(claim) NEEDED(compile)
            NEEDED(program_destroy) NEEDED(bind) NEEDED(unbind) NEEDED(extension)
#undef NEEDED
                if (t->abi >> 16 != TNP_ABI_CURRENT >> 16)
                    kit_fail("the table is of this major of the contract", "%u.%u", t->abi >> 16,
                             t->abi & 0xffff);
}

// ----------------------------------------------------------------------------------------- threads

typedef struct thread_list {
    int count;
    int ids[256];
} thread_list;

static thread_list threads_now(void)
{
    thread_list list = { 0 };
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *e; folder && (e = readdir(folder));)
        if (e->d_name[0] != '.' && list.count < 256)
            list.ids[list.count++] = atoi(e->d_name);
    if (folder)
        closedir(folder);
    return list;
}

static void *do_nothing(void *argument)
{
    return argument;
}

// A sanitizer starts a thread of its own beside the first one.
static thread_list threads_before(void)
{
    pthread_t first;
    kit_table();
    if (pthread_create(&first, NULL, do_nothing, NULL) == 0)
        pthread_join(first, NULL);
    kit_sleep_ms(1);
    return threads_now();
}

static bool has(const thread_list *list, int id)
{
    for (int i = 0; i < list->count; i++)
        if (list->ids[i] == id)
            return true;
    return false;
}

// A thread that has been joined may still be listed for a moment.
static int more_than(const thread_list *before)
{
    int more = 0;
    for (int tries = 0; tries < 200; tries++) {
        thread_list now = threads_now();
        more = 0;
        for (int i = 0; i < now.count; i++)
            more += !has(before, now.ids[i]);
        if (more == 0)
            return 0;
        kit_sleep_ms(1);
    }
    return more;
}

static void the_query_is_pure(const kit_case *c)
{
    thread_list before = threads_now();
    tnp_error err = { .size = sizeof err };
    (void)c;
    const tnp_plugin *first = kit_table();
    void *symbol = kit_query();
    tnp_query query;
    memcpy(&query, &symbol, sizeof query);
    for (int i = 0; i < 1000; i++) {
        const tnp_plugin *again = query(TNP_ABI_CURRENT, &err);
        if (!again || again->size != first->size || again->start != first->start)
            kit_fail("the query answers the same table each time", "%s at call %d",
                     again ? "another" : "NULL", i + 2);
    }
    if (more_than(&before) > 0)
        kit_fail("the query starts nothing", "there are %d threads more", more_than(&before));
    const tnp_plugin *other = query(TNP_ABI(2, 0), &err);
    if (other)
        return;   // a plugin may speak two majors
    kit_check_text(err.text, sizeof err.text, "err->text of the query");
    if (!err.text[0])
        kit_fail("the query says why it has no table for a host of another major", "an empty text");
}

static void threads_are_gone_after_stop(const kit_case *c)
{
    kit_rig r;
    (void)c;
    thread_list before = threads_before();
    for (int i = 0; i < 3; i++) {
        kit_rig_open(&r);
        tnp_queue *other = kit_queue(&r, TNP_QUEUE_COPY);
        r.signal++;
        KIT_OK_OF(kit_submit(&r, other, NULL, NULL, 0, r.done, r.signal), &r.err, "queue_submit");
        kit_wait_ok(&r, r.done, r.signal, "an empty submit");
        r.t->queue_destroy(other);
        kit_rig_close(&r);
        int more = more_than(&before);
        if (more > 0)
            kit_fail("the plugin's threads are gone when stop returns", "%d are left", more);
    }
}

static uint64_t blocked_signals(int thread)
{
    char path[64], line[256];
    uint64_t mask = UINT64_MAX;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "SigBlk:", 7))
            mask = strtoull(line + 7, NULL, 16);
    if (file)
        fclose(file);
    return mask;
}

// A signal that the thread has blocked against the rule, or the reverse; 0: none.
//   imports   threads may look at memory of the host: a driver's own block no fault of theirs then
static int wrong_signal(int thread, bool imports)
{
    static const int faults[] = { SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
    uint64_t mask = blocked_signals(thread);
    for (int s = 1; s <= 31; s++) {
        bool is_fault = false, is_blocked = mask >> (s - 1) & 1;
        for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
            is_fault |= faults[f] == s;
        if (s != SIGKILL && s != SIGSTOP && (is_fault ? is_blocked && imports : !is_blocked))
            return s;
    }
    return 0;
}

// A thread that begins has all of them blocked for a moment, so a second look is taken.
static void threads_block_the_signals_of_others(const kit_case *c)
{
    kit_rig r;
    (void)c;
    thread_list before = threads_before();
    kit_rig_open(&r);
    tnp_queue *other = kit_queue(&r, TNP_QUEUE_COPY);
    thread_list now = threads_now();
    const bool imports = (r.memory.flags & TNP_MEMORY_IMPORT) != 0;
    for (int i = 0; i < now.count; i++) {
        if (has(&before, now.ids[i]))
            continue;
        int wrong = wrong_signal(now.ids[i], imports);
        for (int tries = 0; tries < 200 && wrong; tries++) {
            kit_sleep_ms(1);
            wrong = wrong_signal(now.ids[i], imports);
        }
        if (wrong)
            kit_fail("threads of the plugin block all signals but those of their own faults",
                     "one has it the other way round with signal %d (%s)", wrong, strsignal(wrong));
    }
    r.t->queue_destroy(other);
    kit_rig_close(&r);
}

// ---------------------------------------------------------------------------- the caller's thread

typedef struct thread_state {
    sigset_t mask;
    int rounding;
    locale_t locale;
    char locale_name[64];
} thread_state;

static void get_state(thread_state *s)
{
    memset(s, 0, sizeof *s);
    pthread_sigmask(SIG_BLOCK, NULL, &s->mask);
    s->rounding = fegetround();
    s->locale = uselocale(NULL);
    snprintf(s->locale_name, sizeof s->locale_name, "%s", setlocale(LC_ALL, NULL));
}

// Flush-to-zero shows in what a product of two small numbers is.
static bool flushes_to_zero(void)
{
    volatile float small = 0x1p-100f, other = 0x1p-40f;
    return small * other == 0;
}

static void check_state(const thread_state *before, const char *call)
{
    thread_state now;
    get_state(&now);
    const char *what = NULL;
    for (int s = 1; s <= 31; s++)
        if (sigismember(&before->mask, s) != sigismember(&now.mask, s))
            what = "signal mask";
    if (before->rounding != now.rounding)
        what = "rounding";
    if (flushes_to_zero())
        what = "flush-to-zero";
    if (before->locale != now.locale || strcmp(before->locale_name, now.locale_name) != 0)
        what = "locale";
    if (what)
        kit_fail("a call leaves its thread as it was", "%s changes the %s", call, what);
}

static void calls_leave_their_thread_as_it_was(const kit_case *c)
{
    thread_state before;
    kit_rig r;
    (void)c;
    kit_table();
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &some, NULL);
    fesetround(FE_TOWARDZERO);
    get_state(&before);
    kit_rig_open(&r);
    check_state(&before, "opening a device");
    kit_program *p = kit_small_program(&r, 64);
    check_state(&before, "claim, compile or bind");
    KIT_OK_OF(kit_program_run(&r, p, NULL, 0), &r.err, "the work");
    check_state(&before, "submit, copy or wait");
    tnp_point point = { r.done, ++r.signal };
    tnp_sync sync = { .size = sizeof sync, .signal_count = 1, .signals = &point };
    tnp_submit work = {
        .size = sizeof work, .flags = TNP_SUBMIT_INLINE, .sync = &sync, .bound = p->bound
    };
    const tnp_submit *works[] = { &work };
    KIT_OK_OF(r.t->queue_submit(r.queue, works, 1, &r.err), &r.err, "queue_submit");
    check_state(&before, "a submit inline");
    kit_wait_ok(&r, r.done, r.signal, "a submit inline");
    kit_program_free(&r, p);
    kit_rig_close(&r);
    check_state(&before, "closing");
}

// --------------------------------------------------------------------------------------- instances

static void devices_say_what_they_are(const kit_case *c)
{
    kit_rig r;
    uint32_t count;
    (void)c;
    kit_rig_open(&r);
    KIT_OK_OF(r.t->device_count(r.instance, &count, &r.err), &r.err, "device_count");
    const tnp_device_info *i = &r.info;
    kit_check_text(i->name, sizeof i->name, "the device's name");
    kit_check_text(i->driver, sizeof i->driver, "the device's driver");
    kit_check_text(i->host, sizeof i->host, "the device's host");
    kit_check_text(i->pci, sizeof i->pci, "the device's pci");
    if (!i->name[0])
        kit_fail("a device has a name", "an empty one");
    bool is_later = kit_table()->abi > TNP_ABI_CURRENT;
    if (i->kind < TNP_KIND_CPU || (i->kind > TNP_KIND_SOFTWARE && !is_later))
        kit_fail("a kind of plugin.h", "%u", i->kind);
    if (i->memory_count == 0 || i->update_bytes < 256)
        kit_fail("at least one memory and updates of 256 bytes", "%u and %llu", i->memory_count,
                 (unsigned long long)i->update_bytes);
    if (i->queue_count == 0)
        kit_fail("at least one queue that runs", "queue_count 0");
    if (!isfinite(i->flops_per_s) || i->flops_per_s < 0)
        kit_fail("flops_per_s is finite and not negative", "%g", i->flops_per_s);
    if (i->memory_count > KIT_MEMORIES)
        kit_fail(kit_text("at most %d memories", KIT_MEMORIES), "%u", i->memory_count);
    for (uint32_t d = 0; d < count; d++) {
        tnp_device_info other = { .size = sizeof other };
        KIT_OK_OF(r.t->device_info(r.instance, d, &other, &r.err), &r.err, "device_info");
        if (d != kit.device && other.id == i->id)
            kit_fail("no two devices have one id", "devices %u and %u have", d, kit.device);
    }
    for (uint32_t m = 0; m < i->memory_count; m++) {
        tnp_memory_info memory = { .size = sizeof memory };
        KIT_OK_OF(r.t->memory_info(r.device, m, &memory, &r.err), &r.err, "memory_info");
        uint64_t a = memory.alignment_bytes;
        if (a == 0 || (a & (a - 1)) != 0)
            kit_fail("an alignment that is a power of two", "%llu", (unsigned long long)a);
        if (memory.free_bytes > memory.total_bytes)
            kit_fail("no more memory is free than there is", "%llu of %llu bytes",
                     (unsigned long long)memory.free_bytes, (unsigned long long)memory.total_bytes);
    }
    if ((~r.memory.flags & (TNP_MEMORY_ALLOC | TNP_MEMORY_BIND)) != 0)
        kit_fail("memory 0 can be allocated and bound", "its flags are 0x%x", r.memory.flags);
    kit_rig_close(&r);
}

static void compute_once(kit_rig *r)
{
    float x[33], y[33];
    tnp_op op = kit_chain_op(r);
    kit_program *p = kit_small_program(r, 33);
    for (int i = 0; i < 33; i++)
        x[i] = (float)kit_random(0.5, 2);
    memcpy(p->image + p->at[0], x, sizeof x);
    KIT_OK_OF(kit_program_run(r, p, NULL, 0), &r->err, "the work");
    memcpy(y, p->back + p->at[1], sizeof y);
    for (int i = 0; i < 33; i++) {
        float want = kit_chain_value(op, x[i]);
        if (!(y[i] - want <= 1e-5f && want - y[i] <= 1e-5f))
            kit_fail(kit_text("element %d is %.8g", i, (double)want), "%.8g", (double)y[i]);
    }
    kit_program_free(r, p);
}

// Two hosts in one process share the file: each has its own instance, stopped in either order.
static void two_hosts_share_one_file(const kit_case *c)
{
    kit_host *hosts = kit_new((2) * sizeof(kit_host));
    (void)c;
    for (int first = 0; first < 2; first++) {
        kit_rig r[2];
        for (int i = 0; i < 2; i++) {
            kit_host_init(&hosts[i]);
            kit_rig_open_with(&r[i], &hosts[i]);
        }
        compute_once(&r[0]);
        compute_once(&r[1]);
        kit_rig_close(&r[first]);
        compute_once(&r[!first]);
        kit_rig_close(&r[!first]);
    }
}

// A device of its own, also of one id.
static void a_device_may_be_opened_twice(const kit_case *c)
{
    kit_rig r;
    tnp_device *second;
    (void)c;
    kit_rig_open(&r);
    tnp_open what = { .size = sizeof what, .id = r.info.id };
    KIT_OK_OF(r.t->open(r.instance, &what, &second, &r.err), &r.err, "open, for the second time");
    if (second == r.device)
        kit_fail("each open makes a device of its own", "the same one");
    r.t->abandon(second);
    r.t->close(second);
    compute_once(&r);   // the other is not lost
    kit_rig_close(&r);
}

static void it_starts_again_and_again(const kit_case *c)
{
    kit_rig r;
    (void)c;
    for (int i = 0; i < 20; i++) {
        kit_rig_open(&r);
        if (i % 10 == 9)
            compute_once(&r);
        kit_rig_close(&r);
    }
}

static void an_extension_that_nobody_knows_is_null(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    if (r.t->extension(r.instance, "tenon.nobody.knows.this/1"))
        kit_fail("NULL for an extension that is not known", "a pointer");
    kit_rig_close(&r);
}

// ---------------------------------------------------------------------------------- the end of it

// Work that cannot go on is pending, nothing is given back.
static void leave_work_in_flight(kit_rig *r)
{
    kit_rig_open(r);
    KIT_OK_OF(kit_submit(r, r->queue, NULL, r->gate, 1, r->done, 1), &r->err, "queue_submit");
}

static void exit_now(void *argument)
{
    kit_rig *r = kit_new(sizeof(kit_rig));
    (void)argument;
    leave_work_in_flight(r);
    kit_leave();
}

static void the_process_may_exit_with_work_in_flight(const kit_case *c)
{
    (void)c;
    int status = kit_in_process(exit_now, NULL, 10000);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != KIT_LEFT)
        kit_fail(kit_text("the process exits with its own code, %d", KIT_LEFT),
                 WIFSIGNALED(status) ? "it is killed by signal %d" : "it exits with %d",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void fork_now(void *argument)
{
    kit_rig *r = kit_new(sizeof(kit_rig));
    (void)argument;
    leave_work_in_flight(r);
    int status = kit_in_process(kit_leave_from, NULL, 10000);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != KIT_LEFT)
        kit_fail(kit_text("the child of a fork exits with its own code, %d", KIT_LEFT),
                 "wait status 0x%x", (unsigned)status);
    KIT_OK_OF(r->t->semaphore_signal(r->gate, 1, &r->err), &r->err, "semaphore_signal");
    kit_wait_ok(r, r->done, 1, "work from before the fork");
    kit_rig_close(r);
}

static void a_fork_leaves_the_parent_at_work(const kit_case *c)
{
    (void)c;
    int status = kit_in_process(fork_now, NULL, 15000);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        kit_fail("the parent goes on and exits with 0", "wait status 0x%x", (unsigned)status);
}

// Else people are told that the plugin has no such setting; and who tries a plugin with a word that
// is misspelt tries it without.
static void settings_are_asked_for_in_start_or_open(const kit_case *c)
{
    kit_rig r;
    (void)c;
    if (kit.options->setting_count == 0)
        kit_skip("no setting is given by --set");
    kit_rig_open(&r);
    for (uint32_t i = 0; i < kit.options->setting_count && i < 64; i++)
        if (!(atomic_load(&r.host->asked) >> i & 1))
            kit_fail(kit_text("the plugin asks for its setting '%.*s' in start or open",
                              (int)strcspn(kit.options->settings[i], "="),
                              kit.options->settings[i]),
                     "nobody asked: it has another name, or comes later");
    kit_rig_close(&r);
}

static const kit_row rows[] = {
    { "every_call_is_there", every_call_is_there },
    { "the_query_is_pure", the_query_is_pure },
    { "devices_say_what_they_are", devices_say_what_they_are },
    { "an_extension_that_nobody_knows_is_null", an_extension_that_nobody_knows_is_null },
    { "settings_are_asked_for_in_start_or_open", settings_are_asked_for_in_start_or_open },
    { "it_starts_again_and_again", it_starts_again_and_again },
    { "threads_are_gone_after_stop", threads_are_gone_after_stop },
    { "threads_block_the_signals_of_others", threads_block_the_signals_of_others },
    { "calls_leave_their_thread_as_it_was", calls_leave_their_thread_as_it_was },
    { "two_hosts_share_one_file", two_hosts_share_one_file },
    { "a_device_may_be_opened_twice", a_device_may_be_opened_twice },
    { "the_process_may_exit_with_work_in_flight", the_process_may_exit_with_work_in_flight },
    { "a_fork_leaves_the_parent_at_work", a_fork_leaves_the_parent_at_work },
};

void kit_list_life(kit_list *list)
{
    kit_list_rows(list, "life", rows, sizeof rows / sizeof *rows);
}
