// sort.c: top_k and argsort. Both keep the first k indices of a row in order, argsort all of them.
// The order is one of pairs (value, index), so no two are equal: it does not matter that a heap
// mixes them.
//
// Scratch of each worker:  | k indices, a heap |, and where rows are copied  | n floats |
#include "ops.h"

#include <string.h>

typedef struct order {
    const float *x;
    int descending;
} order;

static int is_above(float a, float b)
{
    return a > b || (a == a && b != b);   // a NaN, which is not itself, is lower than any number
}

static int is_before(const order *o, int32_t a, int32_t b)
{
    if (is_above(o->x[a], o->x[b]))
        return o->descending;
    return is_above(o->x[b], o->x[a]) ? !o->descending : a < b;
}

// A heap has the last of its indices at the top. Lets `index` sink from there, over `count` places.
static void sink(const order *o, int32_t *heap, int64_t count, int32_t index)
{
    int64_t at = 0;

    for (int64_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_before(o, heap[child], heap[child + 1]))
            child++;
        if (!is_before(o, index, heap[child]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = index;
}

static void rise(const order *o, int32_t *heap, int64_t at, int32_t index)
{
    while (at > 0 && is_before(o, heap[(at - 1) / 2], index)) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = index;
}

// The first k of n indices, in order.
static void first_of(const order *o, int64_t n, int64_t k, int32_t *heap)
{
    for (int64_t i = 0; i < n; i++) {
        if (i < k)
            rise(o, heap, i, (int32_t)i);
        else if (is_before(o, (int32_t)i, heap[0]))
            sink(o, heap, k, (int32_t)i);
    }
    for (int64_t last = k - 1; last > 0; last--) {
        int32_t top = heap[0];

        sink(o, heap, last, heap[last]);
        heap[last] = top;
    }
}

static int is_copied(const cpu_job *job)
{
    return job->in[0].dtype != TNP_DTYPE_F32 || !cpu_has_unit_rows(&job->in[0]);
}

static const char *refuse_sort(const cpu_job *node)
{
    if (!cpu_is_float(&node->in[0]) || node->out.dtype != TNP_DTYPE_I32)
        return "top_k or argsort of what is neither F32 nor F16, or to another type than I32";
    if (node->in[0].dims[0] > INT32_MAX || node->out.dims[0] > node->in[0].dims[0])
        return "top_k or argsort of more elements than there are, or than an I32 counts";
    if (node->op == TNP_OP_ARGSORT &&
        ((const tnp_argsort_attr *)node->attr)->order > TNP_SORT_DESCENDING)
        return "argsort in an order unknown here";
    return cpu_refuse_strides(node);
}

static int64_t heap_bytes(const cpu_job *job)
{
    return cpu_lines(job->out.dims[0] * (int64_t)sizeof(int32_t));
}

static int64_t worker_bytes(const cpu_job *job)
{
    int64_t copy = is_copied(job) ? cpu_lines(job->in[0].dims[0] * (int64_t)sizeof(float)) : 0;

    return heap_bytes(job) + copy;
}

static uint64_t scratch_of_sort(const cpu_job *node, uint32_t workers)
{
    return (uint64_t)worker_bytes(node) * workers;
}

// Workers take rows.
static void run_sort(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    const cpu_tensor *x = &job->in[0], *out = &job->out;
    char *own = job->scratch + worker_bytes(job) * worker;
    int32_t *heap = (int32_t *)(void *)own;
    float *copy = (float *)(void *)(own + heap_bytes(job));
    cpu_range part = cpu_part(cpu_row_count(out), 1, worker, workers);
    int64_t n = x->dims[0], k = cpu_min(out->dims[0], n);
    order o = { NULL, job->op == TNP_OP_TOP_K };

    (void)phase;
    if (job->op == TNP_OP_ARGSORT)
        o.descending = ((const tnp_argsort_attr *)job->attr)->order == TNP_SORT_DESCENDING;
    for (int64_t r = part.begin; r < part.end && k > 0; r++) {
        const char *row_x = cpu_row(x, out->dims, r);

        o.x = is_copied(job) ? cpu_read(job->kernels, x, row_x, 0, n, copy)
                             : (const float *)(const void *)row_x;
        first_of(&o, n, k, heap);
        cpu_copy_elements(k, sizeof *heap, (const char *)heap, sizeof *heap,
                          cpu_row(out, out->dims, r), out->strides[0]);
    }
}

const cpu_op cpu_sort_ops[] = {
    { TNP_OP_TOP_K, 1, sizeof(tnp_top_k_attr), refuse_sort, scratch_of_sort, run_sort, NULL },
    { TNP_OP_ARGSORT, 1, sizeof(tnp_argsort_attr), refuse_sort, scratch_of_sort, run_sort, NULL },
    { 0 },
};
