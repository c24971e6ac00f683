// Tries every service of the host when it starts. Its device is called "served", or tells the first
// that failed.
#include <stdatomic.h>
#include <tenon/plugin.h>

#define STUB_NAME "services"
#define STUB_START try_services
#define STUB_STOP stop_services
#define STUB_DEVICE_INFO tell_result

typedef struct services_instance {
    const tnp_host *host;
    const char *failed;
} services_instance;

typedef struct meeting {
    const tnp_host *host;
    atomic_uint arrived, wrong;
} meeting;

static void meet(void *argument, tnp_team *team, uint32_t worker, uint32_t workers)
{
    meeting *m = argument;
    for (uint32_t round = 1; round <= 100; round++) {
        atomic_fetch_add(&m->arrived, 1);
        m->host->team_barrier(team, worker);
        if (atomic_load(&m->arrived) != round * workers)
            atomic_fetch_add(&m->wrong, 1);
        m->host->team_barrier(team, worker);
    }
}

static int team_meets(const tnp_host *host)
{
    meeting m = { .host = host };
    host->team(host->context, 4, meet, &m);
    return m.arrived >= 100 && m.arrived <= 400 && m.arrived % 100 == 0 && m.wrong == 0;
}

static int allocates(const tnp_host *host)
{
    char *bytes = host->alloc(host->context, 100, 4096);
    int is_good = bytes && (uintptr_t)bytes % 4096 == 0;
    host->free(host->context, bytes);
    host->free(host->context, NULL);
    return is_good && !host->alloc(host->context, 100, 48) &&
           !host->alloc(host->context, UINT64_MAX - 8, 16);
}

static int has_settings(const tnp_host *host)
{
    const char *word = host->setting(host->context, "word");
    return word && strcmp(word, "Tür") == 0 && !host->setting(host->context, "absent") &&
           !host->setting(host->context, "disable");
}

static const char *find_failure(const tnp_host *host)
{
    tnp_span span = { .size = sizeof span };
    char byte;
    uint64_t begin = host->now_ns(host->context);
    host->log(host->context, 2, "two\nlines");
    host->trace(host->context, NULL, &span);
    host->cache_put(host->context, "key", 3, "data", 4);
    return host->size != sizeof *host                               ? "size"
           : !allocates(host)                                       ? "alloc"
           : !has_settings(host)                                    ? "setting"
           : host->worker_count(host->context) < 1                  ? "worker_count"
           : !team_meets(host)                                      ? "team"
           : host->cache_get(host->context, "key", 3, &byte, 1) > 4 ? "cache_get"
           : host->extension(host->context, "tenon.nothing/1")      ? "extension"
           : host->now_ns(host->context) < begin                    ? "now_ns"
                                                                    : NULL;
}

static tnp_status try_services(const tnp_host *host, tnp_instance **out, tnp_error *err)
{
    services_instance *self = host->alloc(host->context, sizeof *self, _Alignof(services_instance));
    if (!self) {
        tnp_error said = { sizeof said, TNP_E_HOST_MEMORY, "no memory for an instance" };
        TNP_GIVE(err, &said);
        return TNP_E_HOST_MEMORY;
    }
    *self = (services_instance){ host, find_failure(host) };
    *out = (tnp_instance *)self;
    return TNP_OK;
}

static void stop_services(tnp_instance *instance)
{
    services_instance *self = (services_instance *)instance;
    self->host->free(self->host->context, self);
}

static tnp_status tell_result(tnp_instance *instance, uint32_t index, tnp_device_info *info,
                              tnp_error *err)
{
    (void)err;
    const char *failed = ((services_instance *)instance)->failed;
    tnp_device_info own = {
        .size = sizeof own, .id = index, .kind = TNP_KIND_SOFTWARE, .memory_bytes = 1 << 20
    };
    const char *name = failed ? failed : "served";
    memcpy(own.name, name, strlen(name) + 1);
    TNP_GIVE(info, &own);
    return TNP_OK;
}
#include "stub.h"
