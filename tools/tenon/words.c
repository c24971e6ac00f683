// words.c: the nearest word of a list; lists of ids.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { LONGEST = 32 };

// Levenshtein distance of two words of at most LONGEST letters. Source: Levenshtein 1966, by one
// row of the table.
static size_t distance(const char *a, const char *b)
{
    size_t row[LONGEST + 1], n = strlen(b);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            row[j] = change < least ? change : least;
        }
    }
    return row[n];
}

const char *cli_nearest(const char *given, const char *const *words, uint32_t count)
{
    const char *nearest = NULL;
    size_t best = strlen(given) / 2 + 1;   // more than half of it wrong is no typing error
    if (strlen(given) > LONGEST)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        size_t d = strlen(words[i]) <= LONGEST ? distance(given, words[i]) : SIZE_MAX;
        if (d < best) {
            best = d;
            nearest = words[i];
        }
    }
    return nearest;
}

bool cli_parse_ids(const char *text, int32_t **out_ids, uint32_t *out_count)
{
    uint32_t most = 1;
    for (const char *at = text; *at; at++)
        most += *at == ',';
    int32_t *ids = calloc(most, sizeof *ids);
    if (!ids)
        return cli_fail(CLI_MEMORY, "not enough memory for %u ids", most), false;
    uint32_t count = 0;
    for (const char *at = text;;) {
        char *end;
        errno = 0;
        long id = strtol(at, &end, 10);
        if (end == at || (*end && *end != ',') || errno || id < 0 || id > INT32_MAX) {
            free(ids);
            return cli_fail(CLI_USAGE,
                            "--tokens: token ids separated by commas are expected, not '%.40s'",
                            at),
                   false;
        }
        ids[count++] = (int32_t)id;
        if (!*end)
            break;
        at = end + 1;
    }
    *out_ids = ids;
    *out_count = count;
    return true;
}
