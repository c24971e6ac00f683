// Devices that describe themselves badly: an unterminated name, one that is not UTF-8, one with
// controls, an unknown kind, an id given twice, a write beyond the struct, a number that is none, a
// failure; and a good one.
#include <math.h>
#include <tenon/plugin.h>

#define STUB_NAME "bad_names"
#define STUB_DEVICE_COUNT count_eight
#define STUB_DEVICE_INFO describe_badly
enum { UNTERMINATED, NOT_UTF8, CONTROLS, UNKNOWN_KIND, SAME_ID, TOO_LONG, FAILS, GOOD, COUNT };

static tnp_status count_eight(tnp_instance *instance, uint32_t *count, tnp_error *err)
{
    (void)instance, (void)err;
    *count = COUNT;
    return TNP_OK;
}

static tnp_status describe_badly(tnp_instance *instance, uint32_t index, tnp_device_info *info,
                                 tnp_error *err)
{
    (void)instance;
    tnp_device_info own = { .size = sizeof own,
                            .id = index == SAME_ID ? 0 : index,
                            .name = "good-one",
                            .kind = index == UNKNOWN_KIND ? 77 : TNP_KIND_ACCELERATOR,
                            .flops_per_s = (double)NAN };
    if (index == UNTERMINATED)
        memset(own.name, 'x', sizeof own.name);
    if (index == NOT_UTF8)
        memcpy(own.name, "K\xfcrbis", 7);
    if (index == CONTROLS)
        memcpy(own.name, "a\tb\x1b[31mc", 10);
    if (index == FAILS) {
        err->text[0] = 0;
        return TNP_E_DEVICE_LOST;
    }
    TNP_GIVE(info, &own);
    if (index == TOO_LONG)
        memset(info + 1, 0x5a, 16);
    return TNP_OK;
}
#include "stub.h"
