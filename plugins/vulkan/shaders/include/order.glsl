// order.glsl: floats as whole numbers of the same order: a NaN below every number, -0 as 0.
uint order_of(float x)
{
    uint bits = floatBitsToUint(x);
    if (is_nan(x))
        return 0;
    if (bits == 0x80000000u)
        bits = 0;
    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

float of_order(uint order)
{
    if (order == 0)
        return uintBitsToFloat(0x7fc00000u);
    return uintBitsToFloat((order & 0x80000000u) != 0 ? order & 0x7fffffffu : ~order);
}
