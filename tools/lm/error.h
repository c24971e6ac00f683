// error.h: filling a tn_error.
#ifndef TLM_ERROR_H
#define TLM_ERROR_H

#include <tenon/status.h>

// Writes the sentence and answers `status`, so that a failing path is one line. err may be NULL. A
// text that is too long is cut at a character's border.
tn_status tlm_fail(tn_error *err, tn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// TN_E_ARG and "<call>: <argument> is NULL" for the first pointer that is NULL, else TN_OK. After
// call, names of arguments and pointers in turns; NULL ends them. call: that of the public call.
tn_status tlm_need(tn_error *err, const char *call, ...) __attribute__((sentinel));

// "not enough memory for <what>": TN_E_HOST_MEMORY.
tn_status tlm_fail_memory(tn_error *err, const char *what);

// Clears what was written on the way, say of a key that may be absent: TN_OK.
tn_status tlm_succeed(tn_error *err);

#endif
