#include "refused.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

void check_refused(const char *call, const char *argument, tn_status status, tn_error *err)
{
    char want[100];
    snprintf(want, sizeof want, "%s: %s is NULL", call, argument);
    if (status != TN_E_ARG || strcmp(err->text, want) != 0)
        fail_msg("status %d: \"%s\", not \"%s\"", (int)status, err->text, want);
    *err = (tn_error){ 0 };
}
