// plan_memory.c: an address for each of four buffers by their times, and what memory a session
// needs: peak, lower bound, and the values that lie in the arena.
#include <inttypes.h>
#include <stdio.h>
#include <tenon/tenon.h>

static int fail(const tn_error *err)
{
    fprintf(stderr, "%s: %s\n", tn_status_name(err->status), err->text);
    return 1;
}

static tn_status pack(tn_error *err)
{
    // Live from lower up to, not at, upper.
    static const tn_plan_interval buffers[] = {
        { .lower = 0, .upper = 2, .bytes = 4096 },
        { .lower = 1, .upper = 3, .bytes = 1024 },
        { .lower = 2, .upper = 5, .bytes = 4096 },
        { .lower = 4, .upper = 6, .bytes = 512 },
    };
    enum { COUNT = sizeof buffers / sizeof buffers[0] };
    const tn_plan_options options = { .size = sizeof options, .alignment = 64 };
    tn_plan_result result = { .size = sizeof result };
    uint64_t offsets[COUNT];
    tn_status status = tn_plan_intervals(buffers, COUNT, &options, offsets, &result, err);
    if (status == TN_OK)
        status = tn_plan_check(buffers, COUNT, &options, offsets, &result, err);
    if (status != TN_OK)
        return status;
    printf("peak %" PRIu64 ", no plan is below %" PRIu64 ", without reuse %" PRIu64 "\n",
           result.peak_bytes, result.lower_bound_bytes, result.unshared_bytes);
    for (uint32_t i = 0; i < COUNT; i++)
        printf("buffer %" PRIu32 " at %" PRIu64 "\n", i, offsets[i]);
    return TN_OK;
}

// y = x + x, negated, and scaled.
static tn_status build(tn_graph *graph, tn_error *err)
{
    tn_value x = tn_graph_input(graph, "x", TN_DTYPE_F32, 1, (int64_t[]){ 1024 });
    tn_value sum = tn_graph_add(graph, x, x);
    tn_value turned = tn_graph_op(graph, TNP_OP_NEG, "turned", &sum, 1, NULL);
    tn_graph_output(graph, "y", tn_graph_scale(graph, turned, 0.5f));
    return tn_graph_finish(graph, err);
}

static void tell(void *context, const tn_planned_value *value)
{
    (void)context;
    printf("  %s%s: steps %" PRIu32 " to %" PRIu32 ", at %" PRIu64,
           value->kind == TN_PLANNED_SCRATCH ? "scratch of " : "", value->name, value->first_step,
           value->last_step, value->offset);
    if (value->in_place_of)
        printf(", in place of %s\n", value->in_place_of);
    else
        printf(", %" PRIu64 " bytes\n", value->bytes);
}

static tn_status report(const tn_session *session, tn_error *err)
{
    const tn_planned_value_sink values = { .take = tell };
    tn_status status = tn_session_check(session, err);
    for (uint32_t d = 0; d < tn_session_device_count(session) && status == TN_OK; d++) {
        tn_device_memory memory = { .size = sizeof memory };
        status = tn_session_device_memory(session, d, &memory, err);
        if (status != TN_OK)
            break;
        printf("%s: peak %" PRIu64 ", no plan is below %" PRIu64 ", without reuse %" PRIu64 "\n",
               memory.name, memory.peak_bytes, memory.lower_bound_bytes, memory.unshared_bytes);
        status = tn_session_values(session, 0, d, &values, err);
    }
    return status;
}

int main(void)
{
    tn_error err = { 0 };
    tn_runtime *runtime = NULL;
    tn_graph *graph = NULL;
    tn_session *session = NULL;

    tn_status status = pack(&err);
    if (status == TN_OK)
        status = tn_runtime_create(NULL, &runtime, &err);
    if (status == TN_OK)
        status = tn_graph_create(NULL, &graph, &err);
    if (status == TN_OK)
        status = build(graph, &err);
    if (status == TN_OK)
        status = tn_session_create(runtime, (const tn_graph *[]){ graph }, 1, NULL, &session, &err);
    if (status == TN_OK)
        status = report(session, &err);

    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    return status == TN_OK ? 0 : fail(&err);
}
