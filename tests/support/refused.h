// refused.h: a call with a NULL that it must not have.
#ifndef TEST_REFUSED_H
#define TEST_REFUSED_H

#include <tenon/status.h>

// Fails the test (CMocka) unless status is TN_E_ARG and *err says "CALL: ARGUMENT is NULL"; *err is
// then empty again.
void check_refused(const char *call, const char *argument, tn_status status, tn_error *err);

// The call without its last argument, which is the address of the variable `err`.
#define REFUSED(argument, call, ...) check_refused(#call, argument, call(__VA_ARGS__, &err), &err)

#endif
