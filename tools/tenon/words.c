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

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

bool cli_parse_numbers(const char *option, const char *what, const char *text, int32_t least,
                       int32_t most, int32_t **out_numbers, uint32_t *out_count)
{
    int32_t *numbers = calloc(strlen(text) / 2 + 1, sizeof *numbers);
    if (!numbers)
        return cli_fail(CLI_MEMORY, "not enough memory for the numbers of --%s", option), false;
    uint32_t count = 0;
    const char *at = skip_space(text);
    for (bool is_more = true; is_more;) {
        char *end;
        errno = 0;
        long number = strtol(at, &end, 10);
        const char *next = skip_space(end);
        bool has_comma = *next == ',';
        if (end == at || (*next && next == end && !has_comma) || errno || number < least ||
            number > most) {
            free(numbers);
            return cli_fail(CLI_USAGE,
                            "--%s: %s separated by commas or spaces are expected, not '%.40s'",
                            option, what, at),
                   false;
        }
        numbers[count++] = (int32_t)number;
        at = has_comma ? skip_space(next + 1) : next;
        is_more = has_comma || *at;
    }
    *out_numbers = numbers;
    *out_count = count;
    return true;
}
