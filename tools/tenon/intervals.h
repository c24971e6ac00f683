// intervals.h: files of intervals, as `tenon plan --intervals` takes them.
//
//   id,lower,upper,size        the columns, in any order, each once; id may be absent
//   b1,0,3,1024                live in [0, 3), 1,024 bytes
//   b2,-2,1,64
//
// id is any text without a comma and is not looked at; lower < upper are whole numbers that fit
// into 64 bits, size is one from 0 on, and the sizes together are below 2^63. Blanks around a
// field, empty lines, CRLF and a byte order mark are passed over. Quotes are not understood.
#ifndef CLI_INTERVALS_H
#define CLI_INTERVALS_H

#include <stddef.h>
#include <tenon/plan.h>

typedef struct cli_intervals {
    tn_plan_interval *items;   // in the file's order
    uint32_t count;
} cli_intervals;

// text: bytes of the file `name`, which stands with the line in front of what is wrong. Memory is
// taken for the intervals alone, at most some 10 bytes for each of the file.
// Errors, after which there is nothing to free: TN_E_FILE, TN_E_HOST_MEMORY.
tn_status cli_intervals_read(const char *name, const char *text, size_t bytes,
                             cli_intervals *out_intervals, tn_error *err);
void cli_intervals_free(cli_intervals *intervals);   // also of a zeroed struct

#endif
