// pack.c: packs weights: 8 rows side by side, as blocks.h draws it. One loop serves all block
// types: it moves 2 or 4 bytes at a time and knows of a type no more than how long its blocks are
// and where an F16 stands alone.
#include "pack.h"

#include "kernels/blocks.h"

_Static_assert(CPU_PACK_ROWS == CPU_PANEL_ROWS, "a group is what a kernel multiplies at once");

uint64_t cpu_pack_bytes(const tnh_value *matrix)
{
    const uint64_t groups = ((uint64_t)matrix->dims[1] + CPU_PACK_ROWS - 1) / CPU_PACK_ROWS;
    return groups * CPU_PACK_ROWS * tnh_row_bytes(matrix);
}

tnp_pack cpu_pack_of(const cpu_node *node, uint32_t input)
{
    return (tnp_pack){
        .size = sizeof(tnp_pack),
        .value = node->inputs[input],
        .layout = CPU_PACK_LAYOUT,
        .group_rows = CPU_PACK_ROWS,
        .group_bytes = CPU_PACK_ROWS * tnh_row_bytes(&node->in[input]),
    };
}

// `words` times 4 bytes of each row; returns where the next goes.
static char *pack_words(const char *const row[CPU_PACK_ROWS], int64_t offset, int64_t words,
                        char *to)
{
    for (int64_t i = 0; i < words; i++, offset += 4)
        for (int r = 0; r < CPU_PACK_ROWS; r++, to += 4)
            memcpy(to, row[r] + offset, 4);
    return to;
}

static void pack_group(int64_t rows, const char *from, int64_t stride, int64_t blocks,
                       int64_t block_bytes, char *to)
{
    const int64_t half = cpu_lone_half(block_bytes), before = half < 0 ? block_bytes / 4 : half / 4,
                  after = half < 0 ? 0 : (block_bytes - half - 2) / 4;
    const char *row[CPU_PACK_ROWS];
    for (int64_t r = 0; r < CPU_PACK_ROWS; r++)
        row[r] = from + (r < rows ? r : rows - 1) * stride;
    for (int64_t offset = 0; offset < blocks * block_bytes; offset += block_bytes) {
        to = pack_words(row, offset, before, to);
        if (half < 0)
            continue;
        for (int r = 0; r < CPU_PACK_ROWS; r++, to += 2)
            memcpy(to, row[r] + offset + half, 2);
        to = pack_words(row, offset + half + 2, after, to);
    }
}

static bool is_one_matrix(const tnp_value *value)
{
    bool is_one = true;
    for (uint32_t d = 2; d < value->rank && d < TNP_MAX_DIMS; d++)
        is_one = is_one && value->dims[d] == 1;
    return is_one;
}

tnp_status cpu_pack(tnp_device *handle, const tnp_value *what, uint32_t layout, const void *source,
                    uint64_t begin, uint64_t end, void *to, tnp_error *err)
{
    tnp_value value;
    if (!cpu_device_from(handle))
        return cpu_error(err, TNP_E_ARG, "pack: not a device of this plugin");
    if (!TNP_TAKE(&value, what))
        return cpu_error(err, TNP_E_UNSUPPORTED,
                         "pack: the value has a property that this plugin does not know");
    const int64_t elements = tnh_block_elements(value.dtype);
    const uint32_t bytes = (uint32_t)tnh_block_bytes(value.dtype);
    if (layout != CPU_PACK_LAYOUT || elements <= 1 || !is_one_matrix(&value) || value.dims[0] < 1 ||
        value.dims[0] % elements != 0 || value.dims[1] < 1)
        return cpu_error(err, TNP_E_ARG, "pack: layout %u of '%s' is none that was asked for",
                         layout, value.name ? value.name : "a constant");
    const uint64_t rows = (uint64_t)value.dims[1], groups = (rows - 1) / CPU_PACK_ROWS + 1;
    if (begin > end || end > groups)
        return cpu_error(err, TNP_E_ARG, "pack: groups %llu to %llu of '%s', which has %llu",
                         (unsigned long long)begin, (unsigned long long)end,
                         value.name ? value.name : "a constant", (unsigned long long)groups);
    const int64_t blocks = value.dims[0] / elements,
                  group_bytes = CPU_PACK_ROWS * blocks * (int64_t)bytes;
    for (uint64_t g = begin; g < end; g++) {
        const int64_t first = (int64_t)(g * CPU_PACK_ROWS), rest = (int64_t)rows - first;
        pack_group(rest < CPU_PACK_ROWS ? rest : CPU_PACK_ROWS,
                   (const char *)source + first * value.strides[1], value.strides[1], blocks, bytes,
                   (char *)to + (int64_t)(g - begin) * group_bytes);
    }
    return TNP_OK;
}
