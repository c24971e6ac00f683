// situation.c: what the devices that a plugin tells depend on besides its file: its settings, the
// number of threads, how the machine was started, and the environment, by which
// drivers are told which devices to show. Where one of these is another, a plugin is asked anew.
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "plugin/plugin_internal.h"

extern char **environ;

// Set by shells, terminals and sessions, each of which has others.
static const char *const of_no_matter[] = {
    "_=",
    "PWD=",
    "OLDPWD=",
    "SHLVL=",
    "COLUMNS=",
    "LINES=",
    "TERM",
    "COLORTERM",
    "WINDOWID=",
    "SSH_",
    "TMUX",
    "STY=",
    "PS1=",
    "LS_COLORS=",
    "XDG_SESSION_ID=",
    "XDG_ACTIVATION_TOKEN=",
    "DESKTOP_STARTUP_ID=",
    "BATS_",
};

static bool matters(const char *variable)
{
    for (size_t i = 0; i < TN_COUNT_OF(of_no_matter); i++)
        if (strncmp(variable, of_no_matter[i], strlen(of_no_matter[i])) == 0)
            return false;
    return true;
}

// In whatever order they stand: the sum of their hashes, byte by byte.
static void add_environment(SHA2_CTX *sha)
{
    uint8_t sum[SHA256_DIGEST_LENGTH] = { 0 }, one[SHA256_DIGEST_LENGTH];
    for (char **at = environ; at && *at; at++) {
        SHA2_CTX of_one;
        if (!matters(*at))
            continue;
        SHA256Init(&of_one);
        SHA256Update(&of_one, (const uint8_t *)*at, strlen(*at));
        SHA256Final(one, &of_one);
        for (size_t i = 0; i < sizeof sum; i++)
            sum[i] = (uint8_t)(sum[i] + one[i]);
    }
    SHA256Update(sha, sum, sizeof sum);
}

static void add_text(SHA2_CTX *sha, const char *text)
{
    SHA256Update(sha, (const uint8_t *)text, strlen(text) + 1);
}

// Another start of the machine may have brought other devices or drivers.
static void add_boot(SHA2_CTX *sha)
{
    char id[64] = "";
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = file >= 0 ? read(file, id, sizeof id - 1) : 0;
    if (file >= 0)
        close(file);
    id[n > 0 ? n : 0] = 0;
    add_text(sha, id);
}

void tni_situation_begin(char digits[TNI_DIGITS_BYTES])
{
    SHA2_CTX sha;
    SHA256Init(&sha);
    add_boot(&sha);
    add_environment(&sha);
    SHA256End(&sha, digits);
}

static void add_setting(void *context, const char *key, const char *value)
{
    add_text(context, key);
    add_text(context, value);
}

void tni_situation(const tn_runtime *runtime, const char *plugin, char digits[TNI_DIGITS_BYTES])
{
    char threads[16];
    SHA2_CTX sha;
    SHA256Init(&sha);
    add_text(&sha, runtime->situation);
    snprintf(threads, sizeof threads, "%u", tn_runtime_threads(runtime));
    add_text(&sha, threads);
    tni_config_each(&runtime->config, plugin, &sha, add_setting);
    SHA256End(&sha, digits);
}
