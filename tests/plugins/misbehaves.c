// A plugin that does one thing that no plugin may, at one of its calls: FAULT at PLACE, both of the
// lists below. Where TENON_TEST_TRACE names a file, a byte is added to it each time that this file
// is loaded.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <tenon/plugin.h>
#include <unistd.h>

enum { LOAD = 1, QUERY, START, INFO, CLOSE, STOP, UNLOAD, NOWHERE };
enum { CRASH = 1, DIVIDE, LEAVE, QUIT, HANG, PRINT, BABBLE, PART };

static volatile int zero;

static void misbehave(int place)
{
    if (place != PLACE)
        return;
    switch (FAULT) {
    case CRASH:
        fputs("about to crash\n", stderr);
        *(volatile int *)(size_t)zero = 1;
        break;
    case DIVIDE:
        raise(SIGFPE);
        break;
    case LEAVE:
        exit(3);
    case QUIT:
        _exit(0);
    case HANG:
        signal(SIGALRM, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
        for (;;)
            pause();
    case PRINT:
        printf("hello\nworld");   // no line end: it leaves the buffer late
        break;
    case BABBLE:   // into whatever files there are
        for (int file = 3; file < 16; file++)
            if (write(file, "devices 7\n", 10) < 0)
                continue;
        break;
    case PART:   // a process that goes on, with all files of this one
        if (fork() == 0)
            for (;;)
                pause();
        break;
    default:
        break;
    }
}

__attribute__((constructor)) static void at_load(void)
{
    const char *trace = getenv("TENON_TEST_TRACE");
    int file = trace ? open(trace, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (file >= 0 && write(file, "x", 1) == 1)
        close(file);
    misbehave(LOAD);
}

__attribute__((destructor)) static void at_unload(void)
{
    misbehave(UNLOAD);
}

#define STUB_OWN_QUERY
#define STUB_START       start
#define STUB_STOP        stop
#define STUB_CLOSE       close_device
#define STUB_DEVICE_INFO info

static tnp_status start(const tnp_host *host, tnp_instance **out, tnp_error *err)
{
    static char object;
    (void)host, (void)err;
    *out = (tnp_instance *)&object;
    misbehave(START);
    return TNP_OK;
}

static void close_device(tnp_device *device)
{
    (void)device;
    misbehave(CLOSE);
}

static void stop(tnp_instance *instance)
{
    (void)instance;
    misbehave(STOP);
}

static void set_uuid(tnp_device_info *info);

static tnp_status info(tnp_instance *instance, uint32_t index, tnp_device_info *out, tnp_error *err)
{
    (void)instance, (void)err;
    tnp_device_info own = { .size = sizeof own,
                            .id = index,
                            .name = "Misbehaver",
                            .driver = "1.0",
                            .kind = TNP_KIND_GPU,
                            .memory_count = 1,
                            .update_bytes = 256 };
    set_uuid(&own);
    const char *called = getenv("TENON_TEST_NAME");   // a file with the device's name
    FILE *file = called ? fopen(called, "r") : NULL;
    if (file && !fgets(own.name, sizeof own.name, file))
        own.name[0] = 0;
    if (file)
        fclose(file);
    misbehave(INFO);
    TNP_GIVE(out, &own);
    return TNP_OK;
}

#include "stub.h"

// No other plugin's, also where a test has written another name into the file.
static void set_uuid(tnp_device_info *info)
{
    memcpy(info->uuid, tnp_note_.manifest.name, sizeof info->uuid);
}

const tnp_plugin *tenon_plugin_query(uint32_t host_abi, tnp_error *err)
{
    (void)host_abi, (void)err;
    misbehave(QUERY);
    return &stub_table;
}
