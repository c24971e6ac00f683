// replay.c: runs a fuzz target once on each file given, and on each file of each folder given: the
// corpus as a test.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replayed;

static int replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size ? size : 1);
    int is_read = file && data && fread(data, 1, size, file) == size;
    if (is_read) {
        LLVMFuzzerTestOneInput(data, size);
        replayed++;
    } else {
        fprintf(stderr, "%s: cannot be read\n", path);
    }
    free(data);
    if (file)
        fclose(file);
    return is_read ? 0 : 1;
}

static int replay(const char *path)
{
    struct stat about;
    char inside[4096];
    int failed = 0;
    if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode))
        return replay_file(path, (size_t)about.st_size);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        if (stat(inside, &about) == 0 && S_ISREG(about.st_mode))
            failed |= replay_file(inside, (size_t)about.st_size);
    }
    if (folder)
        closedir(folder);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i]);
    printf("%d replayed\n", replayed);
    return failed || replayed == 0;
}
