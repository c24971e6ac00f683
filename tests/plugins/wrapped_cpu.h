// wrapped_cpu.h: the CPU plugin inside another, which has that do what it does not change itself.
#ifndef TEST_WRAPPED_CPU_H
#define TEST_WRAPPED_CPU_H

#include <dlfcn.h>
#include <string.h>
#include <tenon/plugin.h>

// Its table; NULL = it cannot be loaded, or refuses the host. It stays loaded.
static inline const tnp_plugin *wrapped_cpu(const char *path, uint32_t host_abi, tnp_error *err)
{
    void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = file ? dlsym(file, "tenon_plugin_query") : NULL;
    tnp_query query;
    memcpy(&query, &symbol, sizeof query);
    return query ? query(host_abi, err) : NULL;
}

#endif
