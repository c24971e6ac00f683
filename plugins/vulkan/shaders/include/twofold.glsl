// twofold.glsl: numbers of twice the precision: the sum of a float and of one that is small beside it.
struct Twofold {
    float high, low;
};

Twofold twofold_sum(float a, float b)   // |a| >= |b|
{
    precise float high = a + b;
    precise float low = b - (high - a);
    return Twofold(high, low);
}

// a * b, exactly. Halves of 12 bits have products without rounding; fma need not be one operation.
Twofold twofold_product(float a, float b)
{
    float a_high = uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u);
    float b_high = uintBitsToFloat(floatBitsToUint(b) & 0xfffff000u);
    precise float a_low = a - a_high;
    precise float b_low = b - b_high;
    precise float high = a * b;
    precise float low = a_high * b_high - high;
    low = low + a_high * b_low;
    low = low + a_low * b_high;
    low = low + a_low * b_low;
    return Twofold(high, low);
}

Twofold twofold_times(Twofold a, float b)
{
    Twofold p = twofold_product(a.high, b);
    precise float low = p.low + a.low * b;
    return twofold_sum(p.high, low);
}

Twofold twofold_times(Twofold a, Twofold b)
{
    Twofold p = twofold_product(a.high, b.high);
    precise float low = p.low + (a.high * b.low + a.low * b.high);
    return twofold_sum(p.high, low);
}

Twofold twofold_over(Twofold a, float b)
{
    precise float q = a.high / b;
    Twofold p = twofold_product(q, b);
    precise float rest = (a.high - p.high) - p.low + a.low;
    return twofold_sum(q, rest / b);
}

Twofold twofold_plus(Twofold a, Twofold b)
{
    precise float high = a.high + b.high;
    precise float part = high - a.high;
    precise float low = (a.high - (high - part)) + (b.high - part) + (a.low + b.low);
    return twofold_sum(high, low);
}
