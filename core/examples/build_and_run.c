// build_and_run.c: a graph of three nodes, built, finished, compiled and run: y = silu(x W + b).
#include <stdio.h>
#include <tenon/tenon.h>

static int fail(const tn_error *err)
{
    fprintf(stderr, "%s: %s\n", tn_status_name(err->status), err->text);
    return 1;
}

int main(void)
{
    static const float weight[6] = { 1, 2, 3, -1, -2, -3 };   // {3, 2}: two rows of three
    static const float bias[2] = { 0.5f, 0.5f };
    static const float x[3] = { 0.1f, 0.2f, 0.3f };
    float y[2];
    tn_error err = { 0 };
    tn_runtime *runtime = NULL;
    tn_graph *graph = NULL;
    tn_session *session = NULL;

    // A plugin that crashes this program is left out the next time. An application installs its
    // own handlers of SIGSEGV and the like before.
    tn_status status = tn_plugin_watch_crashes(&err);
    if (status == TN_OK)
        status = tn_runtime_create(NULL, &runtime, &err);
    if (status == TN_OK)
        status = tn_graph_create(NULL, &graph, &err);
    if (status == TN_OK) {
        tn_value in = tn_graph_input(graph, "x", TN_DTYPE_F32, 2, (int64_t[]){ 3, 1 });
        tn_value w = tn_graph_weight(graph, "W", TN_DTYPE_F32, 2, (int64_t[]){ 3, 2 }, weight,
                                     sizeof weight);
        tn_value b = tn_graph_weight(graph, "b", TN_DTYPE_F32, 1, (int64_t[]){ 2 }, bias,
                                     sizeof bias);
        tn_value sum = tn_graph_add(graph, tn_graph_matmul(graph, in, w), b);
        tn_value out = tn_graph_op(graph, TNP_OP_SILU, "activation", &sum, 1, NULL);
        tn_graph_output(graph, "y", out);
        status = tn_graph_finish(graph, &err);   // reports the first error of all the calls above
    }
    const tn_graph *graphs[] = { graph };
    if (status == TN_OK)
        status = tn_session_create(runtime, graphs, 1, NULL, &session, &err);
    if (status == TN_OK) {
        tn_feed feed = { tn_graph_find(graph, "x"), x, sizeof x };
        status = tn_session_run(session, 0, &feed, 1, &err);
    }
    if (status == TN_OK)
        status = tn_session_read(session, 0, tn_graph_find(graph, "y"), y, sizeof y, &err);
    if (status == TN_OK)
        printf("y = %.4f %.4f\n", (double)y[0], (double)y[1]);

    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    return status == TN_OK ? 0 : fail(&err);
}
