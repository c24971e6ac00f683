// progress.c: see progress.h. A thread writes the line, since one call of the model may take long.
#include "progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

enum { FIRST_MS = 1000, STEP_MS = 200 };

struct cli_progress {
    const char *what, *unit;
    uint32_t total;
    _Atomic uint32_t done;
    double begin_ms;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool is_ended;
};

static struct timespec later(struct timespec time, long ms)
{
    time.tv_nsec += ms * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void *show(void *context)
{
    cli_progress *p = context;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until = later(until, FIRST_MS);
    pthread_mutex_lock(&p->lock);
    while (!p->is_ended) {
        if (pthread_cond_timedwait(&p->ended, &p->lock, &until) == 0)
            continue;
        cli_show("%s: %" PRIu32 " of %" PRIu32 " %s, %.0f s", p->what, p->done, p->total, p->unit,
                 (cli_now_ms() - p->begin_ms) / 1e3);
        until = later(until, STEP_MS);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

cli_progress *cli_progress_begin(const char *what, const char *unit, uint32_t total)
{
    cli_progress *p = isatty(STDERR_FILENO) ? calloc(1, sizeof *p) : NULL;
    pthread_condattr_t monotonic;
    if (!p)
        return NULL;
    *p = (cli_progress){ .what = what, .unit = unit, .total = total, .begin_ms = cli_now_ms() };
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&p->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&p->lock, NULL);
    if (pthread_create(&p->thread, NULL, show, p) == 0)
        return p;
    pthread_cond_destroy(&p->ended);
    pthread_mutex_destroy(&p->lock);
    free(p);
    return NULL;
}

void cli_progress_at(cli_progress *progress, uint32_t done)
{
    if (progress)
        progress->done = done;
}

void cli_progress_end(cli_progress *progress)
{
    if (!progress)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->is_ended = true;
    pthread_cond_signal(&progress->ended);
    pthread_mutex_unlock(&progress->lock);
    pthread_join(progress->thread, NULL);
    pthread_cond_destroy(&progress->ended);
    pthread_mutex_destroy(&progress->lock);
    free(progress);
    cli_show("%s", "");
}
