#!/usr/bin/env python3
"""planted.py KIND COUNT SEED: prints buffers that fit without a gap, as CSV (id,lower,upper,size).

A buffer is live in [lower, upper). A rectangle of time by bytes is cut into COUNT pieces, a few more or less, so that a
plan of exactly its height is there; it is also the largest sum of live sizes. The rows are shuffled.

  cut       one piece after the other is cut in two, those of large area sooner: a few long and large ones, many small
  pinwheel  half of the cuts make five pieces that turn about the middle one, which no straight cut takes apart
  bricks    columns of time, each cut into layers of its own, neighbours shifted: short ones of like size
  loose     as pinwheel, and what is not live at one moment in the middle is shorter in time, or gone

Sizes and times are multiples of 1,024 in a square of 2^20, as in the instances that MiniMalloc's authors published.
"""
import random
import sys

from layered import as_csv

UNIT = 1024
SIDE = 1024   # of the square, in units


def cut_in_two(r, piece):
    """Two pieces, or the piece alone where it is too thin."""
    first, last, low, high = piece
    in_time = r.random() < 0.5
    if (last - first if in_time else high - low) < 2:
        in_time = not in_time
    if in_time and last - first > 1:
        at = r.randint(first + 1, last - 1)
        return [(first, at, low, high), (at, last, low, high)]
    if not in_time and high - low > 1:
        at = r.randint(low + 1, high - 1)
        return [(first, last, low, at), (first, last, at, high)]
    return [piece]


def cut_in_five(r, piece):
    """Four pieces around a fifth, to the left or to the right."""
    first, last, low, high = piece
    if last - first < 3 or high - low < 3:
        return cut_in_two(r, piece)
    t, u = sorted(r.sample(range(first + 1, last), 2))
    b, c = sorted(r.sample(range(low + 1, high), 2))
    middle = (t, u, b, c)
    if r.random() < 0.5:
        return [(first, u, low, b), (u, last, low, c), (t, last, c, high), (first, t, b, high), middle]
    return [(t, last, low, b), (u, last, b, high), (first, u, c, high), (first, t, low, c), middle]


def cut(r, count, pinwheels):
    pieces = [(0, SIDE, 0, SIDE)]
    while len(pieces) < count:
        # The largest of a few: areas stay unlike, and none is left whole.
        at = max(r.sample(range(len(pieces)), min(len(pieces), 3)),
                 key=lambda i: (pieces[i][1] - pieces[i][0]) * (pieces[i][3] - pieces[i][2]))
        piece = pieces.pop(at)
        pieces += cut_in_five(r, piece) if r.random() < pinwheels else cut_in_two(r, piece)
    return pieces


def bricks(r, count):
    """Layers of like height; a layer changes its height only where it ends together with its neighbour."""
    layers = max(4, round(count ** 0.5))
    edges = [0] + sorted(r.sample(range(1, SIDE), layers - 1)) + [SIDE]
    edges = [round((edge + SIDE * i / layers) / 2) for i, edge in enumerate(edges)]
    pieces = []
    for low, high in zip(edges, edges[1:]):
        if high == low:
            continue
        first = 0
        while first < SIDE:
            length = r.randint(SIDE * layers // count // 2, SIDE * layers * 3 // count // 2)
            last = SIDE if first + 2 * length > SIDE else first + max(1, length)
            pieces.append((first, last, low, high))
            first = last
    # Two layers that lie on each other over the same time change places, or share their height anew.
    for _ in range(4 * count):
        i = r.randrange(len(pieces))
        first, last, low, high = pieces[i]
        above = [j for j, p in enumerate(pieces) if p[2] == high and p[0] < last and first < p[1]]
        if len(above) != 1 or pieces[above[0]][:2] == (first, last):
            continue
        t, u, b, c = pieces[above[0]]
        if t <= first and last <= u and c - b > 2:   # the lower one grows into the upper, which is cut in three
            rise = r.randint(1, (c - b) // 2)
            pieces[i] = (first, last, low, high + rise)
            parts = [(t, first, b, c), (first, last, b + rise, c), (last, u, b, c)]
            pieces[above[0]:above[0] + 1] = [p for p in parts if p[0] < p[1]]
        if len(pieces) >= count:
            break
    return pieces


def loosen(r, pieces):
    moment = SIDE // 2 + r.randint(-SIDE // 8, SIDE // 8)
    for first, last, low, high in pieces:
        if first <= moment < last:
            yield first, last, low, high
        elif r.random() < 0.9:
            a, b = sorted((r.randint(first, last), r.randint(first, last)))
            yield (first, last, low, high) if r.random() < 0.6 or a == b else (a, b, low, high)


KINDS = {"cut": lambda r, n: cut(r, n, 0),
         "pinwheel": lambda r, n: cut(r, n, 0.5),
         "bricks": bricks,
         "loose": lambda r, n: list(loosen(r, cut(r, round(n * 1.05), 0.5)))}


def planted(kind, count, seed):
    """(lower, upper, size) of each, in no order."""
    r = random.Random(seed)
    pieces = KINDS[kind](r, count)
    r.shuffle(pieces)
    return [(first * UNIT, last * UNIT, (high - low) * UNIT) for first, last, low, high in pieces]


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    sys.stdout.write(as_csv(planted(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))


if __name__ == "__main__":
    main()
