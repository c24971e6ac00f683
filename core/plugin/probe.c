// probe.c: files not seen before, each loaded and asked for its devices in a process of its own,
// many at once (child.c): what crashes, ends the process, hangs or prints does so there. Here it is
// decided what that means for the file.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "plugin/child.h"

enum { PATH_BYTES = 4096 };

// Beside libtenon; or, where a program has it inside, in the lib beside the program's folder.
static bool find_helper(char *path, tn_error *why)
{
    char own[PATH_BYTES];
    char *slash = tni_own_file(own, sizeof own) ? strrchr(own, '/') : NULL;
    if (!slash) {
        (void)tni_fail(why, TN_E_FILE, "the folder of libtenon is not known");
        return false;
    }
    *slash = 0;
    tni_format_text(path, PATH_BYTES, "%s/tenon/tenon-probe", own);
    if (access(path, X_OK) == 0)
        return true;
    (void)tni_fail(why, TN_E_FILE, "%s: %s", path, strerror(errno));
    tni_format_text(path, PATH_BYTES, "%s/../lib/tenon/tenon-probe", own);
    return access(path, X_OK) == 0;
}

// ----------------------------------------------------------------------------------------- verdict

static const char *words_of_call(const char *call)
{
    static const char *const words[][2] = {
        { "load", "while it was loaded" },
        { "query", "in its query" },
        { "start", "in start" },
        { "device_count", "in device_count" },
        { "device_info", "in device_info" },
        { "stop", "in stop" },
        { "end", "in a destructor or a function given to atexit" },
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], call) == 0)
            return words[i][1];
    return "while it was tried";
}

// The last line of what it said on standard error.
static const char *last_line(tni_child *c)
{
    while (c->said_bytes && (c->said[c->said_bytes - 1] == '\n' || !c->said[c->said_bytes - 1]))
        c->said_bytes--;
    c->said[c->said_bytes] = 0;
    const char *line = memrchr(c->said, '\n', c->said_bytes);
    return line ? line + 1 : c->said;
}

// What it did, as words that go on after its name; "" = nothing wrong.
static void judge(tni_child *c, const tni_probed *probed, char *to, size_t room)
{
    const char *where = words_of_call(probed->at), *said = last_line(c);
    const char *before = *said ? "; it said '" : "", *after = *said ? "'" : "";
    bool is_killed = c->has_status && c->status.si_code != CLD_EXITED;
    bool is_ended = c->has_status && c->status.si_status != TNI_PROBE_ENDED;   // not by our word
    to[0] = 0;
    if (c->is_late && !probed->has_begun)
        tni_format_text(to, room, "was not tried within %u ms: the machine is busy",
                        c->plugin->runtime->config.probe_timeout_ms.value);
    else if (c->is_late)
        tni_format_text(to, room, "hung %s: it did not come back within %u ms%s%s%s", where,
                        c->plugin->runtime->config.probe_timeout_ms.value, before, said, after);
    else if (is_killed)
        tni_format_text(to, room, "crashed %s: %s%s%s%s", where, sigdescr_np(c->status.si_status),
                        before, said, after);
    else if (c->printed_bytes)
        tni_format_text(to, room, "wrote to standard output, which is for data: '%.*s'",
                        (int)c->printed_bytes, c->printed);
    else if (probed->is_garbage)
        tni_format_text(to, room, "gave an answer that makes no sense");
    else if (c->has_status && (!probed->is_whole || is_ended))
        tni_format_text(to, room, "ended the process %s, with exit code %d%s%s%s", where,
                        c->status.si_status, before, said, after);
    else if (!probed->is_whole)
        tni_format_text(to, room, "ended the process %s%s%s%s", where, before, said, after);
}

// The plugins of this runtime are loaded without being probed, which is told once: an application
// that may start no process, or an installation without the helper, would else have no device.
static void go_without(tni_plugin *plugin, const char *why)
{
    tn_runtime *runtime = plugin->runtime;
    plugin->kept = (tni_kept){ .verdict = TNI_ANSWERED };
    if (runtime->has_no_helper)
        return;
    runtime->has_no_helper = true;
    tni_log_line(&runtime->log, TN_LOG_WARNING,
                 "plugins not seen before are loaded without being tried in a process of their "
                 "own: %s",
                 why);
}

static bool is_unchanged(const tni_plugin *plugin)
{
    tni_identity now;
    mode_t mode;
    return tni_identity_of(plugin->path, &now, &mode) &&
           tni_identity_is_same(&now, &plugin->identity);
}

// false: there is no memory.
static bool finish(tni_child *c)
{
    tni_plugin *plugin = c->plugin;
    tni_probed probed;
    char raw[2 * TNI_REASON_BYTES];
    if (!tni_probed_read(c->answer ? c->answer : "", c->answer_bytes, &plugin->runtime->arena,
                         &probed))
        return false;
    if (!probed.has_begun && !c->is_late && !probed.is_garbage && !c->printed_bytes) {
        const char *said = last_line(c);
        go_without(plugin, *said ? said : "the helper tenon-probe ended at once");
        return true;
    }
    plugin->kept = (tni_kept){ .verdict = TNI_ANSWERED };
    if (!is_unchanged(plugin))   // it is not known which of the files that was
        return true;
    tni_copy_text(plugin->kept.sha256, sizeof plugin->kept.sha256, probed.sha256);
    judge(c, &probed, raw, sizeof raw);
    if (raw[0]) {
        tn_error safe;
        (void)tni_fail(&safe, TN_E_PLUGIN, "%s", raw);
        plugin->kept.verdict = TNI_QUARANTINED;
        tni_copy_text(plugin->kept.reason, sizeof plugin->kept.reason, safe.text);
        bool is_its_fault = probed.has_begun || !c->is_late;
        if (!is_its_fault ||   // or what came may be garbage as a whole
            (strlen(plugin->kept.sha256) != TNI_DIGITS_BYTES - 1 &&
             !tni_plugin_hash(plugin->path, plugin->kept.sha256)))
            plugin->kept.sha256[0] = 0;   // then nothing is kept
    } else {
        plugin->is_probed = true;
        plugin->probed = probed.answer;
        tni_kept_set_answer(plugin, &probed.answer);
    }
    tni_kept_write(plugin);
    return true;
}

// Ends those that are over, and keeps the others together.
static bool finish_some(const tn_allocator *allocator, tni_child *children, uint32_t *count)
{
    bool has_memory = true;
    uint32_t left = 0;
    for (uint32_t i = 0; i < *count; i++) {
        if (!children[i].is_over) {
            children[left++] = children[i];
            continue;
        }
        has_memory = finish(&children[i]) && has_memory;
        tni_child_release(&children[i], allocator);
    }
    *count = left;
    return has_memory;
}

tn_status tni_probe(tn_runtime *runtime, tni_plugin *const *plugins, uint32_t count, tn_error *err)
{
    const tn_allocator *allocator = &runtime->allocator;
    uint32_t room = count < TNI_MOST_CHILDREN ? count : TNI_MOST_CHILDREN, next = 0, running = 0;
    char helper[PATH_BYTES];
    tn_error why;
    if (!count)
        return TN_OK;
    if (!find_helper(helper, &why)) {
        for (uint32_t i = 0; i < count; i++)
            go_without(plugins[i], why.text);
        return TN_OK;
    }
    tni_child *children = tni_alloc_zeroed(allocator, room, sizeof *children);
    bool has_memory = children != NULL;
    while (has_memory && (next < count || running)) {
        while (next < count && running < room) {
            int error = tni_child_start(&children[running], helper, plugins[next]);
            if (error && running)   // files or processes may be short: when some have ended
                break;
            if (error) {
                (void)tni_fail(&why, TN_E_FILE, "%s: %s", helper, strerror(error));
                go_without(plugins[next], why.text);
            } else {
                running++;
            }
            next++;
        }
        if (running)
            has_memory = tni_children_listen(children, running, allocator) &&
                         finish_some(allocator, children, &running);
    }
    for (uint32_t i = 0; i < running; i++)
        tni_child_release(&children[i], allocator);
    tni_free(allocator, children);
    return has_memory ? TN_OK : tni_fail_memory(err, "probing plugins", room * sizeof *children);
}
