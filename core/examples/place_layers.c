// place_layers.c: four layers, three on one device and one on another, and where they came to be.
#include <stdio.h>
#include <tenon/tenon.h>

enum { WIDTH = 32, LAYERS = 4 };

static float weights[LAYERS][WIDTH * WIDTH];   // of all layers, the application's own

static int fail(const tn_error *err)
{
    fprintf(stderr, "%s: %s\n", tn_status_name(err->status), err->text);
    return 1;
}

// What is made after tn_graph_mark belongs to that layer.
static tn_status build(tn_graph *graph, tn_error *err)
{
    tn_value y = tn_graph_input(graph, "x", TN_DTYPE_F32, 2, (int64_t[]){ WIDTH, 1 });
    for (uint32_t i = 0; i < LAYERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "w.%u", i);
        tn_graph_mark(graph, i, TN_NO_PART);
        tn_value w = tn_graph_weight(graph, name, TN_DTYPE_F32, 2, (int64_t[]){ WIDTH, WIDTH },
                                     weights[i], sizeof weights[i]);
        y = tn_graph_matmul(graph, y, w);
    }
    tn_graph_output(graph, "y", y);
    return tn_graph_finish(graph, err);
}

static void print(const tn_session *session)
{
    for (uint32_t d = 0; d < tn_session_device_count(session); d++) {
        tn_device_memory memory = { .size = sizeof memory };
        if (tn_session_device_memory(session, d, &memory, NULL) == TN_OK)
            printf("%s has %u layers\n", memory.name, memory.layer_count);
    }
}

int main(void)
{
    static const char *const settings[] = { "plugin.cpu.devices=2" };   // the CPU plays two devices
    static const double shares[] = { 3, 1 };
    tn_runtime_options how = { .size = sizeof how, .settings = settings, .setting_count = 1 };
    tn_placement placement = {
        .size = sizeof placement, .split_mode = TN_SPLIT_LAYER, .shares = shares, .share_count = 2
    };
    tn_session_options options = { .size = sizeof options, .placement = &placement };
    tn_error err = { 0 };
    tn_runtime *runtime = NULL;
    tn_graph *graph = NULL;
    tn_session *session = NULL;

    tn_status status = tn_runtime_create(&how, &runtime, &err);
    if (status == TN_OK)
        status = tn_graph_create(NULL, &graph, &err);
    if (status == TN_OK)
        status = build(graph, &err);
    if (status == TN_OK)
        status = tn_session_create(runtime, (const tn_graph *[]){ graph }, 1, &options, &session,
                                   &err);
    if (status == TN_OK)
        print(session);

    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    return status == TN_OK ? 0 : fail(&err);
}
