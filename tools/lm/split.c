// split.c: shares, and where matrices may be cut.
#include "split.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    ROW_UNIT = 32,
    UNITS_A_PART = 8,   // on average at least so many, where blocks permit: shares are kept to 1/16
};

// The devices that are no CPUs, or the CPUs where there is nothing else, each with its memory as
// its share.
static void find_parts(tlm_split *split, const tn_runtime *runtime, tn_device *const *devices,
                       uint32_t device_count)
{
    uint32_t count = device_count ? device_count : tn_runtime_device_count(runtime);
    for (int of_cpus = 0; of_cpus < 2 && split->parts == 0; of_cpus++)
        for (uint32_t i = 0; i < count && split->parts < TLM_MOST_PARTS; i++) {
            tn_device *device = device_count ? devices[i] : tn_runtime_device(runtime, i);
            tn_device_info info = { .size = sizeof info };
            if (device_count == 0 && !tn_device_is_default(device))
                continue;
            tn_device_describe(device, &info);
            if ((info.kind == TN_KIND_CPU) == of_cpus)
                split->shares[split->parts++] = (double)info.memory_bytes;
        }
}

// Shares that were given, or the devices' memories where all are known, or equal ones.
static void take_shares(tlm_split *split, const tn_placement *placement)
{
    bool is_told = true, is_wrong = false;
    double sum = 0;
    for (uint32_t p = 0; p < split->parts; p++) {
        if (placement->share_count && placement->shares)
            split->shares[p] = p < placement->share_count ? placement->shares[p] : 0;
        is_told = is_told && split->shares[p] > 0;
        is_wrong = is_wrong || !(split->shares[p] >= 0);
        sum += split->shares[p];
    }
    for (uint32_t p = 0; p < split->parts && !is_told && !placement->share_count; p++)
        split->shares[p] = 1;
    if (placement->share_count && (is_wrong || !(sum > 0 && isfinite(sum))))
        split->parts = 0;
}

void tlm_split_init(tlm_split *split, const tn_placement *placement, const tn_runtime *runtime,
                    tn_device *const *devices, uint32_t device_count, const tlm_hparams *p)
{
    *split = (tlm_split){ .parts = 0 };
    if (!placement ||
        (placement->split_mode != TN_SPLIT_ROW && placement->split_mode != TN_SPLIT_TENSOR))
        return;
    split->has_heads = placement->split_mode == TN_SPLIT_TENSOR;
    find_parts(split, runtime, devices, device_count);
    take_shares(split, placement);

    uint32_t layers = (uint32_t)p->layers + 1;
    if (placement->layer_rule == TN_LAYERS_COUNT && placement->gpu_layers < layers)
        split->first_layer = layers - placement->gpu_layers;
    if (split->parts < 2)
        return;
    tlm_cut cut = tlm_split_rows(split, p->vocabulary);
    for (uint32_t i = 0; i < cut.parts; i++)
        split->first_id[i] = (float)cut.begin[i];
}

bool tlm_split_divides(const tlm_split *split, uint32_t layer)
{
    return split && split->parts > 1 && layer >= split->first_layer;
}

tlm_cut tlm_split_cut(const tlm_split *split, int64_t total, int64_t unit)
{
    int64_t units = total / unit + (total % unit != 0), left = units, given[TLM_MOST_PARTS];
    double sum = 0, rest[TLM_MOST_PARTS];
    tlm_cut cut = { .parts = split->parts };
    for (uint32_t p = 0; p < split->parts; p++)
        sum += split->shares[p];
    for (uint32_t p = 0; p < split->parts; p++) {
        double quota = (double)units * (split->shares[p] / sum);   // no product overflows
        given[p] = (int64_t)quota < left ? (int64_t)quota : left;
        rest[p] = split->shares[p] > 0 ? quota - (double)given[p] : -1;
        left -= given[p];
    }
    for (; left; left--) {
        uint32_t most = 0;
        for (uint32_t p = 1; p < split->parts; p++)
            if (rest[p] > rest[most])
                most = p;
        given[most]++;
        rest[most] -= 1;
    }
    for (uint32_t p = 0; p < split->parts; p++) {
        int64_t end = cut.begin[p] + given[p] * unit;
        cut.begin[p + 1] = end < total ? end : total;
    }
    return cut;
}

// A unit of at least `least`, and of ROW_UNIT where that leaves enough of them.
static int64_t unit_of(const tlm_split *split, int64_t total, int64_t least)
{
    int64_t unit = least > ROW_UNIT ? least : ROW_UNIT;
    while (unit / 2 >= least && total / unit < (int64_t)split->parts * UNITS_A_PART)
        unit /= 2;
    return unit;
}

tlm_cut tlm_split_rows(const tlm_split *split, int64_t rows)
{
    return tlm_split_cut(split, rows, unit_of(split, rows, 1));
}

// ---------------------------------------------------------------------------------- blocks, heads

static int64_t block_of(tn_dtype dtype)
{
    switch (dtype) {
#define DTYPE(number, NAME, block_elements, block_bytes)                                           \
    case number:                                                                                   \
        return block_elements;
#include <tenon/dtypes.def>
    }
    return 1;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

bool tlm_split_heads(const tlm_split *split, const tlm_hparams *p, const tlm_weights *weights,
                     uint32_t layer, tlm_cut *out_heads, char why[TLM_NOTE_BYTES])
{
    if (!tlm_split_divides(split, layer) || !split->has_heads)
        return false;
    const tn_model_tensor *output = tlm_weights_at(weights, TLM_ATTN_OUTPUT, layer);
    int64_t columns = p->heads / p->kv_heads * p->head_dim, block = block_of(output->dtype);
    int64_t unit = block / common_divisor(block, columns);
    if (p->kv_heads > unit) {
        *out_heads = tlm_split_cut(split, p->kv_heads, unit);
        return true;
    }
    if (why && p->kv_heads == 1)
        snprintf(why, TLM_NOTE_BYTES, "the one key head of attention cannot be divided");
    else if (why)
        snprintf(why, TLM_NOTE_BYTES,
                 "attention cannot be divided by heads: the %" PRId64
                 " columns of '%s' for each of %" PRId64
                 " key heads do not make whole blocks of %" PRId64 " (%s)",
                 columns, output->name, p->kv_heads, block, tn_dtype_name(output->dtype));
    return false;
}

bool tlm_split_feed_forward(const tlm_split *split, const tlm_hparams *p,
                            const tlm_weights *weights, uint32_t layer, tlm_cut *out_columns,
                            char why[TLM_NOTE_BYTES])
{
    const tn_model_tensor *down = tlm_weights_at(weights, TLM_FFN_DOWN, layer);
    int64_t block = block_of(down->dtype);
    bool is_tensor = split->has_heads && p->feed_forward > block;
    *out_columns = tlm_split_cut(split, p->feed_forward,
                                 unit_of(split, p->feed_forward, is_tensor ? block : 1));
    if (why && split->has_heads && !is_tensor)
        snprintf(why, TLM_NOTE_BYTES,
                 "the feed-forward cannot be divided by columns: '%s' has one block of %" PRId64
                 " (%s) a row",
                 down->name, block, tn_dtype_name(down->dtype));
    return is_tensor;
}

// Parts that get some of a cut.
static uint32_t count_used(const tlm_cut *cut)
{
    uint32_t used = 0;
    for (uint32_t p = 0; p < cut->parts; p++)
        used += tlm_cut_range(cut, p).count > 0;
    return used;
}

void tlm_split_describe(const tlm_split *split, const tlm_hparams *p, const tlm_weights *weights,
                        char note[2 * TLM_NOTE_BYTES])
{
    char heads[TLM_NOTE_BYTES] = "",
         columns[TLM_NOTE_BYTES] = "";   // of the first layer that fails
    uint32_t layers = 0, wanted = 0, used = 0;
    note[0] = '\0';
    for (uint32_t i = 0; i < split->parts; i++)
        wanted += split->shares[i] > 0;
    for (uint32_t layer = split->first_layer; layer < (uint32_t)p->layers; layer++) {
        if (!tlm_split_divides(split, layer) || !split->has_heads)
            return;
        tlm_cut cut;
        bool has_heads = tlm_split_heads(split, p, weights, layer, &cut, *heads ? NULL : heads);
        used = has_heads ? count_used(&cut) : used;
        bool has_columns = tlm_split_feed_forward(split, p, weights, layer, &cut,
                                                  *columns ? NULL : columns);
        layers += !has_heads || !has_columns;
    }
    if (layers)
        snprintf(note, 2 * TLM_NOTE_BYTES,
                 "%.200s%s%.200s; rows of its matrices are divided instead, in %" PRIu32
                 " of %" PRId64 " layers",
                 heads, *heads && *columns ? "; " : "", columns, layers, p->layers);
    else if (used && used < wanted)
        snprintf(note, 2 * TLM_NOTE_BYTES,
                 "the %" PRId64 " key heads of attention are on %" PRIu32 " of %" PRIu32
                 " devices: their number and the shares give the others none",
                 p->kv_heads, used, wanted);
}
