// words.c: the nearest word of a list; lists of ids.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cli.h"

const char *cli_nearest(const char *given, const char *const *words, uint32_t count)
{
    tni_nearest nearest = tni_nearest_to(given);
    for (uint32_t i = 0; i < count; i++)
        tni_nearest_try(&nearest, words[i]);
    return nearest.word;
}

const char *cli_unit(uint64_t bytes, double *out_size)
{
    static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    int unit = 0;
    for (*out_size = (double)bytes / 1024; *out_size >= 1024; *out_size /= 1024)
        unit++;
    return units[unit];
}

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

int cli_parse_numbers(const char *option, const char *what, const char *text, int32_t least,
                      int32_t most, int32_t **out_numbers, uint32_t *out_count)
{
    int32_t *numbers = calloc(strlen(text) / 2 + 1, sizeof *numbers);
    if (!numbers)
        return cli_fail(CLI_MEMORY, "not enough memory for the numbers of --%s", option);
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
                            "%s: %s separated by commas or spaces are expected, not '%.40s'",
                            cli_typed(option), what, at);
        }
        numbers[count++] = (int32_t)number;
        at = has_comma ? skip_space(next + 1) : next;
        is_more = has_comma || *at;
    }
    *out_numbers = numbers;
    *out_count = count;
    return CLI_OK;
}
