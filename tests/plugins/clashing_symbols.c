// Exports names that others use: of the C library, of libtenon, of a well-known library. Built
// twice; each copy must find its own cJSON_Parse, and nobody else may find any of these.
#include <stddef.h>
#include <tenon/plugin.h>

#define EXPORTED __attribute__((visibility("default")))
EXPORTED const char *cJSON_Parse(const char *text);
EXPORTED void tni_log_line(void);
EXPORTED void tn_runtime_destroy(void *runtime);
EXPORTED int usleep(unsigned microseconds);

const char *cJSON_Parse(const char *text)
{
    (void)text;
    return STUB_NAME;
}
void tni_log_line(void) { __builtin_trap(); }
void tn_runtime_destroy(void *runtime) { (void)runtime, __builtin_trap(); }
int usleep(unsigned microseconds) { (void)microseconds, __builtin_trap(); }

#define STUB_DEVICE_INFO describe_by_clash
static tnp_status describe_by_clash(tnp_instance *instance, uint32_t index, tnp_device_info *info,
                                    tnp_error *err)
{
    (void)instance, (void)err;
    tnp_device_info own = {
        .size = sizeof own, .id = index, .name = "Clash", .kind = TNP_KIND_SOFTWARE
    };
    const char *text = cJSON_Parse("");
    memcpy(own.driver, text, strlen(text) + 1);
    TNP_GIVE(info, &own);
    return TNP_OK;
}
#include "stub.h"
