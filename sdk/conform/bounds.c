// bounds.c: how far a result may be off the reference, op by op, and why.
//
// Got is right when |got - want| <= absolute + ulps 2^-23 |want| + terms (K + 8) 2^-24 S, S being
// the sum of the sizes of the K terms that make it; NaN where NaN is wanted, infinities the same.
// A result in F16, BF16 or a block type may be off by its own rounding too (kit_type_error).
// The bounds leave room for another order of summing and other formulas, not for another precision:
// a device that computes F32 as TF32, F16 or BF16 must not claim F32.
#include <math.h>
#include <stdio.h>

#include "ops.h"

static const kit_bound bounds[] = {
    { " neg abs relu clamp max argmax argsort top_k concat pad repeat ", 0, 0, 0, 0,
      "moves or chooses numbers, computes none" },
    { " get_rows set_rows convert ", 1, 0, 0, 0,
      "decoding is one product and one sum at most; encoding has the bound of its type" },
    { " add sub mul sqr reglu ", 1, 0, 0, 0, "one rounding, to either neighbour" },
    { " div sqrt ", 3, 0, 0, 0, "division and root by an estimate and one step: 2.5 ulp" },
    { " scale ", 2, 0x1p-22, 0, 0, "a product and a sum, which may cancel; operands are below 4" },
    { " rsqrt ", 4, 0, 0, 0, "a root and a division, 2.5 ulp and half a place each" },
    { " exp ", 24, 0, 0, 0, "3 ulp, and the rounding of x log2(e): |x| = 20 here" },
    { " log ", 4, 0x1p-21, 0, 0, "4 ulp; absolute near 1, where the result is near 0" },
    { " sin cos ", 4, 0x1p-20, 0, 0,
      "absolute: reduction of |x| = 20 by a pi of F32 parts; near a root only that counts" },
    { " tanh softcap ", 16, 0x1p-21, 0, 0,
      "by exp: 1 - 2 / (exp(2x) + 1) cancels near 0, an absolute error" },
    { " sigmoid silu swiglu gelu_quick ", 40, 3e-37, 0, 0,
      "exp at |x| = 20 and a division; the smallest results may be flushed to 0" },
    { " gelu geglu ", 48, 0x1p-21, 0, 0,
      "tanh of a polynomial: near -4 one plus tanh cancels, an absolute error" },
    { " gelu_erf ", 16, 0x1p-21, 0, 0, "one plus erf cancels for x below 0: absolute" },
    { " rms_norm l2_norm ", 32, 0, 0.5, 0,
      "a sum of squares in any order: none is negative, so that its error is relative, and the "
      "root "
      "halves it; a root, a division, two products" },
    { " layer_norm group_norm ", 32, 0x1p-17, 0, 0,
      "x - mean cancels; results are below 4, a mean or a mean of squares is off by some 2^-20" },
    { " softmax ", 40, 1e-37, 1, 0,
      "exp of a difference up to 12 that was rounded, a sum of terms above 0 in any order, a "
      "division" },
    { " rope ", 8, 0x1p-17, 0, 0,
      "an angle of up to 50 in F32 is off by 2^-19, its sine and cosine by as much" },
    { " matmul matmul_id ", 2, 0, 1, 5e-4,
      "K products and sums in any order; of block weights activations may be rounded to 8 bits: "
      "numbers evenly spread are off by 1.6e-5 in the mean square, one alone by up to 20 times "
      "that" },
    { " attention ", 2, 0x1p-15, 0, 2e-3,
      "scores are off by D 2^-24 of their terms, weights by exp of that; values are below 1. Of "
      "keys in blocks the query may be rounded to 8 bits, as in matmul, and exp enlarges that" },
    { " sum mean cumsum ", 2, 0, 1, 0, "a sum in any order, for mean a division" },
    { " conv_1d conv_2d conv_transpose_1d ", 2, 0, 1, 0, "K products and sums in any order" },
    { " pool_2d ", 2, 0, 1, 0, "the largest is exact; a mean is a sum in any order" },
    { " upscale ", 4, 0x1p-20, 0, 0, "a sample's place is rounded, then three weighted means" },
};

const kit_bound *kit_bound_of(tnp_op op)
{
    char name[40];
    snprintf(name, sizeof name, " %s ", kit_op_name(op));
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (strstr(bounds[i].ops, name))
            return &bounds[i];
    return &bounds[0];   // an op without a line: exact, so that it is not forgotten
}

// Formats: half a step to the nearest, and a whole one at the end that the range does not reach.
double kit_type_error(tnp_dtype dtype, double size, double largest)
{
    switch (dtype) {
    case TNP_DTYPE_F16:
        return size * 0x1p-10 + 0x1p-24;
    case TNP_DTYPE_BF16:
        return size * 0x1p-7;
    case TNP_DTYPE_Q8_0:
        return largest / 127;
    case TNP_DTYPE_Q4_0:
    case TNP_DTYPE_IQ4_NL:
        return largest * 0.17;   // steps of 1/8; IQ4_NL's largest 24/113
    case TNP_DTYPE_Q4_1:
        return largest * 2 / 15;
    case TNP_DTYPE_Q5_0:
        return largest / 14;
    case TNP_DTYPE_Q5_1:
        return largest * 2 / 31;
    case TNP_DTYPE_Q2_K:
        return largest * 0.8;
    case TNP_DTYPE_Q3_K:
        return largest * 0.5;
    case TNP_DTYPE_Q4_K:
        return largest * 0.25;
    case TNP_DTYPE_Q5_K:
        return largest * 0.125;
    case TNP_DTYPE_Q6_K:
        return largest * 0.0625;
    default:
        return 0;
    }
}
