// run.c: one run of a bound program, in one call of the host's team.
//
// Workers leave a step together. A failure is looked at only where nobody can set it any more: a
// job's after the barrier of its last phase, a length's after the barrier that follows its reading.
// So all of them see the same, and stop or go on.
#include "node.h"
#include "program.h"
#include "queue.h"

typedef struct run_context {
    cpu_bound *bound;
    const tnp_host *host;
} run_context;

// Puts the lengths of this run into one operand; which: early or late ones.
static bool read_lengths(const cpu_bound *bound, cpu_bound_step *step, const cpu_value *value,
                         cpu_tensor *tensor, bool is_late)
{
    const cpu_program *program = bound->program;
    int64_t block_elements = 1;
    uint32_t block_bytes;
    (void)cpu_dtype_block(value->dtype, &block_elements, &block_bytes);
    for (uint32_t d = 0; d < value->rank; d++) {
        if (value->extent[d] == 0)
            continue;
        const cpu_value *extent = &program->values[value->extent[d] - 1];
        if (program->storages[extent->storage].is_written != is_late)
            continue;
        int32_t length;
        memcpy(&length, bound->places[extent->storage].address + extent->offset, sizeof length);
        if (length < 0 || length > value->dims[d] || (d == 0 && length % block_elements != 0)) {
            step->is_outside = true;
            step->outside_dim = d;
            step->outside_length = length;
            step->outside_most = value->dims[d];
            return false;
        }
        tensor->dims[d] = length;
    }
    return true;
}

static bool read_step_lengths(const cpu_bound *bound, uint32_t index, bool is_late)
{
    const cpu_step *step = &bound->program->steps[index];
    cpu_bound_step *own = &bound->steps[index];
    own->is_outside = false;
    for (uint32_t i = 0; i < step->input_count; i++)
        if (step->inputs[i] != TNP_NONE &&
            !read_lengths(bound, own, &bound->program->values[step->inputs[i]], &own->job.in[i],
                          is_late))
            return false;
    return read_lengths(bound, own, &bound->program->values[step->output], &own->job.out, is_late);
}

static void run_steps(void *argument, tnp_team *team, uint32_t worker, uint32_t workers)
{
    const run_context *context = argument;
    const tnp_host *host = context->host;
    cpu_bound *bound = context->bound;
    const bool is_timed = bound->is_traced && worker == 0;
    for (uint32_t i = 0; i < bound->program->step_count; i++) {
        const cpu_step *step = &bound->program->steps[i];
        cpu_bound_step *own = &bound->steps[i];
        if (is_timed)
            own->begin_ns = host->now_ns(host->context);
        if (step->has_late_lengths) {
            if (worker == 0)
                (void)read_step_lengths(bound, i, true);
            if (workers > 1)
                host->team_barrier(team, worker);
            if (own->is_outside)
                return;
        }
        for (uint32_t phase = 0; phase < step->op->phases; phase++) {
            step->op->run(&own->job, phase, worker, workers);
            if (workers > 1)
                host->team_barrier(team, worker);
        }
        if (is_timed)
            own->end_ns = host->now_ns(host->context);
        if (atomic_load_explicit(&own->job.failure, memory_order_relaxed))
            return;
    }
}

static tnp_status fail_outside(const cpu_bound *bound, uint32_t index, tnp_error *err)
{
    const cpu_step *step = &bound->program->steps[index];
    const cpu_bound_step *own = &bound->steps[index];
    return cpu_error(err, TNP_E_DATA,
                     "'%s' (%s): a length of %lld for dim %u of an operand, which has %lld",
                     step->name, step->op_name, (long long)own->outside_length, own->outside_dim,
                     (long long)own->outside_most);
}

// What went wrong, if anything did; the next run begins without it. steps: how many were finished.
static tnp_status find_failure(cpu_bound *bound, uint32_t *steps, tnp_error *err)
{
    for (*steps = 0; *steps < bound->program->step_count; ++*steps) {
        cpu_bound_step *own = &bound->steps[*steps];
        const cpu_step *step = &bound->program->steps[*steps];
        if (step->has_late_lengths && own->is_outside)
            return fail_outside(bound, *steps, err);
        const char *failure = atomic_exchange(&own->job.failure, NULL);
        if (failure)
            return cpu_error(err, TNP_E_DATA, "'%s' (%s): %s", step->name, step->op_name, failure);
    }
    return TNP_OK;
}

static void report_spans(const cpu_bound *bound, const void *queue, uint64_t run, uint32_t steps)
{
    cpu_device *device = bound->program->device;
    const tnp_host *host = &device->instance->host;
    for (uint32_t i = 0; i < steps && !cpu_device_is_lost(device);
         i++) {   // once given up, no word to the host
        tnp_span span = {
            .size = sizeof span,
            .unit = bound->program->steps[i].unit,
            .run = run,
            .begin_ns = bound->steps[i].begin_ns,
            .end_ns = bound->steps[i].end_ns,
            .bytes = (uint64_t)cpu_job_bytes(&bound->steps[i].job),
            .flops = (uint64_t)cpu_job_flops(&bound->steps[i].job),
        };
        host->trace(host->context, queue, &span);
    }
}

tnp_status cpu_bound_run(cpu_bound *bound, const void *queue, uint64_t run, tnp_error *err)
{
    const cpu_program *program = bound->program;
    const cpu_instance *instance = program->device->instance;
    for (uint32_t i = 0; i < program->step_count; i++)
        if (program->steps[i].has_early_lengths && !read_step_lengths(bound, i, false))
            return fail_outside(bound, i, err);

    run_context context = { bound, &instance->host };
    if (instance->workers > 1)
        instance->host.team(instance->host.context, instance->workers, run_steps, &context);
    else
        run_steps(&context, NULL, 0, 1);

    uint32_t steps;
    tnp_status status = find_failure(bound, &steps, err);
    if (bound->is_traced)
        report_spans(bound, queue, run, steps);
    return status;
}
