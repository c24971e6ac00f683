#!/usr/bin/env python3
"""What a sampler must draw, from the description in lm.h and nothing of its code.

    make.py [FOLDER] [ROWS]

writes FOLDER/draws.json (default: beside this file) with ROWS random rows
(default 60) behind the chosen ones.  Needs Python 3 alone.
"""
import json
import math
import os
import random
import struct
import sys

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


def logits_of(row):
    """Id i has (i * 7919 % 1000, rounded down to a multiple of step) / 100 - shift, each step in
    single precision: no two are equal with step 1, 50 are with step 50."""
    return [f32(f32(i * 7919 % VOCABULARY // row["step"] * row["step"] / f32(100)) - row["shift"])
            for i in range(VOCABULARY)]


def draws(row, count):
    """Ids drawn one after the other from the same logits; those of the prompt count as drawn."""
    source, history, base = SplitMix64(row["seed"]), list(row["prompt"]), logits_of(row)
    biases = {i: -math.inf if value is None else value for i, value in row["biases"]}
    for _ in range(count):
        logits = changed(base, biases, history[-(row["penalty_tokens"] or 64):],
                         row["repetition"], row["frequency"], row["presence"])
        if row["temperature"] == 0:
            history.append(max(range(VOCABULARY), key=lambda i: (logits[i], -i)))
        else:
            history.append(pick(source, candidates_after_steps(
                logits, row["temperature"], row["top_k"], row["top_p"], row["min_p"])))
    return history[len(row["prompt"]):]


PLAIN = dict(temperature=0.8, top_k=40, top_p=0.95, min_p=0.05, seed=0, repetition=0, frequency=0,
             presence=0, penalty_tokens=0, biases=[], prompt=[], step=1, shift=0)
BIASES, PROMPT = [[321, None], [0, 9.25], [7, 8.0]], [642, 963, 642]
CHOSEN = [
    dict(), dict(seed=1), dict(temperature=1.5, top_p=1, min_p=0, top_k=0, seed=42),
    dict(temperature=2, top_p=0.5, min_p=0, top_k=0, seed=7),
    dict(temperature=2, top_p=1, min_p=0, top_k=5, seed=7),
    dict(temperature=0, repetition=1.1, shift=5), dict(temperature=0, frequency=0.5, shift=5),
    dict(temperature=0, presence=0.02, penalty_tokens=3, shift=5),
    dict(temperature=0, repetition=2, frequency=0.25, presence=1, penalty_tokens=4, biases=BIASES,
         prompt=PROMPT, shift=5),
    dict(seed=3, repetition=1.3, prompt=PROMPT, shift=5),
    dict(seed=3, frequency=0.7, presence=0.3, penalty_tokens=2, biases=BIASES, shift=5),
    dict(seed=3, temperature=1.5, repetition=0.9, frequency=-0.01, prompt=PROMPT, shift=5),
    # Equal logits: the lower id goes first, also where top_k or top_p cuts among equals.
    dict(temperature=0, step=50), dict(step=50, top_k=7, top_p=1, min_p=0),
    dict(step=50, top_k=0, top_p=0.3, min_p=0), dict(step=1000, top_k=0, top_p=0.5, seed=5),
    dict(seed=2 ** 53 - 1),
]


def random_row(source):
    def maybe(values, otherwise):
        return source.choice(values) if source.random() < 0.5 else otherwise
    return dict(
        temperature=round(source.uniform(0.1, 3), 3), top_k=source.choice([0, 1, 2, 40, 999, 5000]),
        top_p=round(source.uniform(0.05, 1), 3), min_p=maybe([0, 0.01, 0.3, 1], 0.05),
        seed=source.getrandbits(52), repetition=maybe([0.8, 1, 1.2, 3], 0),
        frequency=maybe([-0.5, 0.1, 2], 0), presence=maybe([-1, 0.5, 4], 0),
        penalty_tokens=source.choice([0, 1, 5, 100]),
        biases=[[i, maybe([None, -3.5], round(source.uniform(-9, 9), 2))]
                for i in sorted(source.sample(range(VOCABULARY), source.choice([0, 0, 3, 200])))],
        prompt=source.choices(range(VOCABULARY), k=source.choice([0, 0, 4, 90])),
        step=source.choice([1, 3, 50]), shift=source.choice([0, 5]))


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    source = random.Random(1)
    rows = CHOSEN + [random_row(source) for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 60)]
    entries = []
    for row in rows:
        row = PLAIN | row
        entries.append(json.dumps(row | {"ids": draws(row, 16)}, separators=(",", ":")))
    with open(os.path.join(folder, "draws.json"), "w", encoding="ascii") as f:
        f.write("[\n" + ",\n".join(entries) + "\n]\n")


if __name__ == "__main__":
    main()
