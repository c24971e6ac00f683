#!/usr/bin/env python3
"""planted.py COUNT SEED: at least COUNT intervals that fill a memory of 1 MiB without a gap, so that their best peak
is their lower bound, as tenon plan --intervals takes them.

A rectangle of time by bytes is cut, the largest piece first: in two by time or by bytes, or in five that turn about one
in the middle, which no straight cut takes apart again.

    by time     by bytes    in five
    ┌──┬───┐    ┌──────┐    ┌────┬─┐
    │  │   │    ├──────┤    ├─┬──┤ │
    │  │   │    │      │    │ ├──┴─┤
    └──┴───┘    └──────┘    └─┴────┘
"""
import heapq
import random
import sys

from layered import as_csv

STEPS, UNITS, UNIT_BYTES = 4096, 1024, 1024


def cuts_of(rng, t0, t1, b0, b1):
    """The pieces of a rectangle; one alone when it is too small to cut."""
    steps, units = t1 - t0, b1 - b0
    kinds = ["time"] * (steps >= 2) + ["bytes"] * (units >= 2) + ["five"] * (steps >= 3 and units >= 3)
    kind = rng.choice(kinds) if kinds else None
    if kind == "time":
        t = rng.randint(t0 + 1, t1 - 1)
        return [(t0, t, b0, b1), (t, t1, b0, b1)]
    if kind == "bytes":
        b = rng.randint(b0 + 1, b1 - 1)
        return [(t0, t1, b0, b), (t0, t1, b, b1)]
    if kind == "five":
        t, u = sorted(rng.sample(range(t0 + 1, t1), 2))
        b, c = sorted(rng.sample(range(b0 + 1, b1), 2))
        return [(t0, u, b0, b), (u, t1, b0, c), (t, t1, c, b1), (t0, t, b, b1), (t, u, b, c)]
    return [(t0, t1, b0, b1)]


def planted(count, seed):
    """(lower, upper, size) of each, in no order."""
    rng = random.Random(seed)
    pieces = [(-STEPS * UNITS, 0, (0, STEPS, 0, UNITS))]   # smallest area last; then in the order they were made
    made = 1
    while len(pieces) < count:
        for piece in cuts_of(rng, *heapq.heappop(pieces)[2]):
            t0, t1, b0, b1 = piece
            heapq.heappush(pieces, (-(t1 - t0) * (b1 - b0), made, piece))
            made += 1
    rows = [(t0, t1, (b1 - b0) * UNIT_BYTES) for _, _, (t0, t1, b0, b1) in pieces]
    rng.shuffle(rows)
    return rows


if __name__ == "__main__":
    sys.stdout.write(as_csv(planted(*map(int, sys.argv[1:]))))
