// error_table.c: the table that tests/op-errors prints: for each op and type how many numbers were
// compared with the reference, and the largest errors.
#include "ops_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "op_name.h"

typedef struct errors {
    tnp_op op;
    tnp_dtype dtype;
    uint64_t count;
    double absolute, relative, to_largest;
} errors;

static struct {
    const char *path;
    size_t count;
    errors rows[256];
} table;

static void write_table(void)
{
    FILE *to = fopen(table.path, "a");

    for (const errors *e = table.rows; to && e < table.rows + table.count; e++)
        fprintf(to, "%s %s %llu %.3g %.3g %.3g\n", op_name(e->op), dtype_name(e->dtype),
                (unsigned long long)e->count, e->absolute, e->relative, e->to_largest);
    if (!to || fclose(to))
        fprintf(stderr, "%s: cannot be written\n", table.path);
}

// Of a product the type of the weight counts, of attention that of the keys.
static errors *row_of(const cpu_job *job)
{
    int is_second = job->op == TNP_OP_MATMUL || job->op == TNP_OP_MATMUL_ID ||
                    job->op == TNP_OP_ATTENTION;
    tnp_dtype dtype = job->in[is_second].dtype;
    errors *e = table.rows;

    while (e < table.rows + table.count && (e->op != job->op || e->dtype != dtype))
        e++;
    if (e == table.rows + table.count) {
        assert_true(table.count < sizeof table.rows / sizeof table.rows[0]);
        table.count++;
        e->op = job->op;
        e->dtype = dtype;
    }
    return e;
}

void note_errors(const cpu_job *job, const ref_tensor *want)
{
    ref_tensor got = as_reference(&job->out);
    int64_t at[TNP_MAX_DIMS] = { 0 };
    double largest = 0, most = 0;
    errors *e;

    if (!table.path) {
        table.path = getenv("TENON_TEST_ERRORS") ? getenv("TENON_TEST_ERRORS") : "";
        if (*table.path)
            atexit(write_table);
    }
    if (!*table.path || ref_is_empty(&got))
        return;
    e = row_of(job);
    do {
        double w = ref_get(want, at), off = fabs(ref_get(&got, at) - w);

        e->count++;
        if (!isfinite(w))
            continue;
        largest = fmax(largest, fabs(w));
        most = fmax(most, off);
        if (w != 0)
            e->relative = fmax(e->relative, off / fabs(w));
    } while (ref_next(got.dims, at));
    e->absolute = fmax(e->absolute, most);
    if (largest > 0)
        e->to_largest = fmax(e->to_largest, most / largest);
}
