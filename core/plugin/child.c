// child.c: one process that tries a plugin's file.
//
//   this process                                  tenon-probe
//     settings, by a file in memory ───────────►    its standard input
//     its answer                    ◄───────────    file 3
//     what it prints, must be none  ◄───────────    standard output
//     why it died, perhaps          ◄───────────    standard error
//
// The helper is started by posix_spawn: nothing runs between fork and exec in a process that may
// have threads. It leads a process group, so that what it starts goes with it. Children are waited
// for by their own ids; should the application have waited for them itself, the answer alone
// counts.
#include "plugin/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

extern char **environ;

enum {
    MOST_ANSWER_BYTES = TNI_ANSWER_BYTES + 4096,
    FIRST_FILE = 10,   // of ours: beyond those that the child is given
    LOOK_MS = 10,      // how often a child is looked at where the system cannot tell of its end
    LEAVE_MS = 2000,   // how long after its end by force it may take to go
    ANSWER = 0,
    PRINTED = 1,
    SAID = 2,
};

// ------------------------------------------------------------------------------------------- start

static int move_up(int file)
{
    int moved = file >= 0 ? fcntl(file, F_DUPFD_CLOEXEC, FIRST_FILE) : -1;
    if (file >= 0)
        close(file);
    return moved;
}

static bool make_pipe(int *out_ours, int *out_theirs)
{
    int ends[2];
    *out_ours = *out_theirs = -1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    *out_ours = move_up(ends[0]);
    *out_theirs = move_up(ends[1]);
    return *out_ours >= 0 && *out_theirs >= 0 && fcntl(*out_ours, F_SETFL, O_NONBLOCK) == 0;
}

static void write_setting(void *context, const char *key, const char *value)
{
    FILE *file = context;
    fwrite(key, 1, strlen(key) + 1, file);
    fwrite(value, 1, strlen(value) + 1, file);
}

// The plugin's settings, key and value in turns, each with its NUL. A file and no pipe: a child
// that is gone cannot make us write to nobody.
static int settings_file(const tni_plugin *plugin)
{
    int file = move_up(memfd_create("tenon-probe", MFD_CLOEXEC));
    int copy = file >= 0 ? dup(file) : -1;
    FILE *stream = copy >= 0 ? fdopen(copy, "wb") : NULL;
    if (!stream) {
        if (copy >= 0)
            close(copy);
        if (file >= 0)
            close(file);
        return -1;
    }
    tni_config_each(&plugin->runtime->config, plugin->manifest.name, stream, write_setting);
    if (fclose(stream) != 0 || lseek(file, 0, SEEK_SET) != 0) {
        close(file);
        return -1;
    }
    return file;
}

// As a new program expects to find things: nothing of the application's handlers and masks.
static int spawn(const char *helper, const tni_plugin *plugin, const int files[1 + TNI_CHILD_PIPES],
                 pid_t *out_pid)
{
    static char *const nothing[] = { NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t how;
    sigset_t none, all;
    char threads[16], parent[16];
    snprintf(threads, sizeof threads, "%u", tn_runtime_threads(plugin->runtime));
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    char *const words[] = { (char *)helper, (char *)plugin->path, threads,
                            parent,         (char *)tn_version(), NULL };
    // Who started a privileged process says nothing to what that starts.
    char *const *variables = getauxval(AT_SECURE) ? nothing : environ;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawnattr_init(&how);
    if (error) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    static const int at[1 + TNI_CHILD_PIPES] = { 0, 3, 1, 2 };
    for (int i = 0; i < 1 + TNI_CHILD_PIPES && !error; i++)
        error = posix_spawn_file_actions_adddup2(&actions, files[i], at[i]);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                       POSIX_SPAWN_SETPGROUP);
    if (!error)
        error = posix_spawn(out_pid, helper, &actions, &how, words, variables);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static void close_pipes(tni_child *c)
{
    for (int i = 0; i < TNI_CHILD_PIPES; i++) {
        if (c->pipes[i] >= 0)
            close(c->pipes[i]);
        c->pipes[i] = -1;
    }
}

// 0, or the error.
int tni_child_start(tni_child *c, const char *helper, tni_plugin *plugin)
{
    int theirs[1 + TNI_CHILD_PIPES] = { -1, -1, -1, -1 };
    *c = (tni_child){ .plugin = plugin, .ended = -1, .pipes = { -1, -1, -1 } };
    theirs[0] = settings_file(plugin);
    bool has_all = theirs[0] >= 0;
    for (int i = 0; i < TNI_CHILD_PIPES && has_all; i++)
        has_all = make_pipe(&c->pipes[i], &theirs[1 + i]);
    int error = has_all ? spawn(helper, plugin, theirs, &c->pid) : errno ? errno : EMFILE;
    for (int i = 0; i < 1 + TNI_CHILD_PIPES; i++)
        if (theirs[i] >= 0)
            close(theirs[i]);
    if (error) {
        close_pipes(c);
        return error;
    }
    c->ended = (int)syscall(SYS_pidfd_open, c->pid, 0);
    c->deadline_ns = tni_now_ns() +
                     (uint64_t)plugin->runtime->config.probe_timeout_ms.value * UINT64_C(1000000);
    return 0;
}

// --------------------------------------------------------------------------------------- listening

static bool keep_answer(const tn_allocator *allocator, tni_child *c, const char *bytes,
                        size_t count)
{
    size_t room = MOST_ANSWER_BYTES - c->answer_bytes;   // more is garbage
    count = count < room ? count : room;
    if (!count)
        return true;
    if (!tni_grow(allocator, &c->answer, &c->answer_capacity, c->answer_bytes + (uint32_t)count, 1))
        return false;
    memcpy(c->answer + c->answer_bytes, bytes, count);
    c->answer_bytes += (uint32_t)count;
    return true;
}

static void keep_printed(tni_child *c, const char *bytes, size_t count)
{
    size_t room = sizeof c->printed - 1 - c->printed_bytes;
    memcpy(c->printed + c->printed_bytes, bytes, count < room ? count : room);
    c->printed_bytes += count < room ? count : room;
}

static void keep_said(tni_child *c, const char *bytes, size_t count)
{
    size_t most = sizeof c->said - 1;
    if (count > most) {
        bytes += count - most;
        count = most;
    }
    size_t stays = c->said_bytes < most - count ? c->said_bytes : most - count;
    memmove(c->said, c->said + c->said_bytes - stays, stays);
    memcpy(c->said + stays, bytes, count);
    c->said_bytes = stays + count;
}

// Takes what there is. false: there is no memory for it.
static bool drain(const tn_allocator *allocator, tni_child *c, int which)
{
    char piece[4096];
    // Who runs may print faster than we read: the time is looked at in between. A pipe has 64 KiB.
    for (int left = c->is_over || which == ANSWER ? 64 : 1; left && c->pipes[which] >= 0; left--) {
        ssize_t n = read(c->pipes[which], piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return true;
        if (n <= 0) {
            close(c->pipes[which]);
            c->pipes[which] = -1;
        } else if (which == PRINTED) {
            keep_printed(c, piece, (size_t)n);
        } else if (which == SAID) {
            keep_said(c, piece, (size_t)n);
        } else if (!keep_answer(allocator, c, piece, (size_t)n)) {
            return false;
        }
    }
    return true;
}

// What it started may still run, in its group, whose number is not given away while it waits to be
// waited for.
static void reap(tni_child *c)
{
    siginfo_t ignored;
    kill(-c->pid, SIGKILL);
    while (waitid(P_PID, (id_t)c->pid, &ignored, WEXITED) != 0 && errno == EINTR) {
    }
    c->is_over = true;
}

static void look(tni_child *c)
{
    siginfo_t seen = { 0 };
    int answer = waitid(P_PID, (id_t)c->pid, &seen, WEXITED | WNOHANG | WNOWAIT);
    if (answer != 0 && errno == ECHILD) {   // somebody else waited for it
        c->is_over = true;
        return;
    }
    if (answer == 0 && seen.si_pid == c->pid) {
        c->has_status = true;
        c->status = seen;
        reap(c);
        return;
    }
    if (tni_now_ns() < c->deadline_ns)
        return;
    if (c->is_late) {   // it does not even go by force: it is in the middle of a call of the system
        c->is_over = true;
        return;
    }
    c->is_late = true;
    c->deadline_ns += (uint64_t)LEAVE_MS * UINT64_C(1000000);
    kill(-c->pid, SIGKILL);
}

static int poll_ms(const tni_child *children, uint32_t count)
{
    uint64_t now = tni_now_ns(), next = UINT64_MAX;
    bool has_file = true;
    for (uint32_t i = 0; i < count; i++) {
        next = children[i].deadline_ns < next ? children[i].deadline_ns : next;
        has_file = has_file && children[i].ended >= 0;
    }
    uint64_t ms = next > now ? (next - now) / UINT64_C(1000000) + 1 : 0;
    if (!has_file && ms > LOOK_MS)
        ms = LOOK_MS;
    return ms > 60000 ? 60000 : (int)ms;
}

// Until something happens. false: there is no memory.
bool tni_children_listen(tni_child *children, uint32_t count, const tn_allocator *allocator)
{
    struct pollfd files[TNI_MOST_CHILDREN * (1 + TNI_CHILD_PIPES)];
    nfds_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (int p = 0; p < TNI_CHILD_PIPES; p++)
            if (children[i].pipes[p] >= 0)
                files[used++] = (struct pollfd){ .fd = children[i].pipes[p], .events = POLLIN };
        if (children[i].ended >= 0)
            files[used++] = (struct pollfd){ .fd = children[i].ended, .events = POLLIN };
    }
    (void)poll(files, used, poll_ms(children, count));   // whatever it says, all are looked at
    for (uint32_t i = 0; i < count; i++) {
        look(&children[i]);   // before what it wrote: after its end nothing more comes
        for (int p = 0; p < TNI_CHILD_PIPES; p++)
            if (!drain(allocator, &children[i], p))
                return false;
    }
    return true;
}

void tni_child_release(tni_child *c, const tn_allocator *allocator)
{
    if (!c->is_over)
        reap(c);
    close_pipes(c);
    if (c->ended >= 0)
        close(c->ended);
    tni_free(allocator, c->answer);
}
