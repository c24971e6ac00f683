#!/usr/bin/env python3
"""layered.py COUNT SEED [WIDTH]: the intervals of a random graph in layers, as tenon plan --intervals takes them.

A layer has 1 to WIDTH (64) nodes. Each reads one to three values of the layer before, and one in eight reads a value
from up to 50 layers back as well. A node is a step; its value is live from there to its last reader. A value has 64
bytes, times a power of two up to 4,096 or times any number up to that.
"""
import random
import sys


def size_of_a_value(rng):
    return 64 * (1 << rng.randint(0, 12) if rng.random() < 0.5 else rng.randint(1, 4096))


def layered(count, seed, width=64):
    """(lower, upper, size) of `count` values."""
    rng = random.Random(seed)
    layers, last_reader, sizes = [], [], []
    while len(sizes) < count:
        first = len(sizes)
        for node in range(first, first + min(rng.randint(1, width), count - first)):
            last_reader.append(node)
            sizes.append(size_of_a_value(rng))
            if not layers:
                continue
            before = layers[-1]
            for value in rng.sample(before, min(len(before), rng.randint(1, 3))):
                last_reader[value] = node
            if rng.random() < 0.125:
                last_reader[rng.choice(layers[-rng.randint(1, min(50, len(layers)))])] = node
        layers.append(range(first, len(sizes)))
    return [(node, last_reader[node] + 1, sizes[node]) for node in range(count)]


def as_csv(rows):
    return "id,lower,upper,size\n" + "".join(f"{i},{low},{up},{size}\n" for i, (low, up, size) in enumerate(rows))


if __name__ == "__main__":
    sys.stdout.write(as_csv(layered(*map(int, sys.argv[1:]))))
