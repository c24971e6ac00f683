// rows.h: rows of one value that become rows of another, decoded or encoded.
#ifndef VULKAN_ROWS_H
#define VULKAN_ROWS_H

#include "blocks.h"

typedef struct vulkan_rows {
    vulkan_kernel kernel;
    const tnh_value *to, *from;
    const tnh_value *table, *index;   // one of the two, and which of its rows; NULL: one for one
} vulkan_rows;

const char *vulkan_rows_refuse(const vulkan_rows *rows, const vulkan_features *features);
void vulkan_rows_emit(const vulkan_rows *rows, vulkan_emitter *to);

#endif
