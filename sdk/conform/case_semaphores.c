// case_semaphores.c: values that only grow, or fail; waits, notices.
#include "conform_internal.h"

static void values_grow_and_are_read(const kit_case *c)
{
    uint64_t value = 99;
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_semaphore_options how = { .size = sizeof how, .flags = TNP_SEMAPHORE_HOST, .value = 5 };
    tnp_semaphore *s = NULL;
    KIT_OK_OF(r.t->semaphore_create(r.device, &how, &s, &r.err), &r.err, "semaphore_create");
    KIT_OK_OF(r.t->semaphore_read(s, &value, &r.err), &r.err, "semaphore_read");
    if (value != 5)
        kit_fail("a semaphore begins with its value, 5", "%llu", (unsigned long long)value);
    KIT_OK_OF(r.t->semaphore_signal(s, 9, &r.err), &r.err, "semaphore_signal");
    KIT_OK_OF(r.t->semaphore_signal(s, 7, &r.err), &r.err,
              "semaphore_signal of a value that is reached already");
    KIT_OK_OF(r.t->semaphore_read(s, &value, &r.err), &r.err, "semaphore_read");
    if (value != 9)
        kit_fail("a value that only grows: 9", "%llu", (unsigned long long)value);
    KIT_OK_OF(r.t->semaphore_wait(s, 9, 0, &r.err), &r.err, "a wait for what is reached");
    r.t->semaphore_destroy(s);
    r.t->semaphore_destroy(NULL);
    kit_rig_close(&r);
}

static void a_wait_takes_its_time_and_no_more(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    uint64_t begin = kit_now_ns();
    kit_want(r.t->semaphore_wait(r.gate, 1, 0, &r.err), TNP_E_TIMEOUT, &r.err,
             "a wait of 0 ns for what is not reached");
    kit_want(r.t->semaphore_wait(r.gate, 1, 20000000, &r.err), TNP_E_TIMEOUT, &r.err,
             "a wait of 20 ms for what is not reached");
    uint64_t took = kit_now_ns() - begin;
    if (took < 19000000 || took > 2000000000u)
        kit_fail("a wait of 20 ms takes 20 ms", "%.1f ms", (double)took / 1e6);
    kit_rig_close(&r);
}

static void the_first_failure_stays(const kit_case *c)
{
    uint64_t value = 0;
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_semaphore *s[2] = { kit_semaphore(&r, TNP_SEMAPHORE_HOST), kit_semaphore(&r, 0) };
    for (int i = 0; i < 2; i++) {
        KIT_OK_OF(r.t->semaphore_fail(s[i], TNP_E_DATA, "a bad index", &r.err), &r.err,
                  "semaphore_fail");
        KIT_OK_OF(r.t->semaphore_fail(s[i], TNP_E_IO, "later", &r.err), &r.err,
                  "semaphore_fail of what has failed");
        kit_want(r.t->semaphore_read(s[i], &value, &r.err), TNP_E_DATA, &r.err,
                 "semaphore_read of what has failed");
        if (strcmp(r.err.text, "a bad index") != 0)
            kit_fail("the text of the failure, 'a bad index'", "'%.100s'", r.err.text);
        kit_want(r.t->semaphore_wait(s[i], 1, UINT64_MAX, &r.err), TNP_E_DATA, &r.err,
                 "a wait for ever on what has failed");
        if (i == 0)
            KIT_OK_OF(r.t->semaphore_signal(s[0], 3, &r.err), &r.err,
                      "semaphore_signal of what has failed");
        kit_want(r.t->semaphore_wait(s[i], 3, 0, &r.err), TNP_E_DATA, &r.err,
                 "a wait for a value that was signalled after the failure");
        r.t->semaphore_destroy(s[i]);
    }
    kit_rig_close(&r);
}

static void what_was_reached_before_a_failure_stays_reached(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    KIT_OK_OF(r.t->semaphore_signal(r.gate, 4, &r.err), &r.err, "semaphore_signal");
    KIT_OK_OF(r.t->semaphore_fail(r.gate, TNP_E_IO, "no more", &r.err), &r.err, "semaphore_fail");
    KIT_OK_OF(r.t->semaphore_wait(r.gate, 4, 0, &r.err), &r.err, "a wait for a value from before");
    kit_want(r.t->semaphore_wait(r.gate, 5, 0, &r.err), TNP_E_IO, &r.err, "a wait for one beyond");
    KIT_OK_OF(kit_submit(&r, r.queue, NULL, r.gate, 4, r.done, 1), &r.err, "queue_submit");
    kit_wait_ok(&r, r.done, 1, "work that waits for a value from before");
    kit_rig_close(&r);
}

// ----------------------------------------------------------------------------------------- notices

typedef struct heard {
    tnp_notice notice;
    atomic_int count;
    tnp_status status;
    char text[64];
    kit_rig *rig;
} heard;

// Calls back into the plugin, which holds no lock.
static void hear(tnp_notice *notice, tnp_status status, const char *text)
{
    heard *h = notice->argument;
    tnp_error err = { .size = sizeof err };
    uint64_t value;
    (void)h->rig->t->semaphore_read(h->rig->gate, &value, &err);
    (void)h->rig->t->semaphore_wait(h->rig->gate, UINT64_C(1) << 30, 0, &err);
    h->status = status;
    strncpy(h->text, text ? text : "NULL", sizeof h->text - 1);
    atomic_fetch_add(&h->count, 1);
}

static void listen_to(kit_rig *r, heard *h, tnp_semaphore *s, uint64_t value)
{
    if (!TNP_CAN(tnp_plugin, r->t, semaphore_notify))
        kit_skip("the plugin has no semaphore_notify");
    memset(h, 0, sizeof *h);
    h->rig = r;
    h->notice = (tnp_notice){
        .size = sizeof h->notice, .value = value, .reached = hear, .argument = h
    };
    kit_begin_run_call("semaphore_notify");
    KIT_OK_OF(r->t->semaphore_notify(s, &h->notice, &r->err), &r->err, "semaphore_notify");
    kit_end_run_call();
}

static void want_heard(const heard *h, tnp_status status, const char *text, const char *when)
{
    for (int i = 0; i < 5000 && atomic_load(&h->count) == 0; i++)
        kit_sleep_ms(1);
    kit_sleep_ms(1);
    if (atomic_load(&h->count) != 1)
        kit_fail(kit_text("a notice comes once, %s", when), "%d times", atomic_load(&h->count));
    if (h->status != status || (text && strcmp(h->text, text) != 0))
        kit_fail(kit_text("a notice with %s and '%s', %s", kit_status_name(status),
                          text ? text : "…", when),
                 "%s and '%.60s'", kit_status_name(h->status), h->text);
}

static void a_notice_comes_once_for_each_end(const kit_case *c)
{
    static heard reached, beyond, already, destroyed, failed;
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_semaphore *doomed = kit_semaphore(&r, 0), *host = kit_semaphore(&r, TNP_SEMAPHORE_HOST);
    KIT_OK_OF(kit_submit(&r, r.queue, NULL, r.gate, 1, r.done, 1), &r.err, "queue_submit");
    listen_to(&r, &reached, r.done, 1);
    listen_to(&r, &beyond, r.done, 2);
    listen_to(&r, &destroyed, doomed, 1);
    listen_to(&r, &failed, host, 3);
    kit_sleep_ms(2);
    if (atomic_load(&reached.count) != 0)
        kit_fail("no notice before the value is reached", "one");
    KIT_OK_OF(r.t->semaphore_signal(r.gate, 1, &r.err), &r.err, "semaphore_signal");
    want_heard(&reached, TNP_OK, NULL, "when the value is reached");
    listen_to(&r, &already, r.done, 1);
    want_heard(&already, TNP_OK, NULL, "when it was reached already");
    KIT_OK_OF(r.t->semaphore_signal(host, 2, &r.err), &r.err, "semaphore_signal");
    if (atomic_load(&failed.count) != 0)
        kit_fail("no notice at 2 of 3", "one");
    KIT_OK_OF(r.t->semaphore_fail(host, TNP_E_DATA, "bad", &r.err), &r.err, "semaphore_fail");
    want_heard(&failed, TNP_E_DATA, "bad", "when a host's semaphore fails");
    KIT_OK_OF(r.t->semaphore_fail(r.done, TNP_E_IO, "no more", &r.err), &r.err, "semaphore_fail");
    want_heard(&beyond, TNP_E_IO, "no more", "when a queue's semaphore fails");
    r.t->semaphore_destroy(doomed);
    want_heard(&destroyed, TNP_E_CANCELLED, NULL, "when the semaphore is destroyed");
    want_heard(&reached, TNP_OK, NULL, "and never again");
    r.t->semaphore_destroy(host);
    kit_rig_close(&r);
}

static void many_notices_of_one_value_all_come(const kit_case *c)
{
    static heard all[100];
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    for (int i = 0; i < 100; i++)
        listen_to(&r, &all[i], r.gate, (uint64_t)(1 + i % 3));
    KIT_OK_OF(r.t->semaphore_signal(r.gate, 2, &r.err), &r.err, "semaphore_signal");
    for (int i = 0; i < 100; i++)
        if (i % 3 < 2)
            want_heard(&all[i], TNP_OK, NULL, "of a hundred");
        else if (atomic_load(&all[i].count) != 0)
            kit_fail("notices of 3 do not come at 2", "one did");
    r.t->semaphore_destroy(r.gate);
    r.gate = NULL;
    for (int i = 2; i < 100; i += 3)
        for (int tries = 0; tries < 5000 && atomic_load(&all[i].count) == 0; tries++)
            kit_sleep_ms(1);
    for (int i = 2; i < 100; i += 3)
        if (atomic_load(&all[i].count) != 1 || all[i].status != TNP_E_CANCELLED)
            kit_fail("lent notices still come when a semaphore is destroyed, TNP_E_CANCELLED",
                     "%d times, %s", atomic_load(&all[i].count), kit_status_name(all[i].status));
    kit_rig_close(&r);
}

// What a queue's signal ends may be destroyed as soon as the wait for it returns.
static void a_semaphore_may_go_when_its_last_wait_returns(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    for (int i = 0; i < 300; i++) {
        tnp_semaphore *s = kit_semaphore(&r, 0);
        KIT_OK_OF(kit_submit(&r, r.queue, NULL, NULL, 0, s, 1), &r.err, "queue_submit");
        kit_wait_ok(&r, s, 1, "an empty submit");
        r.t->semaphore_destroy(s);
    }
    kit_rig_close(&r);
}

static const kit_row rows[] = {
    { "values_grow_and_are_read", values_grow_and_are_read },
    { "a_wait_takes_its_time_and_no_more", a_wait_takes_its_time_and_no_more },
    { "the_first_failure_stays", the_first_failure_stays },
    { "what_was_reached_before_a_failure_stays_reached",
      what_was_reached_before_a_failure_stays_reached },
    { "a_notice_comes_once_for_each_end", a_notice_comes_once_for_each_end },
    { "many_notices_of_one_value_all_come", many_notices_of_one_value_all_come },
    { "a_semaphore_may_go_when_its_last_wait_returns",
      a_semaphore_may_go_when_its_last_wait_returns },
};

void kit_list_semaphores(kit_list *list)
{
    kit_list_rows(list, "semaphores", rows, sizeof rows / sizeof *rows);
}
