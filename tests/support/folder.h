// folder.h: a temporary folder of a test, and files in it. What fails fails the test (CMocka).
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include <stddef.h>

enum { TEST_PATH_BYTES = 1024 };

typedef struct test_folder {
    char path[TEST_PATH_BYTES / 2];
} test_folder;

void test_folder_make(test_folder *folder);     // empty, in $TMPDIR or /tmp
void test_folder_remove(test_folder *folder);   // with all that is in it

// The path of a name in the folder; the text lives until the fourth call after it.
const char *test_folder_path(const test_folder *folder, const char *name);
void test_folder_write(const test_folder *folder, const char *name, const void *bytes,
                       size_t count);
void test_folder_text(const test_folder *folder, const char *name, const char *text);
void test_folder_copy(const test_folder *folder, const char *name,
                      const char *from);   // keeps the mode
void test_folder_sub(const test_folder *folder,
                     const char *name);   // a folder in it, and its parents

// All bytes of a file, to be freed; *count is their number.
unsigned char *test_read_file(const char *path, size_t *count);
void test_turn_bit(const char *path, long at);   // the lowest one of that byte of a file

#endif
