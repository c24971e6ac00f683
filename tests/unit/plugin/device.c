// Opening a device once, and answers about its memories that are checked; the plugin is a table of
// this file.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plugin/plugin_internal.h"

static int opened_count;
static tnp_status open_answer;
static const char *open_text;
static tnp_memory_info memory_answer;

static tnp_status open_one(tnp_instance *instance, const tnp_open *what, tnp_device **out,
                           tnp_error *err)
{
    (void)instance;
    snprintf(err->text, sizeof err->text, "%s", open_text);
    if (open_answer == TNP_OK && what->id == 42)
        *out = (tnp_device *)&opened_count;
    opened_count++;
    return open_answer;
}

static tnp_status tell_memory(tnp_device *device, uint32_t memory, tnp_memory_info *info,
                              tnp_error *err)
{
    (void)device, (void)memory, (void)err;
    TNP_GIVE(info, &memory_answer);
    return TNP_OK;
}

static const tnp_plugin table = { .size = sizeof table,
                                  .open = open_one,
                                  .memory_info = tell_memory };

typedef struct device_case {
    tn_runtime runtime;
    tni_offer offer;
    tni_plugin plugin;
    tn_device device;
} device_case;

static void device_case_init(device_case *c)
{
    static int instance;
    *c = (device_case){ .offer = { .info = { .id = 42, .memory_count = 1 } },
                        .plugin = { .table = &table, .instance = (tnp_instance *)&instance },
                        .device = { .plugin = "npu", .name = "npu0" } };
    c->plugin.runtime = c->device.runtime = &c->runtime;
    c->plugin.answer = (tni_answer){ .count = 1, .offers = &c->offer };
    c->device.owner = &c->plugin;
    c->device.info = c->offer.info;
    pthread_mutex_init(&c->runtime.asking, NULL);
    pthread_mutex_init(&c->runtime.opening, NULL);
    opened_count = 0;
    open_answer = TNP_OK;
    open_text = "";
}

static void a_device_is_opened_once(void **state)
{
    (void)state;
    device_case c;
    tn_error err;
    device_case_init(&c);
    assert_int_equal(tni_device_open(&c.device, &err), TN_OK);
    assert_int_equal(tni_device_open(&c.device, &err), TN_OK);
    assert_int_equal(opened_count, 1);
    assert_non_null(c.device.opened);
}

static void a_device_that_cannot_be_opened_says_so_and_may_be_tried_again(void **state)
{
    (void)state;
    device_case c;
    tn_error err;
    device_case_init(&c);
    open_answer = TNP_E_DEVICE_LOST;
    assert_int_equal(tni_device_open(&c.device, &err), TN_E_DEVICE_LOST);
    assert_string_equal(err.text, "npu0: open: TN_E_DEVICE_LOST, no reason given");
    assert_null(c.device.opened);
    open_text = "open: no driver";   // the call is told once
    assert_int_equal(tni_device_open(&c.device, &err), TN_E_DEVICE_LOST);
    assert_string_equal(err.text, "npu0: open: no driver");
    c.device.id = 43;   // answers success and gives nothing
    open_answer = TNP_OK;
    assert_int_equal(tni_device_open(&c.device, &err), TN_E_INTERNAL);
    c.device.id = 42;
    assert_int_equal(tni_device_open(&c.device, &err), TN_OK);
}

// 0 is told where the total is.
static void free_memory_is_told_or_not(void **state)
{
    (void)state;
    static const struct {
        uint64_t total, free, want;
    } cases[] = { { 100, 40, 40 }, { 100, 0, 0 }, { 0, 40, 40 }, { 0, 0, UINT64_MAX } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tnp_memory_info info = { .size = sizeof info,
                                       .total_bytes = cases[i].total,
                                       .free_bytes = cases[i].free };
        assert_true(tni_memory_free(&info) == cases[i].want);
    }
}

static void answers_about_a_memory_are_checked(void **state)
{
    (void)state;
    device_case c;
    tn_error err;
    tnp_memory_info info;
    device_case_init(&c);
    assert_int_equal(tni_device_memory(&c.device, 0, &info, &err), TN_E_ARG);   // not open
    assert_int_equal(tni_device_open(&c.device, &err), TN_OK);
    assert_int_equal(tni_device_memory(&c.device, 1, &info, &err), TN_E_ARG);

    memory_answer = (tnp_memory_info){ .size = sizeof info,
                                       .alignment_bytes = 64,
                                       .total_bytes = 100,
                                       .free_bytes = 900,
                                       .max_buffer_bytes = UINT64_MAX,
                                       .max_binding_bytes = 50 };
    assert_int_equal(tni_device_memory(&c.device, 0, &info, &err), TN_OK);
    assert_int_equal(info.free_bytes, 100);
    assert_int_equal(info.max_buffer_bytes, 100);
    assert_int_equal(info.max_binding_bytes, 50);

    memory_answer.alignment_bytes = 0;
    assert_int_equal(tni_device_memory(&c.device, 0, &info, &err), TN_E_INTERNAL);
    memory_answer.alignment_bytes = 64;
    memory_answer.import_alignment_bytes = 48;
    assert_int_equal(tni_device_memory(&c.device, 0, &info, &err), TN_E_INTERNAL);
    assert_int_equal(info.total_bytes, 0);

    c.device.info.memory_count = 0;   // not a fault of whoever asks
    assert_int_equal(tni_device_memory(&c.device, 0, &info, &err), TN_E_INTERNAL);
    assert_non_null(strstr(err.text, "npu0: memory_info"));
}

static void a_description_fills_only_the_room_given(void **state)
{
    (void)state;
    device_case c;
    tn_device_info info = { .size = offsetof(tn_device_info, driver), .driver = "untouched" };
    device_case_init(&c);
    c.device.plugin = "npu";
    tn_device_describe(&c.device, &info);
    assert_string_equal(info.name, "npu0");
    assert_string_equal(info.driver, "untouched");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_is_opened_once),
        cmocka_unit_test(a_device_that_cannot_be_opened_says_so_and_may_be_tried_again),
        cmocka_unit_test(answers_about_a_memory_are_checked),
        cmocka_unit_test(free_memory_is_told_or_not),
        cmocka_unit_test(a_description_fills_only_the_room_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
