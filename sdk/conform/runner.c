// runner.c: children that run cases, and what became of each.
//
// Cases that share a child are tried once more alone when one fails: the verdict is that of a case
// in a child of its own, and a failure that only others bring about is told as such.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform_internal.h"

typedef struct verdict {
    kit_outcome outcome;
    char expected[1024], got[1024];
    double ms;
} verdict;

typedef struct run {
    const kit_options *options;
    kit_summary *summary;
    uint32_t device;
    uint8_t *ops_seen;   // by op number: 1 = a case ran
} run;

// A child at work on cases[0 … count - 1].
typedef struct worker {
    pid_t pid;
    int pipe;
    char text[4096];
    size_t bytes;
    bool is_killed;
} worker;

static bool start_worker(const run *r, const kit_case *cases, uint32_t count, worker *out)
{
    int ends[2];
    *out = (worker){ .pid = -1 };
    if (pipe(ends) != 0)
        return false;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        kit_run_cases(r->options, cases, count, r->device, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    out->pid = pid;
    out->pipe = ends[0];
    return true;
}

// The next line into `line`, without its end. false: the child is gone, or its time is over.
static bool next_line(worker *w, uint64_t end_ns, char *line, size_t room)
{
    for (;;) {
        char *stop = memchr(w->text, '\n', w->bytes);
        if (stop) {
            size_t length = (size_t)(stop - w->text);
            snprintf(line, room, "%.*s", (int)length, w->text);
            w->bytes -= length + 1;
            memmove(w->text, stop + 1, w->bytes);
            return true;
        }
        uint64_t now = kit_now_ns();
        struct pollfd fd = { .fd = w->pipe, .events = POLLIN };
        int left_ms = now < end_ns ? (int)((end_ns - now) / 1000000u) + 1 : 0;
        int ready = poll(&fd, 1, left_ms);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0) {
            w->is_killed = true;
            kill(w->pid, SIGKILL);
            return false;
        }
        ssize_t got = read(w->pipe, w->text + w->bytes, sizeof w->text - w->bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        w->bytes += (size_t)got;
    }
}

static void say_end(const worker *w, int status, double timeout_ms, char *out, size_t room)
{
    if (w->is_killed)
        snprintf(out, room, "it takes longer than %g ms", timeout_ms);
    else if (WIFSIGNALED(status))
        snprintf(out, room, "the process is killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(out, room, "the process exits with %d", WEXITSTATUS(status));
}

static int end_worker(worker *w)
{
    int status = 0;
    close(w->pipe);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

// Puts what a line says into the verdict. true: the case is over.
static bool take_line(const char *line, verdict *v)
{
    const char *rest = line + 1;
    strtoul(rest, (char **)&rest, 10);
    rest += *rest == ' ';
    switch (line[0]) {
    case 'P':
        v->outcome = KIT_PASSED;
        v->ms = strtod(rest, NULL);
        return true;
    case 'S':
        v->outcome = KIT_SKIPPED;
        snprintf(v->got, sizeof v->got, "%s", rest);
        return true;
    case 'F': {
        const char *between = strchr(rest, '\x1f');
        int length = between ? (int)(between - rest) : (int)strlen(rest);
        v->outcome = KIT_FAILED;
        snprintf(v->expected, sizeof v->expected, "%.*s", length, rest);
        snprintf(v->got, sizeof v->got, "%s", between ? between + 1 : "");
        return true;
    }
    default:
        return false;   // it begins
    }
}

// Runs cases in one child until one fails or all are over. Answers how many have a verdict; 0 when
// the system gives no process.
static uint32_t run_child(const run *r, const kit_case *cases, uint32_t count, verdict *verdicts)
{
    worker w;
    char line[2100];
    uint32_t over = 0;
    double timeout_ms = r->options->timeout_ms;
    if (!start_worker(r, cases, count, &w))
        return 0;
    uint64_t begin = kit_now_ns();
    memset(&verdicts[0], 0, sizeof verdicts[0]);
    while (over < count && next_line(&w, begin + (uint64_t)(timeout_ms * 1e6), line, sizeof line)) {
        if (!take_line(line, &verdicts[over]))
            continue;
        over++;
        if (verdicts[over - 1].outcome == KIT_FAILED)
            break;
        if (over < count)
            memset(&verdicts[over], 0, sizeof verdicts[over]);
        begin = kit_now_ns();
    }
    bool has_failed = over > 0 && verdicts[over - 1].outcome == KIT_FAILED;
    bool has_skipped = over > 0 && verdicts[over - 1].outcome == KIT_SKIPPED;
    int status = end_worker(&w);
    if (has_failed || (over < count && has_skipped && status == 0))
        return over;
    // Gone in the middle of a case, or behind the last one: a sanitizer has found something.
    if (over < count || status != 0) {
        uint32_t at = over < count ? over : count - 1;
        verdicts[at].outcome = KIT_FAILED;
        verdicts[at].ms = (double)(kit_now_ns() - begin) / 1e6;
        snprintf(verdicts[at].expected, sizeof verdicts[at].expected, "the case ends");
        say_end(&w, status, timeout_ms, verdicts[at].got, sizeof verdicts[at].got);
        return at + 1;
    }
    return over;
}

static void count_op(run *r, const kit_case *c, const verdict *v)
{
    char op[32];
    if (!c->op || v->outcome == KIT_SKIPPED || sscanf(c->name, "ops.%31[a-z0-9_]", op) != 1)
        return;
#define OP(number, NAME, name, ...)                                                                \
    if (!strcmp(op, #name))                                                                        \
        r->ops_seen[number] = 1;
#include <tenon/ops.def>
}

static void report(run *r, const kit_case *c, const verdict *v)
{
    kit_summary *s = r->summary;
    *(v->outcome == KIT_PASSED   ? &s->passed
      : v->outcome == KIT_FAILED ? &s->failed
                                 : &s->skipped) += 1;
    count_op(r, c, v);
    kit_result result = { .name = c->name,
                          .device = r->device,
                          .outcome = v->outcome,
                          .expected = v->expected,
                          .got = v->got,
                          .ms = v->ms };
    if (r->options->report)
        r->options->report(r->options->context, &result);
}

enum { MOST_SHARED = 64 };

static uint32_t shared_count(const kit_case *cases, uint32_t count)
{
    uint32_t shared = 1;
    while (cases[0].is_batched && shared < count && shared < MOST_SHARED &&
           cases[shared].is_batched)
        shared++;
    return shared;
}

// The verdict of the last one of several in a child: that of a child of its own.
static bool try_alone(const run *r, const kit_case *c, uint32_t others, verdict *v)
{
    static verdict alone;
    if (run_child(r, c, 1, &alone) == 0)
        return false;
    if (alone.outcome == KIT_FAILED)
        *v = alone;
    else
        snprintf(v->got + strlen(v->got), sizeof v->got - strlen(v->got),
                 "; alone it passes: this came behind %u others in one process", others);
    return true;
}

static bool run_some(run *r, const kit_case *cases, uint32_t count)
{
    static verdict verdicts[MOST_SHARED];
    while (count > 0) {
        uint32_t over = run_child(r, cases, count, verdicts);
        if (over == 0)
            return false;
        verdict *last = &verdicts[over - 1];
        if (last->outcome == KIT_FAILED && over > 1 &&
            !try_alone(r, &cases[over - 1], over - 1, last))
            return false;
        for (uint32_t i = 0; i < over; i++)
            report(r, &cases[i], &verdicts[i]);
        cases += over;
        count -= over;
    }
    return true;
}

// ------------------------------------------------------------------------------------------- probe

// What the file offers, found out in a child: "D count", then "N name" for each.
static void say_devices(const kit_case *c)
{
    tnp_error err = { .size = sizeof err };
    static kit_host host;
    tnp_instance *instance;
    uint32_t count = 0;
    (void)c;
    const tnp_plugin *t = kit_table();
    kit_host_init(&host);
    KIT_OK_OF(t->start(&host.table, &instance, &err), &err, "start");
    KIT_OK_OF(t->device_count(instance, &count, &err), &err, "device_count");
    if (count > KIT_DEVICES)
        kit_fail(kit_text("at most %d devices", KIT_DEVICES), "%u", count);
    kit_skip("%u %s", count, err.text);
}

static kit_status probe(run *r, uint32_t *out_count, char *out_why, size_t why_bytes)
{
    static const kit_case say = { .name = "devices", .run = say_devices };
    static verdict v;
    if (run_child(r, &say, 1, &v) == 0) {
        snprintf(out_why, why_bytes, "the system gives no process: %s", strerror(errno));
        return KIT_NO_CHILD;
    }
    if (v.outcome == KIT_FAILED) {
        snprintf(out_why, why_bytes, "%s: want %s, got %s", r->options->plugin, v.expected, v.got);
        return KIT_NO_PLUGIN;
    }
    char *text;
    *out_count = (uint32_t)strtoul(v.got, &text, 10);
    if (*out_count > 0)
        return KIT_OK;
    snprintf(out_why, why_bytes, "%s offers no device:%s", r->options->plugin,
             text[0] && text[1] ? text : " it does not say why");
    return KIT_NO_DEVICE;
}

static bool run_device(run *r, const kit_list *list)
{
    for (uint32_t i = 0; i < list->count;) {
        uint32_t count = shared_count(&list->cases[i], list->count - i);
        if (!(list->cases[i].is_of_file && r->device > 0) && !run_some(r, &list->cases[i], count))
            return false;
        i += count;
    }
    return true;
}

kit_status kit_run(const kit_options *options, kit_summary *out_summary, char *out_why,
                   size_t why_bytes)
{
    uint8_t ops_seen[256] = { 0 };
    run r = { .options = options, .summary = out_summary, .ops_seen = ops_seen };
    kit_list list;
    uint64_t begin = kit_now_ns();
    *out_summary = (kit_summary){ 0 };
    out_why[0] = 0;
    kit_status status = kit_choose(options->filters, options->filter_count, &list);
    if (status == KIT_OK)
        status = probe(&r, &out_summary->devices, out_why, why_bytes);
    else
        snprintf(out_why, why_bytes, "%s",
                 status == KIT_NO_CASE ? "no case fits the filter" : "out of memory");
    for (r.device = 0; r.device < out_summary->devices && status == KIT_OK; r.device++) {
        if (!run_device(&r, &list)) {
            snprintf(out_why, why_bytes, "the system gives no process: %s", strerror(errno));
            status = KIT_NO_CHILD;
        }
    }
    for (size_t i = 0; i < sizeof ops_seen; i++)
        out_summary->ops_claimed += ops_seen[i];
#define OP(number, NAME, ...) out_summary->ops_known += (number) >= TNP_OP_ADD;
#include <tenon/ops.def>
    out_summary->ms = (double)(kit_now_ns() - begin) / 1e6;
    kit_list_free(&list);
    return status;
}
