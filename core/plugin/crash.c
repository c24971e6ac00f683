// crash.c: when the process crashes and code of a plugin is at fault, that is written down beside
// what is kept of its file, where the next start finds it (kept.c).
//
// At fault is whose code comes first on the way from the faulting instruction outwards: a plugin's,
// or libtenon's, which lies between a plugin and every function that an application gave. Libraries
// between, the C library or a driver, count as who called them.
//
//   fault in memcpy      ◄── plugin ◄── libtenon ◄── application        the plugin
//   fault in application ◄── libtenon ◄── plugin ◄── libtenon           not the plugin
//
// All of it runs in the handler: no lock is taken and nothing is allocated. Where the stack is so
// broken that the walk itself faults, base/faults.c ends it, and nothing is written.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "base/error.h"
#include "base/faults.h"
#include "base/new_file.h"
#include "plugin/cache.h"
#include "plugin/plugin_internal.h"

typedef struct code {
    uintptr_t begin, end;
} code;

struct tni_watched {
    _Atomic(tni_watched *) next;
    code code;
    atomic_flag is_taken;   // for the one crash that is written down
    atomic_bool is_written;
    size_t bytes;   // of the text so far
    char text[TNI_CRASH_BYTES];
    char path[TNI_CACHE_PATH_BYTES], temporary[TNI_CACHE_PATH_BYTES];
};

static _Atomic(tni_watched *) first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;   // of who changes the list, or installs
static code own;

// ------------------------------------------------------------------------------------ whose code

static bool is_in(const code *c, uintptr_t address)
{
    return address >= c->begin && address < c->end;
}

typedef struct search {
    uintptr_t within;
    code found;
} search;

static int look_at_object(struct dl_phdr_info *object, size_t bytes, void *argument)
{
    search *s = argument;
    code all = { UINTPTR_MAX, 0 };
    (void)bytes;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        const uintptr_t begin = object->dlpi_addr + part->p_vaddr, end = begin + part->p_memsz;
        all.begin = begin < all.begin ? begin : all.begin;
        all.end = end > all.end ? end : all.end;
    }
    if (!is_in(&all, s->within))
        return 0;
    s->found = all;
    return 1;
}

// That of the loaded file which has the address in its code.
static bool find_code(uintptr_t within, code *out)
{
    search s = { .within = within };
    if (dl_iterate_phdr(look_at_object, &s) == 0)
        return false;
    *out = s.found;
    return true;
}

static tni_watched *watched_at(uintptr_t address)
{
    tni_watched *w = atomic_load(&first);
    while (w && !is_in(&w->code, address))
        w = atomic_load(&w->next);
    return w;
}

// ---------------------------------------------------------------------------------------- the walk

typedef struct location {   // where a thread was as the signal came
    uintptr_t at, caller;   // caller: where it returns to, if nothing of a function ran yet
} location;

static location location_of(const tni_fault *fault)
{
    const ucontext_t *context = fault->context;
#if defined(__x86_64__)
    const greg_t *registers = context->uc_mcontext.gregs;
    const uintptr_t at = (uintptr_t)registers[REG_RIP];
    const bool is_lost = at == (uintptr_t)fault->info->si_addr && fault->number == SIGSEGV;
    return (location){ at, is_lost ? *(const uintptr_t *)registers[REG_RSP] : 0 };
#elif defined(__aarch64__)
    return (location){ context->uc_mcontext.pc, context->uc_mcontext.regs[30] };
#else
    (void)context;
    return (location){ 0 };
#endif
}

typedef struct walk {
    uintptr_t from;
    bool has_begun;   // the frames of the handler are behind
    int frames;
    tni_watched *found;
} walk;

static _Unwind_Reason_Code look_at_frame(struct _Unwind_Context *frame, void *argument)
{
    enum { MOST_FRAMES = 256 };
    walk *w = argument;
    int is_exact = 0;   // else it is behind a call, which may be the last of its function
    uintptr_t at = _Unwind_GetIPInfo(frame, &is_exact);
    w->has_begun |= at == w->from;
    at -= !is_exact;
    if (w->has_begun)
        w->found = watched_at(at);
    bool is_over = w->found || (w->has_begun && is_in(&own, at)) || ++w->frames == MOST_FRAMES;
    return is_over ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static tni_watched *find_culprit(const tni_fault *fault)
{
    const location place = location_of(fault);
    walk w = { .from = place.at };
    tni_watched *found = watched_at(place.at);
    if (found || is_in(&own, place.at))
        return found;
    if (fault->number == SIGSEGV && place.at == (uintptr_t)fault->info->si_addr)
        return watched_at(place.caller - 1);   // there is no code: a call led there
    _Unwind_Backtrace(look_at_frame, &w);
    return w.found;
}

// -------------------------------------------------------------------------------------- the record

static size_t put_number(char *to, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    for (size_t i = 0; i < count; i++)
        to[i] = digits[count - 1 - i];
    return count;
}

static void write_down(tni_watched *w, int number)
{
    if (atomic_flag_test_and_set(&w->is_taken))
        return;
    w->bytes += put_number(w->text + w->bytes, (uint64_t)number);
    w->text[w->bytes++] = ' ';
    w->bytes += put_number(w->text + w->bytes, (uint64_t)time(NULL));
    w->text[w->bytes++] = '\n';
    int file = open(w->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return;
    bool is_whole = tni_write_quietly(file, w->text, w->bytes) == (ssize_t)w->bytes;
    is_whole = close(file) == 0 && is_whole && rename(w->temporary, w->path) == 0;
    atomic_store(&w->is_written, is_whole);
    if (!is_whole)
        unlink(w->temporary);
}

static void tell(const tni_fault *fault)
{
    const bool is_raised = fault->info->si_code == SI_TKILL && fault->info->si_pid == getpid();
    if (!tni_fault_is_own(fault) && !is_raised)   // sent by another process
        return;
    tni_watched *culprit = find_culprit(fault);
    if (culprit)
        write_down(culprit, fault->number);
}

// ---------------------------------------------------------------------------------------- watching

void tni_crash_watch(tni_plugin *plugin, void *library)
{
    tni_crash crash = { .identity = plugin->identity };
    char key[TNI_DIGITS_BYTES];
    tn_error ignored;
    if (!tni_faults_are_told())
        return;
    tni_crash_unwatch(plugin);   // of an earlier try
    tni_watched *w = tni_arena_take(&plugin->runtime->arena, sizeof *w);
    const void *query = dlsym(library, "tenon_plugin_query");
    if (!w || !query || !find_code((uintptr_t)query, &w->code) ||
        !tni_kept_crash_path(plugin->path, key, w->path))
        return;
    if (plugin->kept.sha256[0])
        tni_copy_text(crash.sha256, sizeof crash.sha256, plugin->kept.sha256);
    else if (!tni_plugin_hash(plugin->path, crash.sha256))
        return;
    w->bytes = tni_crash_text(&crash, key, w->text);
    int length = snprintf(w->temporary, sizeof w->temporary, "%s.%d", w->path, (int)getpid());
    if (length >= (int)sizeof w->temporary || tni_cache_make_folders(w->path, &ignored) != TN_OK)
        return;
    atomic_flag_clear(&w->is_taken);
    atomic_init(&w->is_written, false);
    pthread_mutex_lock(&lock);
    atomic_init(&w->next, atomic_load(&first));
    atomic_store(&first, w);
    pthread_mutex_unlock(&lock);
    plugin->watched = w;
}

void tni_crash_unwatch(tni_plugin *plugin)
{
    tni_watched *w = plugin->watched;
    if (!w)
        return;
    pthread_mutex_lock(&lock);
    _Atomic(tni_watched *) *link = &first;
    while (atomic_load(link) != w)
        link = &atomic_load(link)->next;
    atomic_store(link, atomic_load(&w->next));
    pthread_mutex_unlock(&lock);
    tni_faults_wait();
    if (atomic_load(&w->is_written))
        unlink(w->path);
    plugin->watched = NULL;
}

// A stack that ran over has no room for a handler.
static void give_stack(void)
{
    enum { BYTES = 1 << 16 };
    static _Alignas(16) char bytes[BYTES];
    stack_t now;
    if (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE))
        sigaltstack(&(stack_t){ .ss_sp = bytes, .ss_size = sizeof bytes }, NULL);
}

static _Unwind_Reason_Code end_walk(struct _Unwind_Context *frame, void *argument)
{
    (void)frame, (void)argument;
    return _URC_END_OF_STACK;
}

tn_status tn_plugin_watch_crashes(tn_error *err)
{
    tn_status status = TN_OK;
    pthread_mutex_lock(&lock);
    if (!tni_faults_are_told()) {
        if (find_code((uintptr_t)&tell, &own)) {
            _Unwind_Backtrace(end_walk, NULL);   // what it loads on first use is there then
            give_stack();
            status = tni_faults_tell(tell, err);
        } else {
            status = tni_fail(err, TN_E_INTERNAL, "the loader does not know libtenon's own code");
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}
