// template_files.h: the files of sdk/template as data; embed.cmake makes them.
#ifndef TEMPLATE_FILES_H
#define TEMPLATE_FILES_H

#include <stddef.h>

typedef struct template_file {
    const char *name;   // below the template's folder
    const unsigned char *bytes;
    size_t size;
} template_file;

extern const template_file template_files[];
extern const size_t template_file_count;

#endif
