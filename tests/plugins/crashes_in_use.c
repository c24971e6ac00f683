// crashes_in_use.c: the CPU plugin under another name, as a GPU that is cheaper than any CPU, so
// that work comes here. TENON_TEST_CRASH tells what it does when work is submitted; without it, it
// computes.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <tenon/plugin.h>
#include <unistd.h>

#include "wrapped_cpu.h"

#if defined(__x86_64__)
enum { MACHINE = 62 };
#else
enum { MACHINE = 183 };
#endif
TNP_MANIFEST(MACHINE, TNP_OS_LINUX, 0, TNP_ABI(1, 0), "crasher", "1.0", "Tenon tests",
             "Apache-2.0");

static const tnp_plugin *cpu;
static const tnp_host *host;
static tnp_plugin table;
static volatile uintptr_t nowhere = 64;   // never mapped

static void write_nowhere(void)
{
    *(volatile int *)nowhere = 1;
}

static void *write_on_a_thread(void *unused)
{
    (void)unused;
    write_nowhere();
    return NULL;
}

static void write_on_many_threads(void)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    int count = 0;
    while (count < THREADS && pthread_create(&threads[count], NULL, write_on_a_thread, NULL) == 0)
        count++;
    while (count)
        pthread_join(threads[--count], NULL);
}

static void write_in_the_c_library(void)
{
    memset((void *)nowhere, 0, nowhere);
}

static void call_nowhere(void)
{
    void (*call)(void);
    uintptr_t address = nowhere;
    memcpy(&call, &address, sizeof call);
    call();
}

static volatile int depth;

__attribute__((noinline)) static int run_over(void)
{
    char room[4096];
    room[0] = (char)depth++;
    return depth < 0 ? room[0] : run_over() + ((volatile char *)room)[0];
}

#if defined(__x86_64__)
// Who looks for the caller of its caller reads beyond what may be read.
static void abort_on_a_broken_stack(void)
{
    enum { BYTES = 1 << 16 };
    char *stack = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack + BYTES, BYTES, PROT_NONE) != 0)
        return;
    uintptr_t caller = (uintptr_t)abort + 32;
    char *top = stack + BYTES - sizeof caller;
    memcpy(top, &caller, sizeof caller);
    __asm__ volatile("mov %0, %%rsp\n\tjmp *%1" : : "r"(top), "r"(abort));
}
#endif

static void crash(const char *how)
{
    pthread_t thread;
    if (strcmp(how, "write") == 0)
        write_nowhere();
    else if (strcmp(how, "thread") == 0 &&
             pthread_create(&thread, NULL, write_on_a_thread, NULL) == 0)
        pthread_join(thread, NULL);
    else if (strcmp(how, "threads") == 0)
        write_on_many_threads();
    else if (strcmp(how, "library") == 0)
        write_in_the_c_library();
    else if (strcmp(how, "call") == 0)
        call_nowhere();
    else if (strcmp(how, "stack") == 0)
        depth = run_over();
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "divide") == 0)
        raise(SIGFPE);
    else if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    else if (strcmp(how, "sent") == 0)
        kill(getpid(), SIGSEGV);
    else if (strcmp(how, "log") == 0)
        host->log(host->context, 1, "crash now");
    else if (strcmp(how, "alloc") == 0)
        host->free(host->context, host->alloc(host->context, 54321, 64));
#if defined(__x86_64__)
    else if (strcmp(how, "broken") == 0)
        abort_on_a_broken_stack();
#endif
}

static tnp_status submit(tnp_queue *queue, const tnp_submit *const *submits, uint32_t count,
                         tnp_error *err)
{
    const char *how = getenv("TENON_TEST_CRASH");
    if (how)
        crash(how);
    return cpu->queue_submit(queue, submits, count, err);
}

static tnp_status start(const tnp_host *given, tnp_instance **out, tnp_error *err)
{
    host = given;
    return cpu->start(given, out, err);
}

static tnp_status device_info(tnp_instance *instance, uint32_t index, tnp_device_info *out,
                              tnp_error *err)
{
    tnp_device_info info = { .size = sizeof info };
    tnp_status status = cpu->device_info(instance, index, &info, err);
    info.kind = TNP_KIND_GPU;
    snprintf(info.name, sizeof info.name, "A Crasher");
    if (status == TNP_OK)
        TNP_GIVE(out, &info);
    return status;
}

static void take(void *context, const tnp_claim *claim)
{
    const tnp_claim_sink *sink = context;
    tnp_claim cheap = *claim;
    cheap.cost_ns *= 1e-3;
    sink->take(sink->context, &cheap);
}

static void refuse(void *context, uint32_t node, const char *reason)
{
    const tnp_claim_sink *sink = context;
    sink->refuse(sink->context, node, reason);
}

static tnp_status claim(tnp_device *device, const tnp_slice *slice, const tnp_claim_sink *sink,
                        tnp_error *err)
{
    tnp_claim_sink own = { sizeof own, 0, (void *)(uintptr_t)sink, take, refuse };
    return cpu->claim(device, slice, &own, err);
}

const tnp_plugin *TNP_QUERY(uint32_t host_abi, tnp_error *err)
{
    cpu = wrapped_cpu(TN_CPU_PLUGIN, host_abi, err);
    if (!cpu)
        return NULL;
    table = *cpu;
    table.note = &tnp_note_;
    table.start = start;
    table.device_info = device_info;
    table.claim = claim;
    table.queue_submit = submit;
    return &table;
}
