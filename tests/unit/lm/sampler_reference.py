"""The draws of tests/unit/lm/sampler.c, from the description of the sampler in lm.h and nothing of its code.

Prints a line for each row of the tables `draws` and `penalties`. Needs Python 3 alone.
"""
import math
import struct

VOCABULARY = 1000
MASK = (1 << 64) - 1


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


class SplitMix64:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)


def candidates_after_steps(logits, temperature, top_k, top_p, min_p):
    left = sorted(((logit, i) for i, logit in enumerate(logits)), key=lambda c: (-c[0], c[1]))
    best = left[0][0]
    if top_k:
        left = left[:top_k]
    if top_p < 1:
        weights = [math.exp(logit - best) for logit, _ in left]
        share, keep = 0.0, 0
        while keep < len(left) and (keep == 0 or share < f32(top_p) * sum(weights)):
            share += weights[keep]
            keep += 1
        left = left[:keep]
    left = [c for c in left if math.exp(c[0] - best) >= f32(min_p)]
    return [(f32(f32(logit - best) / f32(temperature)), i) for logit, i in left]


def changed(logits, biases, history, repetition, frequency, presence):
    out = []
    for i, logit in enumerate(logits):
        logit = f32(logit + f32(biases.get(i, 0.0)))
        times = history.count(i)
        if times and repetition not in (0, 1):
            logit = f32(logit / f32(repetition) if logit > 0 else logit * f32(repetition))
        if times:
            logit = f32(logit - times * f32(frequency) - f32(presence))
        out.append(logit)
    return out


def pick(random, left):
    weights = [math.exp(logit - left[0][0]) for logit, _ in left]
    rest = sum(weights) * (random.next() >> 11) * 2.0 ** -53
    for (_, i), weight in zip(left, weights):
        rest -= weight
        if rest < 0:
            break
    return i


LOGITS = [f32(i * 7919 % VOCABULARY / f32(100)) for i in range(VOCABULARY)]


def draws(temperature, top_p, min_p, top_k, seed, count=8):
    left = candidates_after_steps(LOGITS, temperature, top_k, top_p, min_p)
    random = SplitMix64(seed)
    return [pick(random, left) for _ in range(count)]


# Logits here are 5 lower, so that some are below 0. The prompt counts as picked.
def penalized(temperature, repetition, frequency, presence, tokens, biases=(), prompt=(), count=8):
    random, history = SplitMix64(3), list(prompt)
    for _ in range(count):
        window = history[-tokens:]
        logits = changed([f32(logit - 5) for logit in LOGITS], dict(biases), window,
                         repetition, frequency, presence)
        if temperature == 0:
            history.append(max(range(VOCABULARY), key=lambda i: (logits[i], -i)))
        else:
            history.append(pick(random, candidates_after_steps(logits, temperature, 40, 0.95, 0.05)))
    return history[len(prompt):]


for row in ((0.8, 0.95, 0.05, 40, 0), (0.8, 0.95, 0.05, 40, 1), (1.5, 1, 0, 0, 42), (2, 0.5, 0, 0, 7), (2, 1, 0, 5, 7)):
    print(row, draws(*row))
BIASES, PROMPT = ((321, -math.inf), (0, 9.25), (7, 8.0)), (642, 963, 642)
for row in ((0, 1.1, 0, 0, 64), (0, 0, 0.5, 0, 64), (0, 0, 0, 0.02, 3), (0, 2, 0.25, 1, 4, BIASES, PROMPT),
            (0.8, 1.3, 0, 0, 64, (), PROMPT), (0.8, 0, 0.7, 0.3, 2, BIASES), (1.5, 0.9, -0.01, 0, 64, (), PROMPT)):
    print(row, penalized(*row))
