// Layers, and parts of layers, over the devices of a split, within what each has room for.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "sched/placement.h"
#include "sched_test.h"

enum { LAYERS = 5, BYTES = 48 };

static rig r;

// Two GPUs and a CPU.
static int begin(void **state)
{
    (void)state;
    rig_begin(&r, 3);
    r.devices[0].info.kind = r.devices[1].info.kind = TNP_KIND_GPU;
    r.devices[2].info.kind = TNP_KIND_CPU;
    return 0;
}

static int end(void **state)
{
    (void)state;
    rig_end(&r);
    return 0;
}

static tni_placement take(const tn_placement *asked)
{
    tni_placement p;
    assert_int_equal(tni_placement_take(asked, r.list, 3, &r.arena, &p, &r.err), TN_OK);
    return p;
}

static void expect(tni_spread got, const char *where, const char *says)
{
    if (got != (*where ? TNI_SPREAD_DONE : TNI_SPREAD_FULL))
        fail_msg("%s: %d", says, got);
}

// Five layers over two devices with room for so many of them.
static void what_has_no_room_goes_to_the_others(void **state)
{
    (void)state;
    enum { ALL = 99 };
    static const struct {
        const char *says;
        double shares[2];
        uint64_t most[2];    // layers
        const char *where;   // by layer; "" = there is no room
    } cases[] = {
        { "room for all", { 1, 1 }, { ALL, ALL }, "00011" },
        { "as the shares are", { 1, 1 }, { 3, 2 }, "00011" },
        { "the first is full", { 1, 1 }, { 0, ALL }, "11111" },
        { "the second is full", { 1, 1 }, { ALL, 0 }, "00000" },
        { "the first has room for one", { 4, 1 }, { 1, ALL }, "01111" },
        { "the second has room for two", { 1, 4 }, { ALL, 2 }, "00011" },
        { "together just enough", { 1, 9 }, { 4, 1 }, "00001" },
        { "together too little", { 1, 1 }, { 2, 2 }, "" },
        { "nothing", { 1, 1 }, { 0, 0 }, "" },
        { "a share of none takes nothing", { 1, 0 }, { 4, ALL }, "" },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        const uint64_t free_bytes[] = { 1000, 1000, 1000 };
        const tni_placement p = take(&(tn_placement){ .size = sizeof(tn_placement),
                                                      .split_mode = TN_SPLIT_LAYER,
                                                      .shares = cases[i].shares,
                                                      .share_count = 2 });
        uint64_t bytes[LAYERS] = { BYTES, BYTES, BYTES, BYTES, BYTES }, wishes[LAYERS] = { 0 };
        tni_layers layers = {
            .count = LAYERS, .bytes = bytes, .offloaded = LAYERS, .wishes = wishes
        };
        for (int d = 0; d < 2; d++)   // a byte less than one more
            layers.most_bytes[d] = cases[i].most[d] == ALL ? UINT64_MAX
                                   : cases[i].most[d]      ? BYTES * cases[i].most[d] + BYTES - 1
                                                           : 0;
        tni_spread spread = tni_spread_layers(&p, r.list, 3, free_bytes, &r.arena, &layers);
        expect(spread, cases[i].where, cases[i].says);
        uint64_t given[2] = { 0, 0 };
        for (uint32_t k = 0; k < LAYERS && spread == TNI_SPREAD_DONE; k++) {
            if (wishes[k] != UINT64_C(1) << (cases[i].where[k] - '0'))
                fail_msg("%s: layer %u is on %llu", cases[i].says, k,
                         (unsigned long long)wishes[k]);
            given[cases[i].where[k] - '0'] += BYTES;
        }
        for (int d = 0; d < 2 && spread == TNI_SPREAD_DONE; d++)
            assert_true(layers.given_bytes[d] == given[d]);
    }
}

// Without shares by what is free: a device that is full gets nothing, and where one does not tell
// each gets as much.
static void layers_go_by_what_is_free(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        uint64_t free_bytes[3];
        uint64_t first;   // the places of the first layer
    } cases[] = {
        { "both alike", { 1000, 1000, 1000 }, 1 },
        { "the first is full", { 0, 1000, 1000 }, 2 },
        { "the second does not tell", { 1, UINT64_MAX, 1000 }, 1 },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        const tni_placement p = take(
            &(tn_placement){ .size = sizeof(tn_placement), .split_mode = TN_SPLIT_LAYER });
        uint64_t bytes[LAYERS] = { BYTES, BYTES, BYTES, BYTES, BYTES }, wishes[LAYERS] = { 0 };
        tni_layers layers = {
            .count = LAYERS, .bytes = bytes, .offloaded = LAYERS, .wishes = wishes
        };
        memset(layers.most_bytes, 0xff, sizeof layers.most_bytes);
        expect(tni_spread_layers(&p, r.list, 3, cases[i].free_bytes, &r.arena, &layers), "all",
               cases[i].says);
        if (wishes[0] != cases[i].first || wishes[LAYERS - 1] != 2)
            fail_msg("%s: the first layer is on %d", cases[i].says, (int)wishes[0]);
    }
}

// Two layers, each of a part for either device and a rest.
static void parts_without_room_go_to_the_others(void **state)
{
    (void)state;
    enum { ALL = 99 };
    static const struct {
        const char *says;
        uint64_t most[2];
        const char *where;   // by layer: parts, then the rest; "" = there is no room
    } cases[] = {
        { "room for all", { ALL, ALL }, "010 010" },
        { "the first is full", { 0, ALL }, "111 111" },
        { "the second is full", { ALL, 0 }, "000 000" },
        { "the last layers come first", { 2, ALL }, "111 010" },
        { "either has room for some", { 3, 3 }, "110 010" },
        { "together too little", { 3, 2 }, "" },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        const tni_placement p = take(
            &(tn_placement){ .size = sizeof(tn_placement), .split_mode = TN_SPLIT_ROW });
        uint64_t part_bytes[6] = { BYTES, BYTES, BYTES, BYTES, BYTES, BYTES };
        uint64_t wishes[2], part_wishes[4];
        tni_layers layers = { .count = 2,
                              .part_count = 2,
                              .part_bytes = part_bytes,
                              .offloaded = 2,
                              .wishes = wishes,
                              .part_wishes = part_wishes,
                              .split_places = 3 };
        for (int d = 0; d < 2; d++)
            layers.most_bytes[d] = cases[i].most[d] == ALL ? UINT64_MAX : BYTES * cases[i].most[d];
        tni_spread spread = tni_spread_parts(&p, r.list, 3, &layers);
        expect(spread, cases[i].where, cases[i].says);
        for (uint32_t k = 0; k < 6 && spread == TNI_SPREAD_DONE; k++) {
            uint64_t got = k % 3 < 2 ? part_wishes[k / 3 * 2 + k % 3] : wishes[k / 3];
            if (got != UINT64_C(1) << (cases[i].where[k / 3 * 4 + k % 3] - '0'))
                fail_msg("%s: %u of layer %u is on %llu", cases[i].says, k % 3, k / 3,
                         (unsigned long long)got);
        }
    }
}

int main(void)
{
#define IN_RIG(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        IN_RIG(what_has_no_room_goes_to_the_others),
        IN_RIG(layers_go_by_what_is_free),
        IN_RIG(parts_without_room_go_to_the_others),
    };
#undef IN_RIG
    return cmocka_run_group_tests(tests, NULL, NULL);
}
