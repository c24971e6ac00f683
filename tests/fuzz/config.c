// tenon.ini of any bytes.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plugin/plugin_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void drop_line(void *context, int32_t level, const char *text)
{
    (void)context, (void)level, (void)text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tni_arena arena;
    tni_config config;
    tni_log log = { .write = drop_line };
    tn_error err;
    char path[64];
    int file = memfd_create("tenon.ini", 0);
    if (file < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    tni_arena_init(&arena, NULL);
    tni_config_init(&config, &arena, &log);
    if (write(file, data, size) == (ssize_t)size)
        (void)!tni_config_read(&config, path, true, &err);
    (void)tni_config_disabled_by(&config, "cpu");
    tni_config_finish(&config);
    tni_arena_finish(&arena);
    close(file);
    return 0;
}
