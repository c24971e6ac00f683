// options.h: structs of the application that begin with their size.
#ifndef TLM_OPTIONS_H
#define TLM_OPTIONS_H

#include <stddef.h>

#include <tenon/status.h>

// Copies what both sides know into `to`, whose type has to_bytes; the rest of it is zero. NULL =
// all zero. A struct of an older header is understood; TN_E_UNSUPPORTED when fields of a newer one
// are set, TN_E_ARG when no header ever had the size: it was not set, is below first_bytes, or
// would cut a field in two. what: "sampler".
tn_status tlm_take_options(void *to, uint32_t to_bytes, uint32_t first_bytes, const void *options,
                           const char *what, tn_error *err);

// A field that a later release may give a meaning: TN_E_ARG with its name where it is not 0.
tn_status tlm_need_zero(uint32_t field, const char *name, const char *what, tn_error *err);

// Bytes of a struct in its first release, by the last field that it had there.
#define TLM_UP_TO(type, field) (uint32_t)(offsetof(type, field) + sizeof(((type *)0)->field))

#endif
