// What a link costs: by the plugin of both devices, through the host, by default; and a submit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sched_test.h"

static rig r;
static tnp_plugin table, other_table;
static tnp_link direct, up, down;   // between devices, from one, to one
static tnp_status answer = TNP_OK;

static tnp_status link_devices(tnp_device *from, tnp_device *to, tnp_link *link, tnp_error *err)
{
    (void)err;
    tnp_link own = from && to ? direct : from ? up : down;
    own.size = sizeof own;
    TNP_GIVE(link, &own);
    return answer;
}

static int begin(void **state)
{
    (void)state;
    rig_begin(&r, 3);
    table = other_table = fake_plugin;
    table.link = other_table.link = link_devices;
    direct = (tnp_link){ .flags = TNP_LINK_COPY, .bytes_per_s = 1000000000, .latency_ns = 100 };
    up = (tnp_link){ .bytes_per_s = 500000000, .latency_ns = 1000 };
    down = (tnp_link){ .bytes_per_s = 250000000, .latency_ns = 2000 };
    answer = TNP_OK;
    for (int i = 0; i < 3; i++) {   // 0 and 1 are of one instance
        r.devices[i].table = i < 2 ? &table : &other_table;
        r.devices[i].instance = fake_instance(&r.fakes[i < 2 ? 0 : 2]);
        r.devices[i].opened = (tnp_device *)&r.fakes[i];
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    rig_end(&r);
    return 0;
}

static double cost(uint32_t from, uint32_t to, uint64_t bytes)
{
    tni_links links;
    assert_true(tni_links_find(r.list, r.device_count, &r.arena, &links));
    return tni_links_cost_ns(&links, from, to, bytes);
}

static bool is_near(double a, double b)
{
    return a > b * (1 - 1e-12) - 1e-12 && a < b * (1 + 1e-12) + 1e-12;
}

static void devices_of_one_instance_have_their_own_link(void **state)
{
    (void)state;
    assert_true(is_near(cost(0, 1, 1000), 100 + 1000));
    assert_true(is_near(cost(1, 0, 0), 100));
    assert_true(cost(1, 1, 1000) == 0);
}

static void others_copy_through_the_host(void **state)
{
    (void)state;
    assert_true(is_near(cost(0, 2, 1000), 1000 + 2 * 1000 + 2000 + 4 * 1000));
    direct.flags = 0;   // no copies between their buffers
    assert_true(is_near(cost(0, 1, 1000), 1000 + 2 * 1000 + 2000 + 4 * 1000));
}

static void what_nobody_knows_is_a_slow_link(void **state)
{
    (void)state;
    double want = rig_copy_ns(&r, 1000);
    assert_true(is_near(want, 10000 + 125));
    up.bytes_per_s = 0;
    assert_true(is_near(cost(0, 2, 1000), want));
    up.bytes_per_s = 1;
    answer = TNP_E_DEVICE_LOST;
    assert_true(is_near(cost(0, 2, 1000), want));
    assert_true(is_near(cost(0, 1, 1000), want));
    answer = TNP_OK;
    r.devices[2].opened = NULL;
    assert_true(is_near(cost(0, 2, 1000), want));
    r.devices[2].opened = (tnp_device *)&r.fakes[2];
    other_table.link = NULL;
    assert_true(is_near(cost(2, 0, 1000), want));
}

// A copy lets a segment begin where it goes to.
static void a_copy_pays_a_measured_submit_where_it_goes(void **state)
{
    (void)state;
    double unknown = cost(0, 2, 1000), back = cost(2, 0, 1000);
    r.devices[2].measured = (tni_measured){ .is_there = true, .submit_ns = 7000 };
    assert_true(is_near(cost(0, 2, 1000), unknown + 7000));
    assert_true(is_near(cost(2, 0, 1000), back));
    assert_true(cost(2, 2, 1000) == 0);
    r.devices[2].measured.is_there = false;
    assert_true(is_near(cost(0, 2, 1000), unknown));
}

// 25 us are the default.
static void one_segment_more_costs_a_submit(void **state)
{
    (void)state;
    tni_links links;
    r.devices[1].measured = (tni_measured){ .is_there = true, .submit_ns = 7000 };
    assert_true(tni_links_find(r.list, r.device_count, &r.arena, &links));
    assert_true(is_near(tni_links_submit_ns(&links, 0), 25e3));
    assert_true(is_near(tni_links_submit_ns(&links, 1), 7000));
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(devices_of_one_instance_have_their_own_link),
        CASE(others_copy_through_the_host),
        CASE(what_nobody_knows_is_a_slow_link),
        CASE(a_copy_pays_a_measured_submit_where_it_goes),
        CASE(one_segment_more_costs_a_submit),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
