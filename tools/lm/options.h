// options.h: structs of the application that begin with their size.
#ifndef TLM_OPTIONS_H
#define TLM_OPTIONS_H

#include <tenon/status.h>

// Copies what both sides know into `to`, whose type has to_bytes; the rest of it is zero. NULL =
// all zero. A struct of an older header is understood; TN_E_UNSUPPORTED when fields of a newer one
// are set, TN_E_ARG when the size was not. what: "sampler".
tn_status tlm_take_options(void *to, uint32_t to_bytes, const void *options, const char *what,
                           tn_error *err);

#endif
