// options.h: structs of the application that begin with their size.
#ifndef TNI_OPTIONS_H
#define TNI_OPTIONS_H

#include <stddef.h>

#include <tenon/plugin.h>
#include <tenon/status.h>

// Bytes of a struct in its first release, by the last field that it had there.
#define TNI_UP_TO(type, field) (uint32_t)(offsetof(type, field) + sizeof(((type *)0)->field))

// Copies what both sides know into `to`, whose type has `known` bytes; the rest of it is zero. NULL
// = all zero. An application built against an older header is understood, one that sets fields of a
// newer one is refused: TN_E_UNSUPPORTED; TN_E_ARG when no header ever had the size: it was not
// set, is below `first`, or would cut a field in two. what: the call.
tn_status tni_take_options(void *to, uint32_t known, uint32_t first, const void *given,
                           const char *what, tn_error *err);

// The same of any other struct: name is that of the argument.
tn_status tni_take_struct(void *to, uint32_t known, uint32_t first, const void *given,
                          const char *what, const char *name, tn_error *err);

// TN_E_ARG when no header ever had the size of a struct that is to be filled. out NULL is fine.
tn_status tni_check_size(const void *out, const char *what, const char *name, tn_error *err);

// The other way round: fills a struct of the caller, whose size it has set, as far as both know it;
// what only the caller's header knows becomes zero. to NULL is fine, and where the size was not set
// nothing is filled.
void tni_give_struct(void *to, const void *from, uint32_t known);

#endif
