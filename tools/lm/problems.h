// problems.h: a model looked at as a whole: what is wrong with it is listed in place of ending the
// reading.
#ifndef TLM_PROBLEMS_H
#define TLM_PROBLEMS_H

#include <tenon/lm.h>

typedef struct tlm_problems {
    const tn_sink *sink;   // gets each problem in one write
    uint32_t count;
} tlm_problems;

// TN_E_FILE with that text; where problems are listed (not NULL) it is one of them, and TN_OK.
tn_status tlm_complain(tlm_problems *problems, tn_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
