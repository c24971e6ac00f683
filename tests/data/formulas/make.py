"""Writes cases.json: rope, attention and gated activations by the formulas of their papers.

Each is written out here from its source, in F64, with loops in place of tricks; see README.md.
"""
import math
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import case_file   # noqa: E402

random = np.random.default_rng(5)


def f32(*shape, low=-1.0, high=1.0):
    return np.round(random.uniform(low, high, shape), 3).astype(np.float32)   # few digits


# Gated: Shazeer 2020, arXiv:2002.05202, section 2: (act(x W) ⊗ x V), here after the products.

def swish(x):
    return x / (1 + np.exp(-x))   # Ramachandran et al. 2017, arXiv:1710.05941, with beta 1


def gelu_tanh(x):   # Hendrycks and Gimpel 2016, arXiv:1606.08415, section 2
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def gelu_erf(x):    # the same, exact
    return np.array([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x.ravel()]).reshape(x.shape)


def gelu_quick(x):  # the same, the sigmoid approximation
    return x / (1 + np.exp(-1.702 * x))


GATES = {"swiglu": swish, "geglu": gelu_tanh, "reglu": lambda x: np.maximum(x, 0)}
ACTIVATIONS = {"silu": swish, "gelu": gelu_tanh, "gelu_erf": gelu_erf, "gelu_quick": gelu_quick}


def gated_cases():
    for op, act in GATES.items():
        for name, dtype, tolerance in ("", np.float32, (1e-6, 1e-6)), (" F16", np.float16, (1e-7, 1e-3)):
            case = case_file.Case(op + name)
            gate, up = (f32(3, 17, low=-6, high=6).astype(dtype) for _ in range(2))
            case.step(op, [case.input(gate), case.input(up)])
            case.expect((act(gate.astype(np.float64)) * up).astype(dtype), *tolerance)
            yield case
        # both halves of one matrix, as views
        case = case_file.Case(op + " of two halves")
        both = f32(5, 2 * 12, low=-6, high=6)
        x = case.input(both)
        halves = case.slice(x, [0, 0], [12, 5]), case.slice(x, [12, 0], [12, 5])
        case.step(op, halves)
        wide = both.astype(np.float64)
        case.expect((act(wide[:, :12]) * wide[:, 12:]).astype(np.float32), 1e-6, 1e-6)
        yield case
    for op, act in ACTIVATIONS.items():
        case = case_file.Case(op)
        x = f32(2, 33, low=-5, high=5)
        case.step(op, [case.input(x)])
        case.expect(act(x.astype(np.float64)).astype(np.float32), 1e-6, 1e-6)
        yield case
    x = f32(2, 33, low=-90, high=90)   # softcap: Gemma Team 2024, arXiv:2408.00118, section 2
    case = case_file.Case("softcap")
    case.step("softcap", [case.input(x)], cap=30.0)
    case.expect((30 * np.tanh(x.astype(np.float64) / 30)).astype(np.float32), 1e-6, 1e-6)
    yield case


# Rope: Su et al. 2021, arXiv:2104.09864, equation 34: pairs turned by m theta_i, theta_i =
# base^(-2 i / d). As complex numbers, so that nothing of the real formula is repeated here.

def angles_plain(pairs, base):
    return np.array([base ** (-2.0 * i / (2 * pairs)) for i in range(pairs)])


def theta_yarn(pairs, base, scale, context, fast, slow, extrapolation):
    """YaRN: Peng et al. 2023, arXiv:2309.00071, section 3.2: with r(i) = L / lambda_i turns in the
    training context, theta' = (1 - g) theta / s + g theta, g a ramp. As published the ramp is over r;
    with whole dims, as models use it, it is over i between the dims that turn `fast` and `slow` times."""
    theta = angles_plain(pairs, base)

    def pair_that_turns(times):   # lambda_i = 2 pi base^(2 i / d); L / lambda_i = times
        return 2 * pairs * math.log(context / (times * 2 * math.pi)) / (2 * math.log(base))

    low, high = math.floor(pair_that_turns(fast)), math.ceil(pair_that_turns(slow))
    low, high = max(low, 0), min(high, 2 * pairs - 1)
    g = np.array([1 - min(max((i - low) / max(high - low, 0.001), 0), 1) for i in range(pairs)])
    g = g * extrapolation
    return (1 - g) * theta * scale + g * theta


def turned(x, position, theta, rot_dims, neox, length=1.0):
    """x (T, H, D)"""
    out = x.astype(np.float64)
    half = rot_dims // 2
    for i in range(half):
        a, b = (i, i + half) if neox else (2 * i, 2 * i + 1)
        z = (x[..., a] + 1j * x[..., b].astype(np.float64)) * \
            np.exp(1j * position * theta[i])[:, None] * length
        out[..., a], out[..., b] = z.real, z.imag
    return out


def rope_case(name, neox=False, head=16, rot_dims=None, base=10000.0, scale=1.0, factors=False,
              yarn=None, length=0.0, dtype=np.float32, positions=None):
    rot_dims = rot_dims or head
    x = f32(5, 3, head).astype(dtype)
    position = np.array([0, 1, 7, 100, 4095] if positions is None else positions, dtype=np.int32)
    theta = angles_plain(rot_dims // 2, base) * scale
    attributes = dict(layout=int(neox), rot_dims=rot_dims, base=base, scale=scale)
    case = case_file.Case("rope: " + name)
    operands = [case.input(x), case.input(position)]
    if yarn:
        theta = theta_yarn(rot_dims // 2, base, scale, *yarn)
        attributes.update(yarn_context=yarn[0], yarn_beta_fast=yarn[1], yarn_beta_slow=yarn[2],
                          yarn_extrapolation=yarn[3])
    if factors:
        divisors = f32(rot_dims // 2, low=1, high=8)
        operands.append(case.input(divisors))
        theta = theta / divisors
    if length:
        attributes["yarn_attention"] = length
    case.step("rope", operands, **attributes)
    want = turned(x, position, theta, rot_dims, neox, np.float64(np.float32(length)) or 1.0)
    case.expect(want.astype(dtype), 5e-7 if dtype == np.float32 else 1e-6,
                0 if dtype == np.float32 else 1e-3)
    return case


def rope_cases():
    yarn = (64, 32.0, 1.0, 1.0)   # context, beta fast and slow, extrapolation: the ramp is inside
    for neox in (False, True):
        kind = "neox" if neox else "normal"
        yield rope_case(kind, neox)
        yield rope_case(kind + ", F16", neox, dtype=np.float16)
        yield rope_case(kind + ", 6 of 16 dims", neox, rot_dims=6)
        yield rope_case(kind + ", positions divided by 4, base 1e6", neox, scale=0.25, base=1e6)
        yield rope_case(kind + ", factors of frequencies", neox, factors=True)
        yield rope_case(kind + ", YaRN", neox, head=32, scale=0.125, yarn=yarn,
                        length=0.1 * math.log(8) + 1)   # arXiv:2309.00071, equation 22
        yield rope_case(kind + ", half of YaRN", neox, head=32, scale=0.125,
                        yarn=(4096, 32.0, 1.0, 0.5))
        yield rope_case(kind + ", YaRN of 24 of 40 dims with factors", neox, head=40, rot_dims=24,
                        scale=0.25, yarn=yarn, factors=True)
    yield rope_case("negative and large positions", positions=[-5, -1, 0, 100000, 131071])


# Attention: Vaswani et al. 2017, arXiv:1706.03762, equation 1, a head at a time. Grouped heads:
# Ainslie et al. 2023, arXiv:2305.13245. Window: Beltagy et al. 2020, arXiv:2004.05150, section 3.1,
# on its causal side. Softcap: arXiv:2408.00118. Sinks: the learned logit of each head in the
# denominator, gpt-oss model card 2025, arXiv:2508.10925, section 2.

def attention(q, k, v, position, scale, causal, window, mask, softcap, sinks):
    """q (T, H, D), k (S, G, D), v (S, G, E)"""
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    tokens, heads, _ = q.shape
    out = np.zeros((tokens, heads, v.shape[2]))
    for t in range(tokens):
        for h in range(heads):
            g = h // (heads // k.shape[1])
            numerator, denominator = np.zeros(v.shape[2]), 0.0
            for s in range(k.shape[0]):
                if causal and s > position[t]:
                    continue
                if window and position[t] - s >= window:
                    continue
                score = scale * sum(q[t, h] * k[s, g])
                if softcap:
                    score = softcap * math.tanh(score / softcap)
                if mask is not None:
                    score += float(mask[t, s])
                numerator += math.exp(score) * v[s, g]
                denominator += math.exp(score)
            if sinks is not None:
                denominator += math.exp(sinks[h])
            if denominator > 0:
                out[t, h] = numerator / denominator
    return out


def attention_case(name, heads=4, key_heads=4, tokens=4, keys=9, head=8, value=None, causal=True,
                   window=0, masked=False, softcap=0.0, sinks=False, first=None, dtype=np.float32,
                   scale=None):
    q, k = f32(tokens, heads, head, low=-2, high=2), f32(keys, key_heads, head, low=-2, high=2)
    v = f32(keys, key_heads, value or head)
    k, v = k.astype(dtype), v.astype(dtype)
    position = np.arange(tokens, dtype=np.int32) + (keys - tokens if first is None else first)
    mask = sink = None
    if masked:
        mask = f32(tokens, keys, low=-2, high=0)
        mask[random.uniform(size=mask.shape) < 0.3] = -np.inf
        mask[1] = -np.inf   # a token that sees nothing
    if sinks:
        sink = f32(heads, low=-2, high=3)
    scale = scale or head ** -0.5
    case = case_file.Case("attention: " + name)
    operands = [case.input(a) for a in (q, k, v, position)]
    if mask is not None or sink is not None:
        operands.append(None if mask is None else case.input(mask))
    if sink is not None:
        operands.append(case.input(sink))
    case.step("attention", operands, flags=int(causal), scale=scale, softcap=softcap, window=window)
    want = attention(q, k, v, position, scale, causal, window, mask, softcap, sink)
    case.expect(want.astype(np.float32), 1e-6, 1e-6)
    return case


def attention_cases():
    yield attention_case("causal")
    yield attention_case("one token", tokens=1)
    yield attention_case("one token, 130 keys", tokens=1, keys=130, heads=2, key_heads=1, head=4)
    yield attention_case("from the start of a context", first=0)
    yield attention_case("every token sees every key", causal=False)
    yield attention_case("grouped heads", heads=6, key_heads=2)
    yield attention_case("one key head", heads=5, key_heads=1)
    yield attention_case("values wider than keys", value=12)
    yield attention_case("keys and values in F16", dtype=np.float16)
    yield attention_case("window", window=3)
    yield attention_case("window of the token itself", window=1)
    yield attention_case("window without causality", window=3, causal=False)
    yield attention_case("window, 70 tokens", window=40, tokens=70, keys=70, heads=1, key_heads=1,
                         head=4)
    yield attention_case("mask", masked=True, causal=False)
    yield attention_case("mask and causality", masked=True)
    yield attention_case("softcap", softcap=1.5)
    yield attention_case("softcap and mask", softcap=1.5, masked=True)
    yield attention_case("sinks", sinks=True)
    yield attention_case("sinks, grouped heads, one token", sinks=True, heads=6, key_heads=2, tokens=1)
    yield attention_case("sinks, one token, 130 keys", sinks=True, tokens=1, keys=130, heads=2,
                         key_heads=1, head=4)
    yield attention_case("sinks and a mask", sinks=True, masked=True)
    yield attention_case("sinks, window, softcap and grouped heads", sinks=True, window=4, softcap=2.0,
                         heads=6, key_heads=3)


def main():
    cases = [*gated_cases(), *rope_cases(), *attention_cases()]
    case_file.write(os.path.join(HERE, "cases.json"), cases)
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main()
