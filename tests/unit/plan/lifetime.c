// When the bytes of a storage are touched: by operands, outputs, views and lengths, on each place.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"

enum { MOST = 16 };

typedef struct lives {
    tn_graph *graph;
    uint32_t steps[MOST], places[MOST];
    tni_lifetime made[MOST];
} lives;

static tn_value input(tn_graph *graph, const char *name, tn_dtype dtype, int64_t columns)
{
    return tn_graph_input(graph, name, dtype, 2,
                          (int64_t[]){ dtype == TN_DTYPE_I32 ? 1 : 4, columns });
}

static void finish(lives *l, tn_value out)
{
    tn_error err = { 0 };
    tn_graph_output(l->graph, "out", out);
    if (tn_graph_finish(l->graph, &err) != TN_OK)
        fail_msg("%s", err.text);
    for (uint32_t n = 0; n < l->graph->node_count; n++)
        l->steps[n] = n;
}

static void need_life(lives *l, uint32_t place, tn_value value, uint32_t first, uint32_t last)
{
    tni_plan_lifetimes(l->graph, l->steps, l->places, place, l->made);
    tni_lifetime life = l->made[l->graph->values[value.index].storage];
    if (life.first != first || life.last != last)
        fail_msg("'%s' lives from %u to %u, not from %u to %u", l->graph->values[value.index].name,
                 life.first, life.last, first, last);
}

static void need_never(lives *l, uint32_t place, tn_value value)
{
    need_life(l, place, value, UINT32_MAX, 0);
}

static void a_value_lives_from_its_maker_to_its_last_reader(void **state)
{
    (void)state;
    lives l = { .graph = NULL };
    assert_int_equal(tn_graph_create(NULL, &l.graph, NULL), TN_OK);
    tn_value x = input(l.graph, "x", TN_DTYPE_F32, 3),
             unused = input(l.graph, "u", TN_DTYPE_F32, 3);
    tn_value a = tn_graph_scale(l.graph, x, 1), b = tn_graph_scale(l.graph, a, 2);
    tn_value c = tn_graph_add(l.graph, a, b), d = tn_graph_scale(l.graph, c, 3);
    finish(&l, d);
    need_life(&l, 0, x, 0, 0);
    need_life(&l, 0, a, 0, 2);
    need_life(&l, 0, b, 1, 2);
    need_life(&l, 0, c, 2, 3);
    need_life(&l, 0, d, 3, 3);
    need_never(&l, 0, unused);
    need_never(&l, 1, a);
    tn_graph_destroy(l.graph);
}

static void views_keep_what_they_look_at_alive(void **state)
{
    (void)state;
    lives l = { .graph = NULL };
    assert_int_equal(tn_graph_create(NULL, &l.graph, NULL), TN_OK);
    tn_value x = input(l.graph, "x", TN_DTYPE_F32, 3);
    tn_value a = tn_graph_scale(l.graph, x, 1);
    tn_value view = tn_graph_slice(l.graph, tn_graph_reshape(l.graph, a, 1, (int64_t[]){ 12 }), 0,
                                   8, 4);
    tn_value b = tn_graph_scale(l.graph, x, 2), c = tn_graph_add(l.graph, b, view);
    finish(&l, c);
    need_life(&l, 0, a, 0, 2);
    tn_graph_destroy(l.graph);
}

static void lengths_live_as_long_as_what_they_limit_is_used(void **state)
{
    (void)state;
    lives l = { .graph = NULL };
    assert_int_equal(tn_graph_create(NULL, &l.graph, NULL), TN_OK);
    tn_value x = input(l.graph, "x", TN_DTYPE_F32, 3), n = input(l.graph, "n", TN_DTYPE_I32, 1);
    tn_value a = tn_graph_scale(l.graph, tn_graph_limit(l.graph, x, 1, n), 1);
    tn_value b = tn_graph_scale(l.graph, a, 2), c = tn_graph_scale(l.graph, b, 2);
    finish(&l, c);
    need_life(&l, 0, n, 0, 2);
    tn_graph_destroy(l.graph);
}

static void what_is_written_through_lives_on(void **state)
{
    (void)state;
    lives l = { .graph = NULL };
    assert_int_equal(tn_graph_create(NULL, &l.graph, NULL), TN_OK);
    tn_value x = input(l.graph, "x", TN_DTYPE_F32, 3);
    tn_value index = tn_graph_input(l.graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 3 });
    tn_value table = tn_graph_scale(l.graph, x, 1);
    tn_value written = tn_graph_set_rows(l.graph, table, x, index);
    tn_value y = tn_graph_scale(l.graph, written, 2), z = tn_graph_scale(l.graph, y, 2);
    finish(&l, z);
    need_life(&l, 0, table, 0, 2);
    tn_graph_destroy(l.graph);
}

static void each_place_has_lives_of_its_own(void **state)
{
    (void)state;
    lives l = { .graph = NULL };
    assert_int_equal(tn_graph_create(NULL, &l.graph, NULL), TN_OK);
    tn_value x = input(l.graph, "x", TN_DTYPE_F32, 3);
    tn_value a = tn_graph_scale(l.graph, x, 1), b = tn_graph_scale(l.graph, a, 2);
    tn_value c = tn_graph_add(l.graph, a, b);
    finish(&l, c);
    l.places[1] = 1;
    l.steps[0] = 5, l.steps[1] = 6, l.steps[2] = 9;   // any numbers
    need_life(&l, 0, a, 5, 9);
    need_life(&l, 1, a, 6, 6);
    need_life(&l, 0, b, 9, 9);
    need_life(&l, 1, b, 6, 6);
    need_life(&l, 0, x, 5, 5);
    need_never(&l, 1, x);
    need_never(&l, 1, c);
    tn_graph_destroy(l.graph);
}

static void a_step_of_0_counts(void **state)
{
    (void)state;
    lives l = { .graph = NULL };
    assert_int_equal(tn_graph_create(NULL, &l.graph, NULL), TN_OK);
    tn_value y = tn_graph_scale(l.graph, input(l.graph, "x", TN_DTYPE_F32, 3), 1);
    finish(&l, y);
    need_life(&l, 0, y, 0, 0);   // not the same as never
    tn_graph_destroy(l.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_lives_from_its_maker_to_its_last_reader),
        cmocka_unit_test(views_keep_what_they_look_at_alive),
        cmocka_unit_test(lengths_live_as_long_as_what_they_limit_is_used),
        cmocka_unit_test(what_is_written_through_lives_on),
        cmocka_unit_test(each_place_has_lives_of_its_own),
        cmocka_unit_test(a_step_of_0_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
