#include "folder.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

void test_folder_make(test_folder *folder)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder->path, sizeof folder->path, "%s/tenon-test-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder->path))
        fail_msg("no temporary folder %s", folder->path);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)kind, (void)where;
    return remove(path);
}

void test_folder_remove(test_folder *folder)
{
    nftw(folder->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_folder_path(const test_folder *folder, const char *name)
{
    static char paths[4][TEST_PATH_BYTES];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, TEST_PATH_BYTES, "%s/%s", folder->path, name);
    return path;
}

void test_folder_write(const test_folder *folder, const char *name, const void *bytes, size_t count)
{
    FILE *file = fopen(test_folder_path(folder, name), "wb");
    if (!file || (count && fwrite(bytes, 1, count, file) != count) || fclose(file) != 0)
        fail_msg("%s/%s cannot be written", folder->path, name);
}

void test_folder_text(const test_folder *folder, const char *name, const char *text)
{
    test_folder_write(folder, name, text, strlen(text));
}

unsigned char *test_read_file(const char *path, size_t *count)
{
    struct stat about;
    FILE *file = fopen(path, "rb");
    if (!file || stat(path, &about) != 0)
        fail_msg("%s cannot be opened", path);
    *count = (size_t)about.st_size;
    unsigned char *bytes = malloc(*count ? *count : 1);
    if (!bytes || fread(bytes, 1, *count, file) != *count)
        fail_msg("%s cannot be read", path);
    fclose(file);
    return bytes;
}

void test_turn_bit(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    if (!file || fseek(file, at, SEEK_SET) != 0)
        fail_msg("%s cannot be opened at byte %ld", path, at);
    int byte = fgetc(file);
    if (byte == EOF || fseek(file, at, SEEK_SET) != 0 || fputc(byte ^ 1, file) == EOF ||
        fclose(file) != 0)
        fail_msg("%s: byte %ld cannot be changed", path, at);
}

void test_folder_copy(const test_folder *folder, const char *name, const char *from)
{
    struct stat about;
    size_t count;
    unsigned char *bytes = test_read_file(from, &count);
    test_folder_write(folder, name, bytes, count);
    free(bytes);
    if (stat(from, &about) != 0 || chmod(test_folder_path(folder, name), about.st_mode & 0777) != 0)
        fail_msg("%s: its mode cannot be kept", from);
}

void test_folder_sub(const test_folder *folder, const char *name)
{
    char path[TEST_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    for (char *slash = path + strlen(folder->path) + 1; (slash = strchr(slash, '/'));
         *slash++ = '/') {
        *slash = 0;
        mkdir(path, 0755);
    }
    if (mkdir(path, 0755) != 0)
        fail_msg("%s cannot be made", path);
}
