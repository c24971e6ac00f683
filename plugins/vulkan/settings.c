// settings.c: what the user asked for.
#include "vulkan.h"

#include <stdlib.h>

static const char *setting(const tnp_host *host, const char *key)
{
    return host->setting(host->context, key);
}

static tnp_status read_switch(const tnp_host *host, const char *key, bool *out, tnp_error *err)
{
    const char *value = setting(host, key);
    if (!value)
        return TNP_OK;
    *out = strcmp(value, "on") == 0;
    if (!*out && strcmp(value, "off") != 0)
        return tnh_fail(err, TNP_E_ARG, "setting %s=%.80s: must be on or off", key, value);
    return TNP_OK;
}

static tnp_status read_number(const tnp_host *host, const char *key, uint64_t most, uint64_t *out,
                              tnp_error *err)
{
    const char *value = setting(host, key);
    char *end;
    if (!value)
        return TNP_OK;
    *out = strtoull(value, &end, 10);
    if (value[0] >= '0' && value[0] <= '9' && *end == 0 && *out <= most)
        return TNP_OK;
    return tnh_fail(err, TNP_E_ARG, "setting %s=%.80s: must be a number from 0 to %llu", key, value,
                    (unsigned long long)most);
}

tnp_status vulkan_read_options(const tnp_host *host, vulkan_options *out, tnp_error *err)
{
    uint64_t longest_ms = 100;
    *out = (vulkan_options){ .fuse = true, .subgroups = true, .small_storage = true, .map = true };
    tnp_status status = read_switch(host, "fuse", &out->fuse, err);
    if (status == TNP_OK)
        status = read_switch(host, "subgroups", &out->subgroups, err);
    if (status == TNP_OK)
        status = read_switch(host, "small_storage", &out->small_storage, err);
    if (status == TNP_OK)
        status = read_switch(host, "map", &out->map, err);
    if (status == TNP_OK)
        status = read_switch(host, "import", &out->import_host, err);
    out->is_import_set = setting(host, "import") != NULL;
    if (status == TNP_OK)
        status = read_switch(host, "validate", &out->validate, err);
    if (status == TNP_OK)
        status = read_number(host, "longest_submit_ms", 60000, &longest_ms, err);
    out->longest_submit_ns = longest_ms * 1000000u;
    out->is_longest_set = setting(host, "longest_submit_ms") != NULL;
    return status;
}
