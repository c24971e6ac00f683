// tune.c: tenon tune
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tune.h>

#include "cli.h"
#include "json.h"

enum { LEAST_DIM = 256, DEFAULT_DIM = 4096, MOST_DIM = 1 << 16 };

typedef struct tune_options {
    cli_common common;
    const char *devices;
    int64_t dim;
    bool dry_run, json;
} tune_options;

static const cli_option options[] = {
    CLI_COMMON_OPTIONS,
    { "device", 0, CLI_TEXT, "NAME,...", offsetof(tune_options, devices), 0, 0,
      "measure these devices only (default: all but software)" },
    { "size", 0, CLI_NUMBER, "N", offsetof(tune_options, dim), LEAST_DIM, MOST_DIM,
      "rows and columns of the weights, a multiple of 256 (default: 4096)" },
    { "dry-run", 0, CLI_FLAG, NULL, offsetof(tune_options, dry_run), 0, 0,
      "measure and print, keep nothing" },
    { "json", 0, CLI_FLAG, NULL, offsetof(tune_options, json), 0, 0, "print JSON" },
};

// ------------------------------------------------------------------------------------ collecting

// Of what is told, all that is kept until the end: a table a kind.
typedef struct rows {
    void *items;
    size_t bytes;   // of one
    uint32_t count, room;
} rows;

typedef struct collected {
    rows products, links, devices;
    bool is_short;   // of memory
} collected;

static void add(collected *c, rows *r, const void *item)
{
    if (r->count == r->room) {
        uint32_t room = r->room ? 2 * r->room : 32;
        void *larger = realloc(r->items, room * r->bytes);
        if (!larger) {
            c->is_short = true;
            return;
        }
        r->items = larger;
        r->room = room;
    }
    memcpy((char *)r->items + r->count++ * r->bytes, item, r->bytes);
}

static void take_product(void *context, const tn_tuned_product *told)
{
    collected *c = context;
    add(c, &c->products, told);
}

static void take_link(void *context, const tn_tuned_link *told)
{
    collected *c = context;
    add(c, &c->links, told);
}

static void take_device(void *context, const tn_tuned_device *told)
{
    collected *c = context;
    tn_tuned_device own = *told;
    own.kept_at = strdup(told->kept_at);
    c->is_short |= !own.kept_at;
    if (own.kept_at)
        add(c, &c->devices, &own);
}

static const tn_tuned_device *device_at(const collected *c, uint32_t index)
{
    return (const tn_tuned_device *)c->devices.items + index;
}

static const tn_tuned_product *product_at(const collected *c, uint32_t index)
{
    return (const tn_tuned_product *)c->products.items + index;
}

static const tn_tuned_link *link_at(const collected *c, uint32_t index)
{
    return (const tn_tuned_link *)c->links.items + index;
}

static void drop(collected *c)
{
    for (uint32_t i = 0; i < c->devices.count; i++)
        free((char *)device_at(c, i)->kept_at);
    free(c->products.items);
    free(c->links.items);
    free(c->devices.items);
}

// ---------------------------------------------------------------------------------------- telling

// NULL: it failed.
static const char *side(const collected *c, uint32_t device)
{
    for (uint32_t i = 0; i < c->devices.count; i++)
        if (device_at(c, i)->device == device)
            return device_at(c, i)->name;
    return device == TN_TUNE_HOST ? "host" : NULL;
}

static bool is_told(const collected *c, const tn_tuned_link *link)
{
    return side(c, link->from) && side(c, link->to);
}

static uint32_t products_of_device(const collected *c, uint32_t device)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->products.count; i++)
        count += product_at(c, i)->device == device;
    return count;
}

static void print_products(const collected *c, uint32_t device)
{
    puts("  weights  columns          time       claimed       GFLOPS      GB/s");
    for (uint32_t i = 0; i < c->products.count; i++) {
        const tn_tuned_product *p = product_at(c, i);
        if (p->device == device)
            printf("  %-7s  %7" PRIu32 "  %9.3f us  %9.3f us  %11.1f  %8.1f\n",
                   tn_dtype_name(p->dtype), p->columns, p->ns / 1e3, p->claimed_ns / 1e3,
                   p->flops_per_s / 1e9, p->bytes_per_s / 1e9);
    }
}

static void print_device(const collected *c, uint32_t index)
{
    const tn_tuned_device *device = device_at(c, index);
    bool has_products = products_of_device(c, device->device) > 0;
    if (has_products)
        printf("%s: its claims count %.3f times", device->name, device->claim_factor);
    else
        printf("%s: no product could be measured, its claims count as it says", device->name);
    printf(", a submit takes %.3f us\n", device->submit_ns / 1e3);
    if (has_products)
        print_products(c, device->device);
    printf(*device->kept_at ? "  kept at %s\n\n" : "  not kept%s\n\n", device->kept_at);
}

static void print_text(const collected *c)
{
    cli_catch_interrupt();
    for (uint32_t d = 0; d < c->devices.count; d++)
        print_device(c, d);
    puts("from        to             latency      GB/s  as the plugin says");
    for (uint32_t i = 0; i < c->links.count; i++) {
        const tn_tuned_link *link = link_at(c, i);
        if (!is_told(c, link))
            continue;
        printf("%-10s  %-10s %9.3f us  %8.1f  ", side(c, link->from), side(c, link->to),
               link->latency_ns / 1e3, link->bytes_per_s / 1e9);
        if (link->told_bytes_per_s > 0)
            printf("%.3f us, %.1f GB/s\n", link->told_latency_ns / 1e3,
                   link->told_bytes_per_s / 1e9);
        else
            puts("nothing");
    }
}

static json_t *products_of(const collected *c, uint32_t device)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < c->products.count; i++) {
        const tn_tuned_product *p = product_at(c, i);
        if (p->device == device)
            json_array_append_new(
                list, json_pack("{ss si sf sf sf sf}", "dtype", tn_dtype_name(p->dtype), "columns",
                                (int)p->columns, "ns", p->ns, "claimed_ns", p->claimed_ns,
                                "flops_per_s", p->flops_per_s, "bytes_per_s", p->bytes_per_s));
    }
    return list;
}

static int print_json(const collected *c)
{
    json_t *devices = json_array(), *links = json_array();
    for (uint32_t d = 0; d < c->devices.count; d++) {
        const tn_tuned_device *device = device_at(c, d);
        json_array_append_new(
            devices, json_pack("{ss sf sf so so}", "name", device->name, "claim_factor",
                               device->claim_factor, "submit_ns", device->submit_ns, "kept_at",
                               *device->kept_at ? json_string(device->kept_at) : json_null(),
                               "products", products_of(c, device->device)));
    }
    for (uint32_t i = 0; i < c->links.count; i++) {
        const tn_tuned_link *link = link_at(c, i);
        if (!is_told(c, link))
            continue;
        json_array_append_new(links, json_pack("{ss ss sf sf sf sf}", "from", side(c, link->from),
                                               "to", side(c, link->to), "latency_ns",
                                               link->latency_ns, "bytes_per_s", link->bytes_per_s,
                                               "told_latency_ns", link->told_latency_ns,
                                               "told_bytes_per_s", link->told_bytes_per_s));
    }
    json_t *root = json_pack("{si so so}", "schema_version", 1, "devices", devices, "links", links);
    return cli_json_print(root, "the figures of the devices");
}

// ---------------------------------------------------------------------------------------- command

// CPUs, as tn_tune says.
static void tell_not_kept(const tune_options *given, const tn_runtime *runtime, const collected *c)
{
    for (uint32_t d = 0; d < c->devices.count && given->dim && given->dim < DEFAULT_DIM; d++) {
        tn_device_info info = { .size = sizeof info };
        tn_device_describe(tn_runtime_find_device(runtime, device_at(c, d)->name), &info);
        if (info.kind == TN_KIND_CPU)
            cli_note("warning: %s: weights of %" PRId64 " rows and columns fit its caches, so what "
                     "was measured is not kept; --size %d or more is",
                     info.name, given->dim, DEFAULT_DIM);
    }
}

static int tune(const tune_options *given, tn_runtime *runtime)
{
    collected c = { .products.bytes = sizeof(tn_tuned_product),
                    .links.bytes = sizeof(tn_tuned_link),
                    .devices.bytes = sizeof(tn_tuned_device) };
    tn_tune_options how = { .size = sizeof how,
                            .flags = given->dry_run ? TN_TUNE_KEEP_NOTHING : 0,
                            .dim = (uint32_t)given->dim };
    tn_tune_sink listener = { &c, take_product, take_link, take_device };
    tn_device **devices = NULL;
    tn_error err = { 0 };
    int code = cli_find_devices(runtime, given->devices, &devices, &how.device_count);
    how.devices = devices;
    int failed = CLI_OK;   // a device: the others are told all the same
    if (code == CLI_OK && tn_tune(runtime, &how, &listener, &err) != TN_OK) {
        failed = cli_fail_status(&err);
        code = c.devices.count ? CLI_OK : failed;
    }
    if (failed && code == CLI_OK)
        cli_note("warning: what failed is left out, the others are measured");
    if (code == CLI_OK && c.is_short)
        code = cli_fail(CLI_MEMORY, "not enough memory for the figures of the devices");
    if (code == CLI_OK && c.devices.count == 0)
        code = cli_fail(CLI_NO_DEVICE, "no plugin offers a device, see tenon plugins --why");
    if (code == CLI_OK && given->json)
        code = print_json(&c);
    else if (code == CLI_OK)
        print_text(&c);
    if (code == CLI_OK && c.products.count == 0 && c.links.count == 0)
        code = cli_fail(CLI_NO_DEVICE,
                        "no product and no copy could be measured: no device takes a product "
                        "of --size, or has room for it, or for a copy");
    else if (code == CLI_OK && c.products.count == 0)
        cli_note("warning: no product could be measured: no device takes one of %" PRId64
                 " rows and columns, or has room for it; see --size",
                 given->dim ? given->dim : DEFAULT_DIM);
    if (code == CLI_OK && !given->dry_run)
        tell_not_kept(given, runtime, &c);
    free(devices);
    drop(&c);
    return code == CLI_OK ? failed : code;
}

static int run(int argc, char **argv)
{
    tune_options given = { 0 };
    tn_runtime *runtime = NULL;
    int count, code = cli_parse(&cli_tune_command, argc, argv, &given, 0, 0, &count);
    if (code >= 0) {
        cli_common_finish(&given.common);
        return code;
    }
    cli_end_at_interrupt();
    code = given.dim % LEAST_DIM
               ? cli_fail(CLI_USAGE, "--size %" PRId64 ": a multiple of %d is expected", given.dim,
                          LEAST_DIM)
               : cli_start(&given.common, &runtime);
    if (code == CLI_OK)
        code = tune(&given, runtime);
    tn_runtime_destroy(runtime);
    cli_common_finish(&given.common);
    int ended = cli_end_output();
    return code == CLI_OK ? ended : code;
}

const cli_command cli_tune_command = {
    "tune",
    "[options]",
    "Measures devices and links, and keeps what it finds for the cost model",
    "Products with weights of several types, at one column (a matter of memory) and at many (of "
    "arithmetic); what a\n"
    "submit takes; copies between host and devices. From then on plan and run reckon with it: a "
    "device's claims count so\n"
    "many times, a copy takes what the link was found to take. Of a CPU nothing is kept below a "
    "--size "
    "of 4096, which its\n"
    "caches hold. It is kept below "
    "$XDG_CACHE_HOME/tenon/tune, else\n"
    "~/.cache/tenon/tune, a file for each device as it is set up: with other settings or threads "
    "it "
    "is another. Removing\n"
    "the folder brings the defaults back. Close what else is busy first.\n",
    options,
    sizeof options / sizeof *options,
    run,
};
