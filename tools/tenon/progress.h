// progress.h: a line on the terminal that tells how far long work is.
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdint.h>

typedef struct cli_progress cli_progress;

// From a second on the line is shown and goes on by itself, "prompt: 1024 of 4096 tokens, 3 s"; the
// work itself is on the caller's thread. NULL where nobody would see it (stderr is no terminal), or
// there is no thread or memory for it: the calls below take that.
cli_progress *cli_progress_begin(const char *what, const char *unit, uint32_t total);
void cli_progress_at(cli_progress *progress, uint32_t done);
void cli_progress_end(cli_progress *progress);   // wipes the line

#endif
