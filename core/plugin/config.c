// config.c: tenon.ini, and settings of the application in the same form.
//
//   [plugins]                  which candidates there are
//   path = /opt/npu/lib        repeatable; a file or a folder
//   order = cuda, vulkan       these first, then the others
//   disable = sycl
//   probe_timeout_ms = 10000   of the first look at a file, in a process of its own
//   hang_timeout_ms = 60000    of a device from which nothing comes, and of a close
//
//   [packs]                    weights in a plugin's layout
//   cache = on                 kept on disk for the next process
//   cache_mib = 16384          at most so many MiB of them
//
//   [plugin.cuda]              settings of one plugin, seen by it
//   graphs = off
//   sha256 = 9f86…             the host's: the file must have this hash
//   disable = yes              the host's: do not use it
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file_map.h"
#include "base/macros.h"
#include "plugin/plugin_internal.h"

enum {
    MAX_SETTINGS = 4096,
    MAX_PROBE_TIMEOUT_MS = 600000,
    MAX_HANG_TIMEOUT_MS = 86400000,
    MAX_CACHE_MIB = 1 << 30,
    MAX_NAME_BYTES = 49   // of a section or a key: what inih keeps of one
};
static const char system_file[] = "/etc/tenon/tenon.ini";

void tni_config_init(tni_config *config, tni_arena *arena, const tni_log *log)
{
    *config = (tni_config){
        .arena = arena,
        .log = log,
        .probe_timeout_ms = { 10000 },
        .hang_timeout_ms = { 60000 },
        .pack_cache = { 0 },
        .pack_cache_mib = { 16384 },
    };
}

void tni_config_finish(tni_config *config)
{
    if (!config->arena)
        return;
    tni_free(&config->arena->allocator, config->paths.items);
    tni_free(&config->arena->allocator, config->order.items);
    tni_free(&config->arena->allocator, config->disabled.items);
    tni_free(&config->arena->allocator, config->files);
    tni_free(&config->arena->allocator, config->settings);
    *config = (tni_config){ 0 };
}

// ------------------------------------------------------------------------------------ what is kept

static tn_status fail_too_many(tn_error *err)
{
    return tni_fail(err, TN_E_ARG, "one more than the %d that are possible", MAX_SETTINGS);
}

static tn_status add_word(tni_config *config, tni_config_words *words, const char *text,
                          size_t bytes, const char *source, tn_error *err)
{
    char *copy = tni_arena_take(config->arena, bytes + 1);
    if (words->count >= MAX_SETTINGS)
        return fail_too_many(err);
    if (!copy || !tni_grow(&config->arena->allocator, &words->items, &words->capacity,
                           words->count + 1, sizeof *words->items))
        return tni_fail_memory(err, "a configuration", bytes);
    memcpy(copy, text, bytes);
    words->items[words->count++] = (tni_config_word){ .text = copy, .source = source };
    return TN_OK;
}

// "a, b,c": words between commas, without the spaces around them.
static tn_status add_list(tni_config *config, tni_config_words *words, const char *list,
                          const char *source, tn_error *err)
{
    for (;;) {
        list += strspn(list, ", \t");
        size_t bytes = strcspn(list, ",");
        if (!bytes)
            return TN_OK;
        size_t trimmed = bytes;
        while (trimmed && (list[trimmed - 1] == ' ' || list[trimmed - 1] == '\t'))
            trimmed--;
        tn_status status = add_word(config, words, list, trimmed, source, err);
        if (status != TN_OK)
            return status;
        list += bytes;
    }
}

static tn_status add_setting(tni_config *config, const char *plugin, const char *key,
                             const char *value, const char *source, tn_error *err)
{
    tni_setting new = { tni_arena_take_text(config->arena, plugin),
                        tni_arena_take_text(config->arena, key),
                        tni_arena_take_text(config->arena, value),
                        source,
                        false,
                        false };
    if (!new.plugin || !new.key || !new.value)
        return tni_fail_memory(err, "a setting", strlen(value));
    for (uint32_t i = 0; i < config->setting_count;
         i++) {   // set twice in one source: the later one
        tni_setting *old = &config->settings[i];
        if (old->source == source && strcmp(old->plugin, plugin) == 0 &&
            strcmp(old->key, key) == 0) {
            *old = new;
            return TN_OK;
        }
    }
    if (config->setting_count >= MAX_SETTINGS)
        return fail_too_many(err);
    if (!tni_grow(&config->arena->allocator, &config->settings, &config->setting_capacity,
                  config->setting_count + 1, sizeof *config->settings))
        return tni_fail_memory(err, "the settings",
                               (uint64_t)config->setting_count * sizeof *config->settings);
    config->settings[config->setting_count++] = new;
    return TN_OK;
}

// -1: neither.
static int truth_of(const char *value)
{
    static const struct {
        const char *word;
        int truth;
    } words[] = {
        { "1", 1 }, { "yes", 1 }, { "true", 1 },  { "on", 1 },
        { "0", 0 }, { "no", 0 },  { "false", 0 }, { "off", 0 },
    };
    for (size_t i = 0; i < TN_COUNT_OF(words); i++)
        if (strcasecmp(value, words[i].word) == 0)
            return words[i].truth;
    return -1;
}

static bool is_sha256(const char *value)
{
    return strlen(value) == 64 && strspn(value, "0123456789abcdefABCDEF") == 64;
}

bool tni_config_is_reserved(const char *key)
{
    return strcmp(key, "sha256") == 0 || strcmp(key, "disable") == 0;
}

// Of several sources the first counts, of several lines of one the last.
static void set_number(tni_config_number *number, uint32_t value, const char *source)
{
    if (!number->source || number->source == source)
        *number = (tni_config_number){ value, source };
}

static tn_status take_number(tni_config_number *number, const char *section, const char *key,
                             int most, const char *value, const char *source, tn_error *err)
{
    char *end = NULL;
    errno = 0;
    unsigned long n = isdigit((unsigned char)value[0]) ? strtoul(value, &end, 10) : 0;
    if (!end || *end || errno || n < 1 || n > (unsigned long)most)
        return tni_fail(err, TN_E_ARG, "[%s] %s = %s: a whole number from 1 to %d is expected",
                        section, key, value, most);
    set_number(number, (uint32_t)n, source);
    return TN_OK;
}

static tn_status take_of_plugins(tni_config *config, const char *key, const char *value,
                                 const char *source, tn_error *err)
{
    if (strcmp(key, "path") == 0)
        return add_word(config, &config->paths, value, strlen(value), source, err);
    if (strcmp(key, "order") == 0)
        return add_list(config, &config->order, value, source, err);
    if (strcmp(key, "disable") == 0)
        return add_list(config, &config->disabled, value, source, err);
    if (strcmp(key, "probe_timeout_ms") == 0)
        return take_number(&config->probe_timeout_ms, "plugins", key, MAX_PROBE_TIMEOUT_MS, value,
                           source, err);
    if (strcmp(key, "hang_timeout_ms") == 0)
        return take_number(&config->hang_timeout_ms, "plugins", key, MAX_HANG_TIMEOUT_MS, value,
                           source, err);
    return tni_fail(err, TN_E_NOT_FOUND,
                    "[plugins] has no key '%s' (path, order, disable, probe_timeout_ms, "
                    "hang_timeout_ms)",
                    key);
}

static tn_status take_of_packs(tni_config *config, const char *key, const char *value,
                               const char *source, tn_error *err)
{
    if (strcmp(key, "cache_mib") == 0)
        return take_number(&config->pack_cache_mib, "packs", key, MAX_CACHE_MIB, value, source,
                           err);
    if (strcmp(key, "cache") != 0)
        return tni_fail(err, TN_E_NOT_FOUND, "[packs] has no key '%s' (cache, cache_mib)", key);
    int truth = truth_of(value);
    if (truth < 0)
        return tni_fail(err, TN_E_ARG, "[packs] cache = %s: on or off is expected", value);
    set_number(&config->pack_cache, (uint32_t)truth, source);
    return TN_OK;
}

static const char prefix[] = "plugin.";   // of a section

static tn_status check_section(const char *section, tn_error *err)
{
    if (strcmp(section, "plugins") == 0 || strcmp(section, "packs") == 0)
        return TN_OK;
    if (strncmp(section, prefix, sizeof prefix - 1) != 0)
        return tni_fail(err, TN_E_NOT_FOUND, "no section [%s] ([plugins], [packs], [plugin.NAME])",
                        section);
    return tni_text_is_name(section + sizeof prefix - 1)
               ? TN_OK
               : tni_fail(err, TN_E_ARG, "[%s]: a plugin's name is [a-z0-9_-]+", section);
}

// One "key = value" of a section. Errors are the sentence alone, without the place: TN_E_ARG,
// TN_E_HOST_MEMORY. What is unknown is TN_E_NOT_FOUND: another release may know it.
static tn_status take_entry(tni_config *config, const char *section, const char *key,
                            const char *value, const char *source, tn_error *err)
{
    tn_status status = check_section(section, err);
    if (status != TN_OK)
        return status;
    if (strcmp(section, "plugins") == 0)
        return take_of_plugins(config, key, value, source, err);
    if (strcmp(section, "packs") == 0)
        return take_of_packs(config, key, value, source, err);
    if (!key[0])
        return tni_fail(err, TN_E_ARG, "[%s]: a setting without a key", section);
    if (strcmp(key, "disable") == 0 && truth_of(value) < 0)
        return tni_fail(err, TN_E_ARG, "[%s] disable = %s: yes or no is expected", section, value);
    if (strcmp(key, "sha256") == 0 && !is_sha256(value))
        return tni_fail(err, TN_E_ARG, "[%s] sha256 = %s: 64 hexadecimal digits are expected",
                        section, value);
    return add_setting(config, section + sizeof prefix - 1, key, value, source, err);
}

// ---------------------------------------------------------------------------- from the application

tn_status tni_config_set(tni_config *config, const char *setting, tn_error *err)
{
    char section[64], key[128];
    tn_error why;
    const char *equals = strchr(setting, '=');
    if (!equals)
        return tni_fail(err, TN_E_ARG, "setting '%s' has no '=': plugin.NAME.KEY=VALUE is expected",
                        setting);
    // The name of a plugin holds no dot, a key may.
    const char *begin = strncmp(setting, "plugin.", 7) == 0 ? setting + 7 : setting;
    const char *dot = memchr(begin, '.', (size_t)(equals - begin));
    if (!dot || (size_t)(dot - setting) >= sizeof section || (size_t)(equals - dot) > sizeof key)
        return tni_fail(err, TN_E_ARG, "setting '%s': plugin.NAME.KEY=VALUE is expected", setting);
    snprintf(section, sizeof section, "%.*s", (int)(dot - setting), setting);
    snprintf(key, sizeof key, "%.*s", (int)(equals - dot - 1), dot + 1);
    tn_status status = take_entry(config, section, key, equals + 1, "settings", &why);
    if (status == TN_OK || status == TN_E_HOST_MEMORY)
        return status == TN_OK ? TN_OK : tni_fail(err, status, "%s", why.text);
    return tni_fail(err, TN_E_ARG, "setting '%s': %s", setting, why.text);
}

tn_status tni_config_add(tni_config *config, const char *plugin, const char *key, const char *value,
                         tn_error *err)
{
    return add_setting(config, plugin, key, value, "settings", err);
}

// ------------------------------------------------------------------------------------- from a file

typedef struct ini_source {
    tni_config *config;
    const char *path;
    const char *text;
    size_t bytes, at;
    uint32_t line;
    char section[MAX_NAME_BYTES + 1];   // without an entry so far, and its line; "" = none
    uint32_t section_line;
    tn_status status;   // of the first failure; its place is in err
    tn_error *err;
} ini_source;

// What inih would cut or drop without a word; "" = nothing.
static const char *what_is_lost(const char *line, size_t bytes)
{
    const char *end = memchr(line, ']', bytes), *key_end = line;
    while (bytes && isspace((unsigned char)line[bytes - 1]))
        bytes--;
    if (memchr(line, 0, bytes))
        return "a NUL byte";
    if (bytes == 0 || *line == ';' || *line == '#')
        return "";
    if (memchr(line, '\r', bytes))
        return "a carriage return within a line: lines end with a line feed";
    if (*line != '[') {
        while (key_end < line + bytes && *key_end != '=' && *key_end != ':')
            key_end++;
        bool is_entry = key_end < line + bytes;
        while (key_end > line && isspace((unsigned char)key_end[-1]))
            key_end--;
        return is_entry && key_end - line > MAX_NAME_BYTES ? "a key of more than 49 bytes" : "";
    }
    if (!end)
        return "";   // refused as no section
    if (end - line - 1 > MAX_NAME_BYTES)
        return "a section of more than 49 bytes";
    for (end++; end < line + bytes && isspace((unsigned char)*end); end++)
        ;
    return end == line + bytes || *end == ';' || *end == '#'
               ? ""
               : "something behind [section]: it has a line of its own";
}

// A section counts by its entries. Of one that has none it is told here that there is no such.
static void end_section(ini_source *source)
{
    tn_error why;
    tn_status status = *source->section ? check_section(source->section, &why) : TN_OK;
    if (status == TN_E_NOT_FOUND)
        tni_log_line(source->config->log, TN_LOG_WARNING, "%s:%u: ignored, %s", source->path,
                     source->section_line, why.text);
    else if (status != TN_OK)
        source->status = tni_fail(source->err, TN_E_FILE, "%s:%u: %s", source->path,
                                  source->section_line, why.text);
    *source->section = 0;
}

static void begin_section(ini_source *source, const char *line, size_t bytes)
{
    const char *end = memchr(line, ']', bytes);
    end_section(source);
    if (!end)
        return;   // refused as no section
    snprintf(source->section, sizeof source->section, "%.*s", (int)(end - line - 1), line + 1);
    source->section_line = source->line;
}

// Gives inih the next line: `room` bytes are its whole buffer. Spaces in front are taken away, or
// inih would read an indented line as a continuation of the one before.
static char *next_line(char *to, int room, void *argument)
{
    ini_source *source = argument;
    if (source->status == TN_OK && source->at == source->bytes)
        end_section(source);
    if (source->status != TN_OK || source->at == source->bytes || room <= 0)
        return NULL;
    const char *begin = source->text + source->at;
    const char *newline = memchr(begin, '\n', source->bytes - source->at);
    size_t bytes = newline ? (size_t)(newline - begin) : source->bytes - source->at;
    source->at += bytes + (newline ? 1 : 0);
    source->line++;
    while (bytes && isspace((unsigned char)begin[0]))
        begin++, bytes--;
    if (source->line == 1 && bytes >= 3 && memcmp(begin, "\xEF\xBB\xBF", 3) == 0)
        begin += 3, bytes -= 3;   // a byte order mark
    const char *lost = what_is_lost(begin, bytes);
    if (*lost)
        source->status = tni_fail(source->err, TN_E_FILE, "%s:%u: %s", source->path, source->line,
                                  lost);
    else if (bytes >= (size_t)room)
        source->status = tni_fail(source->err, TN_E_FILE,
                                  "%s:%u: a line of %zu bytes, at most %d are expected",
                                  source->path, source->line, bytes, room - 1);
    else if (bytes && *begin == '[')
        begin_section(source, begin, bytes);
    if (source->status != TN_OK)
        return NULL;
    memcpy(to, begin, bytes);
    to[bytes] = 0;
    return to;
}

static int take_line(void *argument, const char *section, const char *key, const char *value)
{
    ini_source *source = argument;
    tn_error why;
    *source->section = 0;
    if (source->status != TN_OK)
        return 1;
    tn_status status = take_entry(source->config, section, key, value, source->path, &why);
    if (status == TN_E_NOT_FOUND)
        tni_log_line(source->config->log, TN_LOG_WARNING, "%s:%u: ignored, %s", source->path,
                     source->line, why.text);
    else if (status == TN_E_HOST_MEMORY)
        source->status = tni_fail(source->err, status, "%s", why.text);
    else if (status != TN_OK)
        source->status = tni_fail(source->err, TN_E_FILE, "%s:%u: %s", source->path, source->line,
                                  why.text);
    return 1;
}

tn_status tni_config_read_text(tni_config *config, const char *text, size_t bytes, const char *path,
                               tn_error *err)
{
    ini_source source = {
        .config = config, .path = path, .text = text, .bytes = bytes, .err = err
    };
    int wrong_line = ini_parse_stream(next_line, &source, take_line, &source);
    if (source.status != TN_OK)
        return source.status;
    if (wrong_line < 0)
        return tni_fail_memory(err, "a configuration", bytes);
    if (wrong_line > 0)
        return tni_fail(err, TN_E_FILE, "%s:%d: neither [section] nor key = value", path,
                        wrong_line);
    return TN_OK;
}

tn_status tni_config_read(tni_config *config, const char *path, bool is_required, tn_error *err)
{
    struct stat about;
    bool is_there = is_required || stat(path, &about) == 0 || (errno != ENOENT && errno != ENOTDIR);
    tni_file_map map;
    const char *kept = tni_arena_take_text(config->arena, path);
    if (!kept || !tni_grow(&config->arena->allocator, &config->files, &config->file_capacity,
                           config->file_count + 1, sizeof *config->files))
        return tni_fail_memory(err, "a configuration", strlen(path));
    config->files[config->file_count++] = (tni_config_file){ kept, is_there };
    if (!is_there)
        return TN_OK;
    tn_status status = tni_file_map_open(&map, path, true, TNI_MOST_CONFIG_BYTES,
                                         &config->arena->allocator, err);
    if (status != TN_OK)
        return status;
    status = tni_config_read_text(config, (const char *)map.data, map.bytes, kept, err);
    tni_file_map_close(&map);
    return status;
}

// $XDG_CONFIG_HOME/tenon/tenon.ini or ~/.config/tenon/tenon.ini; "" when the process is privileged
// or has neither.
void tni_config_user_file(char *path, size_t room)
{
    const char *config_home = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
    int written = 0;
    path[0] = 0;
    if (config_home && config_home[0] == '/')
        written = snprintf(path, room, "%s/tenon/tenon.ini", config_home);
    else if (home && home[0] == '/')
        written = snprintf(path, room, "%s/.config/tenon/tenon.ini", home);
    if (written < 0 || (size_t)written >= room)
        path[0] = 0;
}

tn_status tni_config_read_all(tni_config *config, const char *instead, tn_error *err)
{
    char user_file[PATH_MAX];
    tn_status status = TN_OK;
    if (instead) {
        status = tni_config_read(config, instead, true, err);
    } else {
        tni_config_user_file(user_file, sizeof user_file);
        if (user_file[0])
            status = tni_config_read(config, user_file, false, err);
    }
    return status == TN_OK ? tni_config_read(config, system_file, false, err) : status;
}

// -------------------------------------------------------------------------------------- looking up

const tni_setting *tni_config_find(const tni_config *config, const char *plugin, const char *key)
{
    for (uint32_t i = 0; i < config->setting_count; i++)
        if (strcmp(config->settings[i].plugin, plugin) == 0 &&
            strcmp(config->settings[i].key, key) == 0)
            return &config->settings[i];
    return NULL;
}

// Those that count, by their keys: one after another, whatever order they were given in.
void tni_config_each(const tni_config *config, const char *plugin, void *context,
                     void (*take)(void *context, const char *key, const char *value))
{
    const char *before = "";
    for (const tni_setting *next;; before = next->key) {
        next = NULL;
        for (uint32_t i = 0; i < config->setting_count; i++) {
            const tni_setting *s = &config->settings[i];
            if (strcmp(s->plugin, plugin) == 0 && !tni_config_is_reserved(s->key) &&
                strcmp(s->key, before) > 0 && (!next || strcmp(s->key, next->key) < 0))
                next = s;
        }
        if (!next)
            return;
        take(context, next->key, tni_config_find(config, plugin, next->key)->value);
    }
}

const char *tni_config_disabled_by(const tni_config *config, const char *plugin)
{
    const tni_setting *own = tni_config_find(config, plugin, "disable");
    if (own)   // the nearer word: "no" here takes the plugin out of a list, too
        return truth_of(own->value) == 1 ? own->source : NULL;
    for (uint32_t i = 0; i < config->disabled.count; i++)
        if (strcmp(config->disabled.items[i].text, plugin) == 0)
            return config->disabled.items[i].source;
    return NULL;
}
