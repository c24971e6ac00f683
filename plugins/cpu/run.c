// run.c: one run of a bound program, in one call of the host's team.
//
// A step is shared by all workers, or done by worker 0 alone when it is small. A barrier stands
// only where order.h asks for one, between the phases of a shared step, and on both sides of the
// reading of late lengths.
//
// Workers leave together. A failure is looked at only where nobody can set it any more: a job's
// after a barrier behind its last phase, a length's after the barrier that follows its reading. So
// all of them see the same, and stop or go on. Steps between a failure and the next barrier work on
// what the failed one left, which no op trusts.
#include "node.h"
#include "order.h"
#include "program.h"
#include "queue.h"

typedef struct run_context {
    cpu_bound *bound;
    const tnp_host *host;
} run_context;

// Puts the lengths of this run into one operand; which: early or late ones.
static bool read_lengths(const cpu_bound *bound, cpu_bound_step *step, const tnh_value *value,
                         cpu_tensor *tensor, bool is_late)
{
    const cpu_program *program = bound->program;
    const int64_t block_elements = tnh_block_elements(value->dtype);
    for (uint32_t d = 0; d < value->rank; d++) {
        if (value->extent[d] == 0)
            continue;
        const tnh_value *extent = &program->values[value->extent[d] - 1];
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
    for (uint32_t i = 0; i < step->output_count; i++)
        if ((step->seen >> i & 1u) &&
            !read_lengths(bound, own, &bound->program->values[step->outputs[i]], &own->job.outs[i],
                          is_late))
            return false;
    return true;
}

// Where one worker is in a run.
typedef struct progress {
    const run_context *context;
    tnp_team *team;
    uint32_t worker, workers;
    uint32_t over;   // steps below this one are over on all workers
} progress;

// Before step `next`, or between its phases. Returns false when the run has failed.
static bool meet(progress *p, uint32_t next)
{
    const cpu_bound *bound = p->context->bound;
    bool has_failed = false;
    if (p->workers > 1)
        p->context->host->team_barrier(p->team, p->worker);
    for (; p->over < next; p->over++)
        if (atomic_load_explicit(&bound->steps[p->over].job.failure, memory_order_relaxed))
            has_failed = true;
    return !has_failed;
}

static bool read_late_lengths(progress *p, uint32_t index)
{
    const cpu_bound *bound = p->context->bound;
    if (!meet(p, index))
        return false;
    if (p->worker == 0)
        (void)read_step_lengths(bound, index, true);
    return meet(p, index) && !bound->steps[index].is_outside;
}

// Returns false when the run has failed.
static bool run_step(progress *p, uint32_t index)
{
    const cpu_bound *bound = p->context->bound;
    const cpu_op *op = bound->program->steps[index].op;
    cpu_bound_step *own = &bound->steps[index];
    const uint32_t workers = own->is_shared ? p->workers : 1;
    if (p->worker >= workers)
        return true;
    const uint32_t phases = op->phases_of ? op->phases_of(&own->job, workers) : op->phases;
    for (uint32_t phase = 0; phase < phases; phase++) {
        if (phase > 0 && workers > 1 && !meet(p, index))
            return false;
        op->run(&own->job, phase, p->worker, workers);
    }
    return true;
}

// When traced, a step's time is that of worker 0, and includes its wait for the others before it.
static void run_steps(void *argument, tnp_team *team, uint32_t worker, uint32_t workers)
{
    const run_context *context = argument;
    const tnp_host *host = context->host;
    const cpu_bound *bound = context->bound;
    const bool is_timed = bound->is_traced && worker == 0;
    progress p = { context, team, worker, workers, 0 };
    for (uint32_t i = 0; i < bound->program->step_count; i++) {
        cpu_bound_step *own = &bound->steps[i];
        if (is_timed)
            own->begin_ns = host->now_ns(host->context);
        if (bound->program->steps[i].has_late_lengths) {
            if (!read_late_lengths(&p, i))
                return;
        } else if (workers == 1 || cpu_order_needs_barrier(own, p.over)) {
            if (!meet(&p, i))
                return;
        }
        if (!run_step(&p, i))
            return;
        if (is_timed)
            own->end_ns = host->now_ns(host->context);
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

// What went wrong first, if anything did; the next run begins without it. steps: how many were
// finished before.
static tnp_status find_failure(cpu_bound *bound, uint32_t *steps, tnp_error *err)
{
    const uint32_t count = bound->program->step_count;
    tnp_status status = TNP_OK;
    *steps = count;
    for (uint32_t i = 0; i < count; i++) {
        cpu_bound_step *own = &bound->steps[i];
        const cpu_step *step = &bound->program->steps[i];
        const char *failure = atomic_load_explicit(&own->job.failure, memory_order_relaxed);
        if (failure)
            atomic_store_explicit(&own->job.failure, NULL, memory_order_relaxed);
        if (status != TNP_OK || (!failure && !own->is_outside))
            continue;
        *steps = i;
        status = failure ? cpu_error(err, TNP_E_DATA, "'%s' (%s): %s", step->name, step->op_name,
                                     failure)
                         : fail_outside(bound, i, err);
    }
    return status;
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

// Which steps are shared in this run: the lengths that are known by now may leave little work.
static void count_shared(cpu_bound *bound)
{
    bound->shared_count = 0;
    for (uint32_t i = 0; i < bound->program->step_count; i++) {
        cpu_bound_step *own = &bound->steps[i];
        own->is_shared = own->may_share && (!bound->program->steps[i].has_early_lengths ||
                                            cpu_job_ns(&own->job) > CPU_ALONE_NS);
        bound->shared_count += own->is_shared;
    }
}

tnp_status cpu_bound_run(cpu_bound *bound, const void *queue, uint64_t run, tnp_error *err)
{
    const cpu_program *program = bound->program;
    const cpu_instance *instance = program->device->instance;
    for (uint32_t i = 0; i < program->step_count; i++)
        if (program->steps[i].has_early_lengths && !read_step_lengths(bound, i, false))
            return fail_outside(bound, i, err);
    count_shared(bound);

    run_context context = { bound, &instance->host };
    if (instance->workers > 1 && bound->shared_count > 0)
        instance->host.team(instance->host.context, instance->workers, run_steps, &context);
    else
        run_steps(&context, NULL, 0, 1);

    uint32_t steps;
    tnp_status status = find_failure(bound, &steps, err);
    if (bound->is_traced)
        report_spans(bound, queue, run, steps);
    return status;
}
