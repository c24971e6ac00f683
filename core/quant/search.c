// search.c: the scale of a sub-block that makes the sum of squared errors least.
//
// With the levels q fixed, the best scale has a closed form (least squares): d = sum(x q) / sum(q
// q), and lowers the sum of squares by sum(x q)^2 / sum(q q). The levels depend on the scale they
// were rounded with, so scales around the plain one are tried. A finer grid than STEPS changes the
// error of normally distributed weights by less than a hundredth.
#include "quant/quant_internal.h"

#include <float.h>
#include <math.h>

enum { STEPS = 10 };   // on each side of the plain scale; a tenth of a level each

int tni_quant_nearest(float value, int low, int high)
{
    if (value != value)
        return 0;
    if (value <= (float)low)
        return low;
    return value >= (float)high ? high : (int)roundf(value);
}

float tni_quant_fit_scale(int n, const float *x, int low, int high)
{
    float largest = 0, d = 0;
    double best = 0;

    for (int i = 0; i < n; i++)
        if (fabsf(x[i]) > fabsf(largest))
            largest = x[i];
    if (largest == 0.0f)
        return 0;
    for (int step = -STEPS; step <= STEPS; step++) {
        float inverse = ((float)low + 0.1f * (float)step) / largest;
        double xq = 0, qq = 0;

        for (int i = 0; i < n; i++) {
            double q = tni_quant_nearest(x[i] * inverse, low, high);

            xq += (double)x[i] * q;
            qq += q * q;
        }
        if (xq * xq > best * qq) {
            best = xq * xq / qq;
            d = (float)(xq / qq);
        }
    }
    return d;
}

// Sums over a sub-block for one set of levels.
typedef struct sums {
    double x, xx, q, qq, xq;
} sums;

// d and b of x ~ d q + b with the least sum of squared errors, b held at 0 or below; returns that
// sum.
static double solve(int n, const sums *s, double *d, double *b)
{
    double spread = n * s->qq - s->q * s->q;

    *d = spread > 0 ? (n * s->xq - s->x * s->q) / spread : 0;
    *b = (s->x - *d * s->q) / n;
    if (*b > 0 || *d < 0) {
        *b = 0;
        *d = s->qq > 0 && s->xq > 0 ? s->xq / s->qq : 0;
    }
    return s->xx - 2 * *d * s->xq - 2 * *b * s->x + *d * *d * s->qq + 2 * *d * *b * s->q +
           n * *b * *b;
}

void tni_quant_fit_scale_and_min(int n, const float *x, int high, float *d, float *m)
{
    float low_end = 0, high_end = x[0];
    double best = DBL_MAX;

    for (int i = 0; i < n; i++) {
        low_end = x[i] < low_end ? x[i] : low_end;
        high_end = x[i] > high_end ? x[i] : high_end;
    }
    *d = 0;
    *m = -low_end;
    if (!(high_end > low_end))   // all the same, and not above 0
        return;
    for (int step = -STEPS; step <= STEPS; step++) {
        float inverse = ((float)high + 0.1f * (float)step) / (high_end - low_end);
        sums s = { 0 };
        double d_s, b_s, error;

        for (int i = 0; i < n; i++) {
            double q = tni_quant_nearest((x[i] - low_end) * inverse, 0, high);

            s.x += (double)x[i];
            s.xx += (double)x[i] * (double)x[i];
            s.q += q;
            s.qq += q * q;
            s.xq += (double)x[i] * q;
        }
        error = solve(n, &s, &d_s, &b_s);
        if (error < best) {
            best = error;
            *d = (float)d_s;
            *m = (float)-b_s;
        }
    }
}
