// options.c: see options.h.
#include "base/options.h"

#include <stdbool.h>

#include "base/error.h"

enum { LARGEST_BYTES = 4096, UNIT = 8 };   // UNIT: every such struct is a multiple of it

static bool is_size(uint32_t size, uint32_t least)
{
    return size >= least && size <= LARGEST_BYTES && size % UNIT == 0;
}

static tn_status check_size(uint32_t size, uint32_t least, const char *what, const char *name,
                            tn_error *err)
{
    return is_size(size, least)
               ? TN_OK
               : tni_fail(err, TN_E_ARG, "%s: the size of %s is %u, sizeof is expected", what, name,
                          size);
}

tn_status tni_check_size(const void *out, const char *what, const char *name, tn_error *err)
{
    uint32_t size = UNIT;
    if (out)
        memcpy(&size, out, sizeof size);
    return check_size(size, UNIT, what, name, err);
}

tn_status tni_take_struct(void *to, uint32_t known, uint32_t first, const void *given,
                          const char *what, const char *name, tn_error *err)
{
    uint32_t size = known;
    memset(to, 0, known);
    memcpy(to, &size, sizeof size);
    if (!given)
        return TN_OK;
    memcpy(&size, given, sizeof size);
    tn_status status = check_size(size, first, what, name, err);
    if (status != TN_OK)
        return status;
    if (!tnp_take(to, known, given, size))
        return tni_fail(err, TN_E_UNSUPPORTED,
                        "%s: fields of %s are set that this release does not know", what, name);
    return TN_OK;
}

tn_status tni_take_options(void *to, uint32_t known, uint32_t first, const void *given,
                           const char *what, tn_error *err)
{
    return tni_take_struct(to, known, first, given, what, "its options", err);
}

void tni_give_struct(void *to, const void *from, uint32_t known)
{
    uint32_t size;
    if (!to)
        return;
    memcpy(&size, to, sizeof size);
    if (!is_size(size, UNIT))
        return;
    tnp_give(to, size, from, known);
    if (size > known)
        memset((char *)to + known, 0, size - known);
}
