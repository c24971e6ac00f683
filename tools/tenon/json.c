// json.c: see json.h.
#include "json.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli.h"

static bool is_short;

// What is added to an object and could not be made is left out without a word; so each allocation
// is watched.
static void *allocate(size_t bytes)
{
    void *made = malloc(bytes);
    is_short |= !made;
    return made;
}

void cli_json_begin(void)
{
    json_set_alloc_funcs(allocate, free);
}

bool cli_json_is_short(void)
{
    return is_short;
}

int cli_json_print(json_t *root, const char *what)
{
    cli_catch_interrupt();
    bool is_whole = root && !is_short &&
                    json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0;
    json_decref(root);
    if (is_whole)
        putchar('\n');
    if (is_whole || ferror(stdout))
        return cli_end_output();
    return is_short ? cli_fail(CLI_MEMORY, "not enough memory for %s", what)
                    : cli_fail(CLI_FAILED, "%s cannot be printed: a text in it is not UTF-8", what);
}
