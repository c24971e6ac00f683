// settings.c: reads the settings.
#include "settings.h"

// Digits only, no sign, no space.
static bool read_number(const char *text, uint32_t most, uint32_t *out)
{
    uint32_t number = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        number = number * 10 + (uint32_t)(*text - '0');
        if (number > most)
            return false;
    }
    *out = number;
    return number >= 1;
}

static tnp_status read_count(const tnp_host *host, const char *key, uint32_t most, uint32_t *out,
                             tnp_error *err)
{
    const char *text = host->setting(host->context, key);
    if (text && !read_number(text, most, out))
        return cpu_error(err, TNP_E_ARG, "setting %s=%s: must be a number from 1 to %u", key, text,
                         most);
    return TNP_OK;
}

static tnp_status read_switch(const tnp_host *host, const char *key, int *out, tnp_error *err)
{
    const char *text = host->setting(host->context, key);
    if (!text)
        return TNP_OK;
    *out = strcmp(text, "on") == 0;
    if (!*out && strcmp(text, "off") != 0)
        return cpu_error(err, TNP_E_ARG, "setting %s=%s: must be on or off", key, text);
    return TNP_OK;
}

tnp_status cpu_settings_read(const tnp_host *host, cpu_settings *out, tnp_error *err)
{
    cpu_settings settings = { .devices = 1, .options = { .repack = 1, .fuse = 1 } };

    const char *activations = host->setting(host->context, "activations");
    if (activations) {
        settings.options.activations_f32 = strcmp(activations, "f32") == 0;
        if (!settings.options.activations_f32 && strcmp(activations, "q8") != 0)
            return cpu_error(err, TNP_E_ARG, "setting activations=%s: must be f32 or q8",
                             activations);
    }
    tnp_status status = read_switch(host, "repack", &settings.options.repack, err);
    if (status == TNP_OK)
        status = read_switch(host, "fuse", &settings.options.fuse, err);
    if (status == TNP_OK)
        status = read_count(host, "devices", CPU_MAX_DEVICES, &settings.devices, err);
    if (status == TNP_OK)
        status = read_count(host, "threads", 1024, &settings.threads, err);
    if (status == TNP_OK)
        *out = settings;
    return status;
}
