// try.c: sees the plugin compute something: y = silu(x), by the public API of libtenon, on a device
// of this plugin and no other, since beside the CPU so small a graph would stay there. Give it your
// op when you have put one in the place of silu.
//
//   try_template [PLUGIN.so]     without a path: the plugin that was built with it
#include <stdio.h>
#include <string.h>
#include <tenon/tenon.h>

enum { COUNT = 8 };

// The first device of the plugin whose file was named; NULL: it has none, and the reason is
// printed.
static tn_device *find_device(const tn_runtime *runtime)
{
    for (uint32_t p = 0; p < tn_runtime_plugin_count(runtime); p++) {
        tn_plugin_info plugin = { .size = sizeof plugin };
        tn_runtime_plugin(runtime, p, &plugin);
        if (!plugin.is_named)
            continue;
        printf("%s %s of %s: %s\n", plugin.name, plugin.version, plugin.path, plugin.reason);
        for (uint32_t d = 0; d < tn_runtime_device_count(runtime); d++) {
            tn_device_info device = { .size = sizeof device };
            tn_device_describe(tn_runtime_device(runtime, d), &device);
            if (strcmp(device.plugin, plugin.name) == 0 && plugin.state == TN_PLUGIN_LOADED)
                return tn_runtime_device(runtime, d);
        }
    }
    return NULL;
}

static tn_status make_graph(tn_graph **out_graph, tn_error *err)
{
    tn_status status = tn_graph_create(NULL, out_graph, err);
    if (status != TN_OK)
        return status;
    tn_value x = tn_graph_input(*out_graph, "x", TN_DTYPE_F32, 1, (int64_t[]){ COUNT });
    tn_graph_output(*out_graph, "y",
                    tn_graph_op(*out_graph, TNP_OP_SILU, "activation", &x, 1, NULL));
    return tn_graph_finish(*out_graph, err);
}

static tn_status compute(tn_session *session, const tn_graph *graph, tn_error *err)
{
    static const float x[COUNT] = { -8, -4, -2, -1, 0, 1, 2, 4 };
    float y[COUNT];
    tn_feed feed = { tn_graph_find(graph, "x"), x, sizeof x };
    tn_status status = tn_session_run(session, 0, &feed, 1, err);
    if (status == TN_OK)
        status = tn_session_read(session, 0, tn_graph_find(graph, "y"), y, sizeof y, err);
    for (int i = 0; i < COUNT && status == TN_OK; i++)
        printf("silu(%g) = %.6f\n", (double)x[i], (double)y[i]);
    return status;
}

static void print_text(void *context, const char *text, size_t bytes)
{
    fwrite(text, 1, bytes, context);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : TRY_PLUGIN;
    tn_runtime_options how = { .size = sizeof how, .plugin_paths = &path, .plugin_path_count = 1 };
    tn_runtime *runtime = NULL;
    tn_device *device = NULL;
    tn_graph *graph = NULL;
    tn_session *session = NULL;
    tn_error err = { 0 };

    tn_status status = tn_runtime_create(&how, &runtime, &err);
    if (status == TN_OK)
        device = find_device(runtime);
    if (status == TN_OK && !device) {
        status = TN_E_NOT_FOUND;
        snprintf(err.text, sizeof err.text, "%s offers no device", path);
    }
    if (status == TN_OK)
        status = make_graph(&graph, &err);
    if (status == TN_OK) {
        tn_session_options alone = { .size = sizeof alone, .device_count = 1, .devices = &device };
        const tn_graph *graphs[] = { graph };
        status = tn_session_create(runtime, graphs, 1, &alone, &session, &err);
    }
    if (status == TN_OK) {
        tn_session_explain(session, &(tn_sink){ stdout, print_text });
        status = compute(session, graph, &err);
    }
    if (status != TN_OK)
        fprintf(stderr, "%s: %s\n", tn_status_name(status), err.text);

    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    return status == TN_OK ? 0 : 1;
}
