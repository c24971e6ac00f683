#include "base/options.h"

#include "base/error.h"

enum { LARGEST_BYTES = 4096 };

tn_status tni_take_options(void *to, uint32_t known, const void *given, const char *what,
                           tn_error *err)
{
    uint32_t size = known;
    memset(to, 0, known);
    memcpy(to, &size, sizeof size);
    if (!given)
        return TN_OK;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size || size > LARGEST_BYTES)
        return tni_fail(err, TN_E_ARG, "%s: the size of its options is %u, sizeof is expected",
                        what, size);
    if (!tnp_take(to, known, given, size))
        return tni_fail(err, TN_E_UNSUPPORTED,
                        "%s: its options have fields set that this release does not know", what);
    return TN_OK;
}

void tni_give_struct(void *to, const void *from, uint32_t known)
{
    uint32_t size;
    if (!to)
        return;
    memcpy(&size, to, sizeof size);
    tnp_give(to, size, from, known);
    if (size > known)
        memset((char *)to + known, 0, size - known);
}
