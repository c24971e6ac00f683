// json.h: JSON objects of the subcommands on stdout.
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <jansson.h>
#include <stdbool.h>

// From here on it is known whether an object lacks something for want of memory.
void cli_json_begin(void);

bool cli_json_is_short(void);

// The object as one line on stdout; released. CLI_OK, or the exit code after a line: there was no
// memory for all of it (what: "the list of devices"), or it has a text that is not UTF-8.
int cli_json_print(json_t *root, const char *what);

#endif
