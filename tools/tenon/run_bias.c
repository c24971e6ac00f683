// run_bias.c: the option --logit-bias.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

#define MOST_BIAS 1e6

// "17=-2.5" or "17=-inf".
static bool parse(const char *text, tlm_logit_bias *out)
{
    char *end;
    errno = 0;
    long id = strtol(text, &end, 10);
    if (end == text || *end != '=' || errno || id < 0 || id > INT32_MAX)
        return false;
    const char *value = end + 1;
    double bias = strtod(value, &end);
    bool is_forbidden = strcmp(value, "-inf") == 0;
    if (end == value || *end || (!is_forbidden && !(fabs(bias) <= MOST_BIAS)))   // NaN fails
        return false;
    *out = (tlm_logit_bias){ .id = (int32_t)id, .bias = (float)bias };
    return true;
}

int run_take_biases(const cli_list *texts, tlm_logit_bias **out_biases)
{
    *out_biases = NULL;
    if (texts->count == 0)
        return CLI_OK;
    tlm_logit_bias *biases = calloc(texts->count, sizeof *biases);
    if (!biases)
        return cli_fail(CLI_MEMORY, "not enough memory for %u biases", texts->count);
    for (uint32_t i = 0; i < texts->count; i++)
        if (!parse(texts->items[i], &biases[i])) {
            free(biases);
            return cli_fail(CLI_USAGE,
                            "--logit-bias '%.40s': ID=VALUE is expected, a token id and a number "
                            "from %.0f to %.0f or -inf",
                            texts->items[i], -MOST_BIAS, MOST_BIAS);
        }
    *out_biases = biases;
    return CLI_OK;
}
