// A file of intervals of any bytes, and the plan of what it holds.
#include "intervals.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PLANNED = 300, MOST_SEARCHED = 12 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int is_so)
{
    if (!is_so)
        abort();
}

static void plan(const cli_intervals *in)
{
    uint64_t offsets[MOST_PLANNED];
    // Large ones only by the quick ways: they are many.
    const tn_plan_options options = { .size = sizeof options,
                                      .alignment = in->count % 2 ? 1 : 64,
                                      .capacity = in->count > MOST_SEARCHED ? INT64_MAX : 0 };
    tn_plan_result result = { .size = sizeof result };
    tn_status status = tn_plan_intervals(in->items, in->count, &options, offsets, &result, NULL);
    if (status == TN_E_DEVICE_MEMORY)   // too much when rounded up
        return;
    need(status == TN_OK);
    need(result.peak_bytes >= result.lower_bound_bytes);
    need(tn_plan_check(in->items, in->count, &options, offsets, &result, NULL) == TN_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cli_intervals in;
    tn_error err = { 0 };
    char *text = malloc(size ? size : 1);   // so that a sanitizer sees what is read beyond it
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    tn_status status = cli_intervals_read("f", text, size, &in, &err);
    free(text);
    need(status == TN_OK || (status == TN_E_FILE && strncmp(err.text, "f:", 2) == 0));
    uint64_t sum = 0;
    for (uint32_t i = 0; i < in.count; i++) {
        need(in.items[i].lower < in.items[i].upper);
        sum += in.items[i].bytes;
        need(sum <= INT64_MAX);
    }
    if (status == TN_OK && in.count <= MOST_PLANNED)
        plan(&in);
    cli_intervals_free(&in);
    return 0;
}
