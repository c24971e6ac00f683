// One physical device, one owner: which of several plugins a device is listed of, and why.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_alloc.h"
#include "plugin/plugin_internal.h"

enum { MOST = 4 };

typedef struct offered {
    const char *plugin, *pci;
    uint8_t uuid;
    double flops;
    uint32_t kind;
    const char *host;
} offered;

static const struct {
    const char *says;
    const char *order;   // "b" = named in the configuration
    offered devices[MOST];
    const char *listed;     // plugins of the devices that are left
    const char *shadowed;   // "loser>winner" of the others
    const char *why;
} cases[] = {
    { "nothing in common",
      "",
      { { .plugin = "a", .pci = "1" }, { .plugin = "b", .pci = "2" } },
      "ab",
      "",
      "" },
    { "nothing told",
      "",
      { { .plugin = "a", .pci = "" }, { .plugin = "b", .pci = "" } },
      "ab",
      "",
      "" },
    { "one PCI address",
      "",
      { { .plugin = "a", .pci = "1" }, { .plugin = "b", .pci = "1" } },
      "a",
      "b>a ",
      "which comes first" },
    { "one UUID",
      "",
      { { .plugin = "a", .pci = "1", .uuid = 7 }, { .plugin = "b", .pci = "", .uuid = 7 } },
      "a",
      "b>a ",
      "which comes first" },
    { "the faster",
      "",
      { { .plugin = "a", .pci = "1", .flops = 100 }, { .plugin = "b", .pci = "1", .flops = 200 } },
      "b",
      "a>b ",
      "which tells more operations a second" },
    { "hardly faster",
      "",
      { { .plugin = "a", .pci = "1", .flops = 100 }, { .plugin = "b", .pci = "1", .flops = 105 } },
      "a",
      "b>a ",
      "which comes first" },
    { "only one tells how fast",
      "",
      { { .plugin = "a", .pci = "1" }, { .plugin = "b", .pci = "1", .flops = 5 } },
      "a",
      "b>a ",
      "which comes first" },
    { "configured before faster",
      "a",
      { { .plugin = "a", .pci = "1", .flops = 100 }, { .plugin = "b", .pci = "1", .flops = 200 } },
      "a",
      "b>a ",
      "which comes first in the configured order" },
    { "configured though later",
      "b",
      { { .plugin = "a", .pci = "1" }, { .plugin = "b", .pci = "1" } },
      "b",
      "a>b ",
      "which comes first in the configured order" },
    { "software is never the same",
      "",
      { { .plugin = "a", .pci = "1", .kind = TNP_KIND_SOFTWARE }, { .plugin = "b", .pci = "1" } },
      "ab",
      "",
      "" },
    { "another host",
      "",
      { { .plugin = "a", .pci = "1" }, { .plugin = "b", .pci = "1", .host = "far" } },
      "ab",
      "",
      "" },
    { "never two of one plugin",
      "",
      { { .plugin = "a", .pci = "1" }, { .plugin = "a", .pci = "1" } },
      "aa",
      "",
      "" },
    { "three for one",
      "",
      { { .plugin = "a", .pci = "1" },
        { .plugin = "b", .pci = "1", .flops = 9 },
        { .plugin = "c", .pci = "1" } },
      "a",
      "b>a c>a ",
      "which comes first" },
    { "who lost to a loser",
      "c",
      { { .plugin = "a", .pci = "1" },
        { .plugin = "b", .pci = "1" },
        { .plugin = "c", .pci = "1" } },
      "c",
      "b>c a>c ",
      "which comes first" },
    { "one that is two others",
      "c",
      { { .plugin = "a", .pci = "1" },
        { .plugin = "b", .pci = "", .uuid = 7 },
        { .plugin = "c", .pci = "1", .uuid = 7 } },
      "c",
      "a>c b>c ",
      "which comes first in the configured order" },
    { "one that beats one of two",
      "",
      { { .plugin = "a", .pci = "1", .flops = 10 },
        { .plugin = "b", .pci = "", .uuid = 7, .flops = 900 },
        { .plugin = "c", .pci = "1", .uuid = 7, .flops = 100 } },
      "b",
      "a>b c>b ",
      "which tells more operations a second" },
};

typedef struct owner_case {
    tn_runtime runtime;
    tni_plugin plugins[MOST];
    tn_device devices[MOST];
    tn_device *list[MOST];
    tni_config_word order;
    uint32_t count;
} owner_case;

static void fill(owner_case *c, const offered *devices, const char *order,
                 const tn_allocator *allocator)
{
    memset(c, 0, sizeof *c);
    c->runtime.allocator = *allocator;
    c->runtime.devices = c->list;
    c->order.text = order;
    c->runtime.config.order = (tni_config_words){ .items = &c->order, .count = 1 };
    while (c->count < MOST && devices[c->count].plugin) {
        const offered *from = &devices[c->count];
        tn_device *device = &c->devices[c->count];
        *device = (tn_device){ .runtime = &c->runtime, .plugin = from->plugin };
        device->owner = &c->plugins[from->plugin[0] - 'a'];
        device->info.kind = from->kind ? from->kind : TNP_KIND_GPU;
        device->info.uuid[3] = from->uuid;
        device->info.flops_per_s = from->flops;
        snprintf(device->info.pci, sizeof device->info.pci, "%s", from->pci);
        snprintf(device->info.host, sizeof device->info.host, "%s", from->host ? from->host : "");
        c->list[c->count++] = device;
    }
    c->runtime.device_count = c->count;
}

static void each_device_has_one_owner_and_the_reason_is_told(void **state)
{
    (void)state;
    failing_alloc none;
    failing_alloc_init(&none, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        owner_case c;
        char listed[MOST + 1] = "", shadowed[64] = "";
        const char *why = "";
        tn_error err;
        fill(&c, cases[i].devices, cases[i].order, &none.allocator);
        assert_int_equal(tni_owners_decide(&c.runtime, &err), TN_OK);
        for (uint32_t d = 0; d < c.runtime.device_count; d++)
            listed[d] = c.list[d]->plugin[0];
        for (uint32_t s = 0; s < c.runtime.shadowed_count; s++) {
            const tni_shadowed *one = &c.runtime.shadowed[s];
            size_t used = strlen(shadowed);
            snprintf(shadowed + used, sizeof shadowed - used, "%s>%s ", one->device->plugin,
                     one->by->plugin);
            why = s == 0 ? one->why : why;
            assert_non_null(strstr(one->device->owner->why.text, "is left out: "));
        }
        if (strcmp(listed, cases[i].listed) != 0 || strcmp(shadowed, cases[i].shadowed) != 0 ||
            strcmp(why, cases[i].why) != 0)
            fail_msg("%s: %s, %s, %s", cases[i].says, listed, shadowed, why);
        none.allocator.free(none.allocator.context, c.runtime.shadowed);
    }
    assert_int_equal(none.alive, 0);
}

static const struct {
    const char *says;
    offered devices[MOST];   // all called "GPU"
    const char *doubted;     // "device?other " of those that may be one
} doubts[] = {
    { "nothing told", { { .plugin = "a", .pci = "" }, { .plugin = "b", .pci = "" } }, "b?a " },
    { "only one tells", { { .plugin = "a", .pci = "1" }, { .plugin = "b", .pci = "" } }, "b?a " },
    { "each tells something else",
      { { .plugin = "a", .pci = "1" }, { .plugin = "b", .pci = "", .uuid = 7 } },
      "b?a " },
    { "two addresses", { { .plugin = "a", .pci = "1" }, { .plugin = "b", .pci = "2" } }, "" },
    { "two UUIDs",
      { { .plugin = "a", .pci = "1", .uuid = 1 }, { .plugin = "b", .pci = "", .uuid = 7 } },
      "" },
    { "one plugin", { { .plugin = "a", .pci = "" }, { .plugin = "a", .pci = "" } }, "" },
    { "another host",
      { { .plugin = "a", .pci = "" }, { .plugin = "b", .pci = "", .host = "far" } },
      "" },
    { "another kind",
      { { .plugin = "a", .pci = "" },
        { .plugin = "b", .pci = "", .kind = TNP_KIND_INTEGRATED_GPU } },
      "" },
    { "software",
      { { .plugin = "a", .pci = "", .kind = TNP_KIND_SOFTWARE },
        { .plugin = "b", .pci = "", .kind = TNP_KIND_SOFTWARE } },
      "" },
    { "CPUs",
      { { .plugin = "a", .pci = "", .kind = TNP_KIND_CPU },
        { .plugin = "b", .pci = "", .kind = TNP_KIND_CPU } },
      "" },
    { "one that is known to be another",
      { { .plugin = "a", .pci = "1" },
        { .plugin = "b", .pci = "1" },
        { .plugin = "b", .pci = "" } },
      "" },
    { "each once",
      { { .plugin = "a", .pci = "" }, { .plugin = "b", .pci = "" }, { .plugin = "c", .pci = "" } },
      "b?a c?a " },
};

static void keep_doubt(void *context, int32_t level, const char *text)
{
    char *lines = context, device[32], other[32];
    assert_int_equal(level, TN_LOG_WARNING);
    assert_int_equal(sscanf(text, "%31s may be %31s of plugin ", device, other), 2);
    assert_non_null(strstr(text, "both are called 'GPU', and no PCI address or UUID tells"));
    snprintf(lines + strlen(lines), 64 - strlen(lines), "%s?%s ", device, other);
}

static void devices_that_may_be_one_are_told_and_used(void **state)
{
    (void)state;
    failing_alloc none;
    failing_alloc_init(&none, 0);
    for (size_t i = 0; i < sizeof doubts / sizeof *doubts; i++) {
        owner_case c;
        char lines[64] = "";
        tn_error err;
        fill(&c, doubts[i].devices, "", &none.allocator);
        for (uint32_t d = 0; d < c.count; d++) {
            strcpy(c.devices[d].info.name, "GPU");
            strcpy(c.devices[d].name, c.devices[d].plugin);
        }
        c.runtime.log = (tni_log){ .write = keep_doubt, .context = lines };
        assert_int_equal(tni_owners_decide(&c.runtime, &err), TN_OK);
        uint32_t used = c.runtime.device_count;
        tni_owners_doubt(&c.runtime);
        assert_int_equal(c.runtime.device_count, used);
        if (strcmp(lines, doubts[i].doubted) != 0)
            fail_msg("%s: %s", doubts[i].says, lines);
        if (lines[0])
            assert_non_null(strstr(c.plugins[1].why.text, "device 0 may be a of plugin a"));
        none.allocator.free(none.allocator.context, c.runtime.shadowed);
    }
}

static tn_status decide(const tn_allocator *allocator, void *context)
{
    owner_case c;
    tn_error err;
    const size_t *which = context;
    fill(&c, cases[*which].devices, cases[*which].order, allocator);
    tn_status status = tni_owners_decide(&c.runtime, &err);
    if (c.runtime.shadowed)
        allocator->free(allocator->context, c.runtime.shadowed);
    return status;
}

static void without_memory_it_is_a_status(void **state)
{
    (void)state;
    size_t which = 2;
    for_each_failing_allocation(decide, &which);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_device_has_one_owner_and_the_reason_is_told),
        cmocka_unit_test(devices_that_may_be_one_are_told_and_used),
        cmocka_unit_test(without_memory_it_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
