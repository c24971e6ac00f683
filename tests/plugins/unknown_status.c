// Answers a status that the contract does not know, and fills the text to its last byte.
#include <tenon/plugin.h>

#define STUB_NAME "unknown_status"
#define STUB_DEVICE_COUNT fail_count
static tnp_status fail_count(tnp_instance *instance, uint32_t *count, tnp_error *err)
{
    (void)instance, (void)count;
    memset(err->text, 'x', sizeof err->text);
    return 4711;
}
#include "stub.h"
