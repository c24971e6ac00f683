#include "shapes_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

void check_shape(const shape_case *c)
{
    tn_graph *graph = test_graph();
    tn_value in[MOST];
    uint32_t count = 0;
    char says[256] = "";
    for (; count < MOST && c->in[count]; count++) {
        char name[8];
        snprintf(name, sizeof name, "in%u", count);
        in[count] = *c->in[count] ? test_value(graph, name, c->in[count]) : TN_NO_VALUE;
        snprintf(says + strlen(says), sizeof says - strlen(says), "%s%s", count ? ", " : "",
                 c->in[count]);
    }
    const char *op = tni_op_find(c->op)->name;
    char all[320];
    snprintf(all, sizeof all, "%s of %s", op, says);
    tn_value out = tn_graph_op(graph, c->op, "this node", in, count, c->attr);
    if (c->out) {
        if (tn_value_is_none(out))
            fail_msg("%s: %s", all, graph->first_error.text);
        if (strcmp(test_shape(graph, out), c->out) != 0)
            fail_msg("%s: %s, not %s", all, test_shape(graph, out), c->out);
        tn_graph_destroy(graph);
        return;
    }
    if (!tn_value_is_none(out))
        fail_msg("%s: it gives %s and should be refused", all, test_shape(graph, out));
    char head[64], shapes[2][160] = { "", "" };
    snprintf(head, sizeof head, "%s 'this node': ", op);
    for (int i = 0; i < 2; i++)
        if (c->shown[i])
            tni_value_text(test_at(graph, in[c->shown[i] - 1]), shapes[i], sizeof shapes[i]);
    test_refused(graph, all, c->status,
                 (const char *[]){ head, c->words, shapes[0], shapes[1], NULL });
}

void check_shapes(const shape_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_shape(&cases[i]);
}
