// pin.c: the SHA-256 of a plugin's file into tenon.ini, by changing one line of it: what people
// wrote there stays byte for byte.
//
//   [plugin.NAME]                   the last section of that name counts, and in it
//   sha256 = …        ; a comment   the last such line: its value is replaced
//
// Without the line it comes behind the section's first line, without the section at the end of the
// file. Before it is written, the new text is read as any tenon.ini is.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file_map.h"
#include "base/options.h"
#include "plugin/cache.h"
#include "plugin/plugin_internal.h"

// Offsets in the text; what is not there is at its end.
typedef struct place {
    bool has_section, has_value;
    size_t section_end;              // behind the line of the section
    size_t value_begin, value_end;   // of the last sha256 of it
    const char *line_end;            // as the file has them
} place;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static bool is_section(const char *line, const char *end, const char *name, bool *out_is_any)
{
    static const char prefix[] = "[plugin.";
    size_t bytes = strlen(name);
    *out_is_any = line < end && *line == '[';
    return *out_is_any && (size_t)(end - line) > sizeof prefix + bytes - 1 &&
           memcmp(line, prefix, sizeof prefix - 1) == 0 &&
           memcmp(line + sizeof prefix - 1, name, bytes) == 0 &&
           line[sizeof prefix - 1 + bytes] == ']';
}

// The value of a line "sha256 = value ; comment": false where it is another.
static bool find_value(const char *line, const char *end, const char **out_begin,
                       const char **out_end)
{
    static const char key[] = "sha256";
    if ((size_t)(end - line) < sizeof key - 1 || memcmp(line, key, sizeof key - 1) != 0)
        return false;
    for (line += sizeof key - 1; line < end && is_blank(*line);)
        line++;
    if (line == end || (*line != '=' && *line != ':'))
        return false;
    for (line++; line < end && is_blank(*line);)
        line++;
    *out_begin = line;
    while (line < end && !is_blank(*line) && *line != ';')
        line++;
    *out_end = line;
    return true;
}

static place find_place(const char *text, size_t bytes, const char *name)
{
    static const char mark[] = "\xEF\xBB\xBF";
    place p = { .section_end = bytes, .line_end = "\n" };
    bool is_inside = false, is_any;
    for (const char *at = text, *end = text + bytes; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line = at, *line_end = newline ? newline : end;
        if (newline && newline > at && newline[-1] == '\r')
            p.line_end = "\r\n";
        if (at == text && bytes >= 3 && memcmp(text, mark, 3) == 0)
            line += 3;
        while (line < line_end && is_blank(*line))
            line++;
        const char *value, *value_end;
        if (is_section(line, line_end, name, &is_any)) {
            is_inside = p.has_section = true;
            p.section_end = (size_t)(newline ? newline + 1 - text : line_end - text);
        } else if (is_any) {
            is_inside = false;
        } else if (is_inside && find_value(line, line_end, &value, &value_end)) {
            p.has_value = true;
            p.value_begin = (size_t)(value - text);
            p.value_end = (size_t)(value_end - text);
        }
        at = newline ? newline + 1 : end;
    }
    return p;
}

// The new text, at most bytes + ROOM long; answers how long.
enum { ROOM = 256 };
static size_t write_text(const char *text, size_t bytes, const char *name, const char *sha256,
                         char *to)
{
    place p = find_place(text, bytes, name);
    size_t before = p.has_value ? p.value_begin : p.section_end;
    size_t behind = p.has_value ? p.value_end : p.section_end, used = before;
    bool has_end = !before || text[before - 1] == '\n';
    if (before)
        memcpy(to, text, before);
    if (p.has_value)
        used += (size_t)snprintf(to + used, ROOM, "%s", sha256);
    else if (p.has_section)
        used += (size_t)snprintf(to + used, ROOM, "%ssha256 = %s%s", has_end ? "" : p.line_end,
                                 sha256, p.line_end);
    else
        used += (size_t)snprintf(to + used, ROOM, "%s%s[plugin.%s]%ssha256 = %s%s",
                                 has_end ? "" : p.line_end, bytes ? p.line_end : "", name,
                                 p.line_end, sha256, p.line_end);
    if (behind < bytes)
        memcpy(to + used, text + behind, bytes - behind);
    return used + bytes - behind;
}

static void drop_line(void *context, int32_t level, const char *text)
{
    (void)context, (void)level, (void)text;
}

// Whether a text, read as a tenon.ini, has the pin; it may not have had faults before either.
static tn_status check_text(const char *text, size_t bytes, const char *path, const char *name,
                            const char *sha256, const tn_allocator *allocator, tn_error *err)
{
    static const tni_log nobody = { .write = drop_line };
    tni_arena arena;
    tni_config config;
    tni_arena_init(&arena, allocator);
    tni_config_init(&config, &arena, &nobody);
    tn_status status = tni_config_read_text(&config, text, bytes, path, err);
    const tni_setting *pin = status == TN_OK && sha256 ? tni_config_find(&config, name, "sha256")
                                                       : NULL;
    if (status == TN_OK && sha256 && (!pin || strcmp(pin->value, sha256) != 0))
        status = tni_fail(
            err, TN_E_FILE,
            "%s: the pin of [plugin.%s] finds no place in it: write sha256 = %s there", path, name,
            sha256);
    tni_config_finish(&config);
    tni_arena_finish(&arena);
    return status;
}

static tn_status change_file(const char *path, const char *name, const char *sha256, tn_error *err)
{
    tn_allocator allocator = tni_allocator(NULL);
    tni_file_map map = { 0 };
    struct stat there;
    tn_status status = TN_OK;
    if (stat(path, &there) == 0 || errno != ENOENT)
        status = tni_file_map_open(&map, path, true, TNI_MOST_CONFIG_BYTES, &allocator, err);
    if (status != TN_OK)
        return status;
    const char *text = map.data ? (const char *)map.data : "";
    char *changed = tni_alloc(&allocator, map.bytes + ROOM);
    if (!changed)
        status = tni_fail_memory(err, path, map.bytes);
    else
        status = check_text(text, map.bytes, path, name, NULL, &allocator, err);
    if (status == TN_OK) {
        size_t bytes = write_text(text, map.bytes, name, sha256, changed);
        status = check_text(changed, bytes, path, name, sha256, &allocator, err);
        if (status == TN_OK)
            status = tni_cache_write(path, changed, bytes, NULL, true, err);
    }
    tni_free(&allocator, changed);
    tni_file_map_close(&map);
    return status;
}

tn_status tn_plugin_pin(const char *path, const char *config, tn_plugin_pin_info *out_info,
                        tn_error *err)
{
    tn_runtime runtime = { 0 };
    tni_plugin plugin = { .runtime = &runtime, .path = path };
    tn_plugin_pin_info info = { .size = sizeof info };
    tn_error why;
    mode_t mode;
    tn_status status = tni_need(err, __func__, "path", path, NULL);
    if (status != TN_OK)
        return status;
    if (config)
        tni_copy_text(info.config, sizeof info.config, config);
    else
        tni_config_user_file(info.config, sizeof info.config);
    if (!info.config[0] || (config && strcmp(config, info.config) != 0))
        return tni_fail(err, TN_E_FILE,
                        config ? "'%s': no name of a tenon.ini"
                               : "there is no place for a tenon.ini%s: neither XDG_CONFIG_HOME nor "
                                 "HOME is an absolute path, or the process is privileged",
                        config ? config : "");
    if (!tni_identity_of(path, &plugin.identity, &mode))
        return tni_fail(err, TN_E_FILE, "%s: %s%s", path, strerror(errno),
                        strchr(path, '/') ? "" : " (a file is pinned, not a name)");
    if (!S_ISREG(mode))
        return tni_fail(err, TN_E_FILE, "%s: not a regular file", path);
    tni_here_detect(&runtime.here);
    (void)tni_plugin_examine(&plugin, &why);   // one that does not fit this machine can be pinned
    if (!plugin.has_manifest)
        return tni_fail(err, TN_E_PLUGIN, "%s: %s", path, why.text);
    if (!tni_plugin_hash(path, info.sha256))
        return tni_fail(err, TN_E_FILE, "%s: the file cannot be read", path);
    tni_copy_text(info.name, sizeof info.name, plugin.manifest.name);
    status = change_file(info.config, info.name, info.sha256, err);
    if (status == TN_OK && out_info)
        tni_give_struct(out_info, &info, sizeof info);
    return status;
}
