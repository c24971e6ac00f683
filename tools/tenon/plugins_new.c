// plugins_new.c: tenon plugins new. The files of sdk/template are part of the command
// (template_files.c, made by embed.cmake), so that it needs no installed sdk and reads no file. The
// word `template` in their names and text stands for the plugin's name.
#include "plugins_new.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "json.h"
#include "template_files.h"

#define NAME_IN_TEMPLATE "template"
enum { MOST_OF_NAME = 31 };   // tnp_manifest.name, with its end

// As tnp_manifest.name; and no dash in front, which would be an option of every tool.
static bool is_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    size_t length = strlen(name);
    return length > 0 && length <= MOST_OF_NAME && name[0] != '-' &&
           strspn(name, letters) == length;
}

// ----------------------------------------------------------------------------------------- writing

// Writes text with every `template` replaced. What fails is seen when the file is closed.
static void write_named(FILE *file, const char *text, size_t bytes, const char *name)
{
    const size_t length = strlen(NAME_IN_TEMPLATE);
    const char *end = text + bytes;
    for (const char *at; (at = memmem(text, (size_t)(end - text), NAME_IN_TEMPLATE, length));) {
        fwrite(text, 1, (size_t)(at - text), file);
        fputs(name, file);
        text = at + length;
    }
    fwrite(text, 1, (size_t)(end - text), file);
}

// folder/file, with the plugin's name in it. NULL: no memory.
static char *path_of(const char *folder, const char *file, const char *name)
{
    const char *at = strstr(file, NAME_IN_TEMPLATE);
    char *path = NULL;
    int written = at ? asprintf(&path, "%s/%.*s%s%s", folder, (int)(at - file), file, name,
                                at + strlen(NAME_IN_TEMPLATE))
                     : asprintf(&path, "%s/%s", folder, file);
    return written < 0 ? NULL : path;
}

static int fail_memory(void)
{
    return cli_fail(CLI_MEMORY, "not enough memory for a path");
}

static int write_file(const char *folder, const template_file *from, const char *name)
{
    char *path = path_of(folder, from->name, name);
    if (!path)
        return fail_memory();
    FILE *file = fopen(path, "wx");
    int code = CLI_OK;
    if (file)
        write_named(file, (const char *)from->bytes, from->size, name);
    bool is_bad = !file || ferror(file);
    if ((file && fclose(file) != 0) || is_bad)
        code = cli_fail(CLI_FILE, "plugins new: %s cannot be written: %s", path, strerror(errno));
    free(path);
    return code;
}

static void remove_all(const char *folder, const char *name)
{
    for (size_t i = 0; i < template_file_count; i++) {
        char *path = path_of(folder, template_files[i].name, name);
        if (path)
            unlink(path);
        free(path);
    }
    rmdir(folder);
}

// One step makes it visible under its name; it refuses a folder with something in it, and a file.
static int put_in_place(const char *from, const char *to)
{
    const mode_t mask = umask(0);
    umask(mask);
    if (chmod(from, 0777 & ~mask) == 0 && rename(from, to) == 0)
        return CLI_OK;
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR || errno == EBUSY)
        return cli_fail(
            CLI_FILE, "plugins new: %s is there already, and is left as it is: give another --dir",
            to);
    return cli_fail(CLI_FILE, "plugins new: %s cannot be made: %s", to, strerror(errno));
}

static int write_all(const char *name, const char *folder)
{
    char *beside = NULL;   // on the same file system
    if (asprintf(&beside, "%s.XXXXXX", folder) < 0)
        return fail_memory();
    if (!mkdtemp(beside)) {
        int code = cli_fail(CLI_FILE, "plugins new: no folder can be made for %s: %s", folder,
                            strerror(errno));
        free(beside);
        return code;
    }
    int code = CLI_OK;
    for (size_t i = 0; i < template_file_count && code == CLI_OK; i++)
        code = write_file(beside, &template_files[i], name);
    if (code == CLI_OK)
        code = put_in_place(beside, folder);
    if (code != CLI_OK)
        remove_all(beside, name);
    free(beside);
    return code;
}

// ------------------------------------------------------------------------------------------ saying

static int say(const char *name, const char *folder, bool is_json)
{
    json_t *list = is_json ? json_array() : NULL;
    for (size_t i = 0; i < template_file_count; i++) {
        char *path = path_of(folder, template_files[i].name, name);
        if (!path) {
            json_decref(list);
            return fail_memory();
        }
        if (is_json)
            json_array_append_new(list, json_string(path));
        else
            printf("%s\n", path);
        free(path);
    }
    if (is_json)
        return cli_json_print(json_pack("{si ss ss so}", "schema_version", 1, "name", name,
                                        "folder", folder, "files", list),
                              "the list of files");
    cli_note("README.md in %s says how to build it", folder);
    return CLI_OK;
}

int plugins_new(const char *name, const char *folder, bool is_json)
{
    if (!is_name(name))
        return cli_fail(CLI_USAGE,
                        "plugins new: '%s' is no name for a plugin: a-z, 0-9, _ and -, at most %d "
                        "characters, no - in front",
                        name, MOST_OF_NAME);
    char *to = strdup(folder ? folder : name);
    if (!to)
        return fail_memory();
    for (size_t end = strlen(to); end > 1 && to[end - 1] == '/'; end--)
        to[end - 1] = 0;
    int code = *to ? write_all(name, to) : cli_fail(CLI_USAGE, "plugins new: --dir is empty");
    if (code == CLI_OK)
        code = say(name, to, is_json);
    free(to);
    return code;
}
