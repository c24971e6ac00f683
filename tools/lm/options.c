// options.c: see options.h.
#include "options.h"

#include <inttypes.h>
#include <string.h>

#include "error.h"

enum { LARGEST_OPTIONS = 4096, UNIT = 8 };   // UNIT: all options are a multiple of it

tn_status tlm_take_options(void *to, uint32_t to_bytes, uint32_t first_bytes, const void *options,
                           const char *what, tn_error *err)
{
    uint32_t size = to_bytes;
    memset(to, 0, to_bytes);
    memcpy(to, &size, sizeof size);
    if (!options)
        return TN_OK;
    memcpy(&size, options, sizeof size);
    if (size < first_bytes || size > LARGEST_OPTIONS || size % UNIT)
        return tlm_fail(err, TN_E_ARG,
                        "%s: the size of the options is %" PRIu32 ", sizeof is expected", what,
                        size);
    uint32_t both = size < to_bytes ? size : to_bytes;
    memcpy((char *)to + sizeof size, (const char *)options + sizeof size, both - sizeof size);
    for (uint32_t i = to_bytes; i < size; i++)
        if (((const char *)options)[i])
            return tlm_fail(err, TN_E_UNSUPPORTED,
                            "%s: the options have fields set that this release does not know",
                            what);
    return TN_OK;
}

tn_status tlm_need_zero(uint32_t field, const char *name, const char *what, tn_error *err)
{
    return field
               ? tlm_fail(err, TN_E_ARG, "%s: %s is %" PRIu32 ", 0 is expected", what, name, field)
               : TN_OK;
}
