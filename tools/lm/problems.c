// problems.c: what is wrong with a model ends the reading, or is listed.
#include "problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

tn_status tlm_complain(tlm_problems *problems, tn_error *err, const char *format, ...)
{
    tn_error problem;
    va_list arguments;
    va_start(arguments, format);
    char text[sizeof problem.text];
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!problems)
        return tn_error_set(err, TN_E_FILE, text);
    tn_error_set(&problem, TN_E_FILE, text);
    problems->sink->write(problems->sink->context, problem.text, strlen(problem.text));
    problems->count++;
    return TN_OK;
}
