// run_cache.c: the file of --prompt-cache.
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <tenon/lm.h>
#include <unistd.h>

#include "run.h"

// Found out before the prompt is read through the model, which may take long.
static int check_folder(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + 1 : 1;
    if (length >= sizeof folder)
        return cli_fail(CLI_FILE, "%s: %s", path, strerror(ENAMETOOLONG));
    memcpy(folder, slash ? path : ".", length);
    folder[length] = '\0';
    return access(folder, W_OK | X_OK) == 0
               ? CLI_OK
               : cli_fail(CLI_FILE, "%s: the prompt cache cannot be written there: %s", path,
                          strerror(errno));
}

static uint32_t common_ids(const run_state *state)
{
    const int32_t *ids = tlm_context_ids(state->loaded.context);
    uint32_t count = tlm_context_position(state->loaded.context), i = 0;
    while (i < count && i < state->prompt_count && ids[i] == state->prompt[i])
        i++;
    return i;
}

int run_cache_load(run_state *state)
{
    const char *path = state->given->prompt_cache;
    tlm_context *context = state->loaded.context;
    tn_error err = { 0 };
    if (!path)
        return CLI_OK;
    struct stat file;
    int found = stat(path, &file);
    if ((found != 0 && errno == ENOENT) ||
        (found == 0 && S_ISREG(file.st_mode) && file.st_size == 0))
        return check_folder(path);
    tn_status status = tlm_context_load(context, path, &err);
    if (status == TN_E_DATA || status == TN_E_VERSION || status == TN_E_GRAPH) {
        cli_note("warning: %s; it is not used and will be written anew", err.text);
        return CLI_OK;
    }
    if (status != TN_OK)
        return cli_fail_status(&err);
    uint32_t common = common_ids(state);
    state->is_cached = common == state->prompt_count;
    state->reused_count = state->is_cached ? common - 1 : common;
    if (!state->given->quiet)
        cli_note("prompt cache: %u of %u tokens", state->reused_count, state->prompt_count);
    return tlm_context_rewind(context, state->reused_count, &err) == TN_OK ? CLI_OK
                                                                           : cli_fail_status(&err);
}

void run_cache_save(run_state *state)
{
    tn_error err = { 0 };
    if (!state->given->prompt_cache || state->is_cached ||
        tlm_context_save(state->loaded.context, state->given->prompt_cache, &err) == TN_OK)
        return;
    state->cache_code = cli_fail_status(&err);   // the text is worth more: it goes on
}
