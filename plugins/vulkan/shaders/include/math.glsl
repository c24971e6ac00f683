// math.glsl: functions that Vulkan leaves more room than Tenon's bounds do. Polynomials are those of
// Cephes (Moshier), rounded to F32.

// exp(x): 2^n times a polynomial of the rest.
float exp_of(float x)
{
    if (is_nan(x))
        return x;
    if (x > 88.72284)
        return INFINITY;
    if (x < -103.97208)
        return 0.0;
    float n = roundEven(x * 1.44269504088896341);
    float r = fma(n, -0.693359375, x);
    r = fma(n, 2.12194440e-4, r);
    float p = 1.9875691500e-4;
    p = fma(p, r, 1.3981999507e-3);
    p = fma(p, r, 8.3334519073e-3);
    p = fma(p, r, 4.1665795894e-2);
    p = fma(p, r, 1.6666665459e-1);
    p = fma(p, r, 5.0000001201e-1);
    p = fma(p, r * r, r) + 1.0;
    int k = int(n);
    int half_k = k / 2;   // in two steps, for results below the normal ones
    return p * uintBitsToFloat(uint(half_k + 127) << 23) *
           uintBitsToFloat(uint(k - half_k + 127) << 23);
}

float log_of(float x)
{
    if (is_nan(x) || x < 0.0)
        return uintBitsToFloat(0x7fc00000u);
    if (x == 0.0)
        return -INFINITY;
    if (floatBitsToUint(x) == 0x7f800000u)
        return x;
    float scale = 0.0;
    if (x < 1.17549435e-38) {   // below the normal ones
        x *= 16777216.0;
        scale = -24.0;
    }
    uint bits = floatBitsToUint(x);
    float e = float(int(bits >> 23) - 126) + scale;
    float m = uintBitsToFloat((bits & 0x7fffffu) | 0x3f000000u);
    if (m < 0.70710678118) {
        e -= 1.0;
        m += m;
    }
    m -= 1.0;
    float z = m * m;
    float y = 7.0376836292e-2;
    y = fma(y, m, -1.1514610310e-1);
    y = fma(y, m, 1.1676998740e-1);
    y = fma(y, m, -1.2420140846e-1);
    y = fma(y, m, 1.4249322787e-1);
    y = fma(y, m, -1.6668057665e-1);
    y = fma(y, m, 2.0000714765e-1);
    y = fma(y, m, -2.4999993993e-1);
    y = fma(y, m, 3.3333331174e-1);
    y = y * m * z;
    y = fma(e, -2.12194440e-4, y) - 0.5 * z;
    return fma(e, 0.693359375, m + y);
}

// sin of x + quarter * pi / 2.
float sine_of(float x, int quarter)
{
    if ((floatBitsToUint(x) & 0x7fffffffu) >= 0x7f800000u)
        return uintBitsToFloat(0x7fc00000u);
    float n = roundEven(x * 0.636619772367581343);
    float r = fma(n, -1.5707962512969971, x);   // pi / 2 in three parts
    r = fma(n, -7.5497894158615964e-8, r);
    r = fma(n, -5.3903029534742384e-15, r);
    int q = int(n) + quarter;
    float z = r * r, y;
    if ((q & 1) == 0) {
        y = -1.9515295891e-4;
        y = fma(y, z, 8.3321608736e-3);
        y = fma(y, z, -1.6666654611e-1);
        y = fma(y * z, r, r);
    } else {
        y = 2.443315711809948e-5;
        y = fma(y, z, -1.388731625493765e-3);
        y = fma(y, z, 4.166664568298827e-2);
        y = fma(y * z, z, fma(z, -0.5, 1.0));
    }
    return (q & 2) == 0 ? y : -y;
}
float sin_of(float x)
{
    return sine_of(x, 0);
}
float cos_of(float x)
{
    return sine_of(x, 1);
}

float tanh_of(float x)
{
    float a = abs(x);
    if (is_nan(x))
        return x;
    if (a < 0.625) {
        float z = x * x;
        float y = -5.70498872745e-3;
        y = fma(y, z, 2.06390887954e-2);
        y = fma(y, z, -5.37397155531e-2);
        y = fma(y, z, 1.33314422036e-1);
        y = fma(y, z, -3.33332819422e-1);
        return fma(y * z, x, x);
    }
    float t = 1.0 - 2.0 / (exp_of(2.0 * min(a, 16.0)) + 1.0);
    return x < 0.0 ? -t : t;
}

// A polynomial below 1; from there on the complement, exp(-x^2) / x times one of 1 / x^2.
float erf_of(float x)
{
    float a = abs(x);
    if (is_nan(x))
        return x;
    float y;
    if (a < 1.0) {
        float z = x * x;
        y = 7.853861353153693e-5;
        y = fma(y, z, -8.010193625184903e-4);
        y = fma(y, z, 5.188327685732524e-3);
        y = fma(y, z, -2.685381193529856e-2);
        y = fma(y, z, 1.128358514861418e-1);
        y = fma(y, z, -3.761262582423300e-1);
        y = fma(y, z, 1.128379165726710e+0);
        return x * y;
    }
    float q = 1.0 / a, z = q * q, p;
    if (a < 2.0) {
        p = 2.326819970068386e-2;
        p = fma(p, z, -1.387039388740657e-1);
        p = fma(p, z, 3.687424674597105e-1);
        p = fma(p, z, -5.824733027278666e-1);
        p = fma(p, z, 6.210004621745983e-1);
        p = fma(p, z, -4.944515323274145e-1);
        p = fma(p, z, 3.404879937665872e-1);
        p = fma(p, z, -2.741127028184656e-1);
        p = fma(p, z, 5.638259427386472e-1);
    } else {
        p = -1.047766399936249e+1;
        p = fma(p, z, 1.297719955372516e+1);
        p = fma(p, z, -7.495518717768503e+0);
        p = fma(p, z, 2.921019019210786e+0);
        p = fma(p, z, -1.015265279202700e+0);
        p = fma(p, z, 4.218463358204948e-1);
        p = fma(p, z, -2.820767439740514e-1);
        p = fma(p, z, 5.641895067754075e-1);
    }
    y = a > 9.0 ? 1.0 : 1.0 - exp_of(-a * a) * q * p;
    return x < 0.0 ? -y : y;
}

float sigmoid_of(float x)
{
    return 1.0 / (1.0 + exp_of(-x));
}
float silu_of(float x)
{
    return x / (1.0 + exp_of(-x));
}
float gelu_of(float x)
{
    return 0.5 * x * (1.0 + tanh_of(0.797884560802865356 * fma(0.044715 * x * x, x, x)));
}

// swiglu, geglu, reglu.
float gated(uint op, float gate, float up)
{
    float by = op == OP_SWIGLU ? silu_of(gate)
             : op == OP_GEGLU ? gelu_of(gate)
                              : gate < 0.0 ? 0.0 : gate;
    return by * up;
}
