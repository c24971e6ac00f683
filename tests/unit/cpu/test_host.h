// test_host.h: a small host for tests of a plugin: it counts and fails allocations, gives settings,
// keeps spans, and runs teams of real threads.
#ifndef TEST_HOST_H
#define TEST_HOST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <tenon/plugin.h>

#define TEST_HOST_SPANS 64
#define TEST_HOST_SETTINGS 8
#define TEST_HOST_WORKERS 16

typedef struct test_allocation test_allocation;

typedef struct test_host {
    tnp_host table;                   // for tnp_plugin.start
    uint32_t workers;
    const char *keys[TEST_HOST_SETTINGS], *values[TEST_HOST_SETTINGS];
    pthread_mutex_t lock;             // guards what follows
    test_allocation *allocations;     // given and not freed
    uint32_t live;                    // how many
    uint32_t given;                   // all that were ever given
    uint32_t fail_at;   // the allocation with this number gets NULL, counted from 1; 0 = none
    uint32_t span_count;
    tnp_span spans[TEST_HOST_SPANS];
    pthread_mutex_t team_lock;        // teams take turns
    pthread_mutex_t trace_gate;       // held by a test: trace hangs until it is released
    atomic_uint in_trace;             // calls of trace that have begun
} test_host;

void test_host_init(test_host *host, uint32_t workers);
void test_host_finish(test_host *host);
void test_host_set(test_host *host, const char *key, const char *value);
uint32_t test_host_given(test_host *host);
uint32_t test_host_live(test_host *host);

// Loads a plugin for the rest of the process; NULL when that fails, with a line on stderr.
const tnp_plugin *test_plugin_load(const char *path);

#endif
