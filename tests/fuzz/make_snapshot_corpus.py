#!/usr/bin/env python3
"""Writes corpus/snapshot: files with the states of snapshot.c, and what goes wrong in them, without the hash.

Magic, version, size and fingerprint are left zero: the target sets them.
Usage: make_snapshot_corpus.py, in this folder.
"""
import os
import struct

F32 = 1   # dtypes.def


def padded(data):
    return data + bytes(-len(data) % 8)


def entry(name, dims, count, size, dtype=F32, name_bytes=None):
    dims = list(dims) + [1] * (8 - len(dims))
    rank = sum(1 for d in dims if d != 1)
    return (struct.pack("<II8qqQQ", dtype, rank, *dims, count, size, len(name) if name_bytes is None else name_bytes)
            + padded(name))


def snapshot(entries, data, key=b"", note=b"", count=None, key_bytes=None, note_bytes=None):
    header = struct.pack("<8sIIQQQQ16x", b"", 0, len(entries) if count is None else count, 0, 0,
                         len(key) if key_bytes is None else key_bytes,
                         len(note) if note_bytes is None else note_bytes)
    return header + padded(key) + padded(note) + b"".join(entries) + b"".join(padded(d) for d in data)


S, N = entry(b"s", (4, 3), 3, 48), entry(b"n", (2,), 2, 8)
FLOATS = struct.pack("<12f", *range(12))
FILES = {
    "whole": snapshot([S, N], [FLOATS, FLOATS[:8]], note=b"a note"),
    "in_part": snapshot([entry(b"s", (4, 3), 1, 16), entry(b"n", (2,), 0, 0)], [FLOATS[:16], b""]),
    "other_order": snapshot([N, S], [FLOATS[:8], FLOATS]),
    "another_key": snapshot([S, N], [FLOATS, FLOATS[:8]], key=b"key"),
    "one_name_twice": snapshot([S, S], [FLOATS, FLOATS]),
    "no_states": snapshot([], []),
    "2_32_states": snapshot([S, N], [FLOATS, FLOATS[:8]], count=2**32 - 1),
    "name_past_the_end": snapshot([S, entry(b"n", (2,), 2, 8, name_bytes=2**63)], [FLOATS, FLOATS[:8]]),
    "key_past_the_end": snapshot([S, N], [FLOATS, FLOATS[:8]], key_bytes=2**64 - 8),
    "note_past_the_end": snapshot([S, N], [FLOATS, FLOATS[:8]], note_bytes=4096),
    "count_beyond": snapshot([entry(b"s", (4, 3), 4, 64), N], [FLOATS + FLOATS[:16], FLOATS[:8]]),
    "count_negative": snapshot([entry(b"s", (4, 3), -1, 2**64 - 16), N], [FLOATS, FLOATS[:8]]),
    "bytes_past_the_end": snapshot([entry(b"s", (4, 3), 3, 2**63), N], [FLOATS, FLOATS[:8]]),
    "bytes_of_another_count": snapshot([entry(b"s", (4, 3), 2, 48), N], [FLOATS, FLOATS[:8]]),
    "another_type": snapshot([entry(b"s", (4, 3), 3, 48, dtype=26), N], [FLOATS, FLOATS[:8]]),
    "data_cut": snapshot([S, N], [FLOATS[:40]]),
}

if __name__ == "__main__":
    os.makedirs("corpus/snapshot", exist_ok=True)
    for name, data in FILES.items():
        with open(os.path.join("corpus/snapshot", name), "wb") as file:
            file.write(data)
