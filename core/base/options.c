// options.c: see options.h.
#include "base/options.h"

#include <stdbool.h>

#include "base/error.h"

enum { LARGEST_BYTES = 4096 };

static bool is_size(uint32_t size)
{
    return size >= sizeof size && size <= LARGEST_BYTES;
}

tn_status tni_check_size(const void *out, const char *what, const char *name, tn_error *err)
{
    uint32_t size = sizeof size;
    if (out)
        memcpy(&size, out, sizeof size);
    return is_size(size) ? TN_OK
                         : tni_fail(err, TN_E_ARG, "%s: the size of %s is %u, sizeof is expected",
                                    what, name, size);
}

tn_status tni_take_struct(void *to, uint32_t known, const void *given, const char *what,
                          const char *name, tn_error *err)
{
    uint32_t size = known;
    memset(to, 0, known);
    memcpy(to, &size, sizeof size);
    if (!given)
        return TN_OK;
    tn_status status = tni_check_size(given, what, name, err);
    if (status != TN_OK)
        return status;
    memcpy(&size, given, sizeof size);
    if (!tnp_take(to, known, given, size))
        return tni_fail(err, TN_E_UNSUPPORTED,
                        "%s: fields of %s are set that this release does not know", what, name);
    return TN_OK;
}

tn_status tni_take_options(void *to, uint32_t known, const void *given, const char *what,
                           tn_error *err)
{
    return tni_take_struct(to, known, given, what, "its options", err);
}

void tni_give_struct(void *to, const void *from, uint32_t known)
{
    uint32_t size;
    if (!to)
        return;
    memcpy(&size, to, sizeof size);
    if (!is_size(size))
        return;
    tnp_give(to, size, from, known);
    if (size > known)
        memset((char *)to + known, 0, size - known);
}
