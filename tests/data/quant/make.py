"""Blocks of every type and what they decode to, and F32 numbers and the blocks they encode to, by
the Python package gguf.

Usage: make.py [FOLDER]      writes FOLDER/blocks.bin and FOLDER/SHA256SUMS (default: beside this)

Needs Python 3 with gguf 0.19.0 and numpy 2.4.6. The layout of blocks.bin is in README.md.
"""
import hashlib
import importlib.metadata
import pathlib
import struct
import sys

import numpy as np
from gguf import quants
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

GGUF_VERSION, NUMPY_VERSION = "0.19.0", "2.4.6"
DECODE, ENCODE = 1, 2

# Numbers of dtypes.def; blocks given in full; blocks of the checksum.
DECODED = {"F16": (2, 1024, 65536), "BF16": (3, 1024, 65536),
           "Q4_0": (16, 48, 4096), "Q4_1": (17, 48, 4096), "Q5_0": (18, 48, 4096),
           "Q5_1": (19, 48, 4096), "Q8_0": (20, 48, 4096), "Q2_K": (24, 12, 2048),
           "Q3_K": (25, 12, 2048), "Q4_K": (26, 12, 2048), "Q5_K": (27, 12, 2048),
           "Q6_K": (28, 12, 2048), "IQ4_NL": (32, 48, 4096)}
ENCODED = {"F16": 2, "BF16": 3, "Q4_0": 16, "Q4_1": 17, "Q5_0": 18, "Q5_1": 19, "Q8_0": 20}
MANY_NUMBERS = 8192 * 32


def words(seed, count):
    """splitmix64 (Steele, Lea, Flood 2014): word i depends on the seed and on i alone."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(
            0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def random_bytes(seed, count):
    return words(seed, (count + 7) // 8).astype("<u8").view(np.uint8)[:count]


def random_numbers(seed, count):
    """Even over -1 to 1 in steps of 2^-23, times a power of two from 2^-8 to 2^7."""
    w = words(seed, count)
    size = (w >> np.uint64(40)).astype(np.int64) - 2**23
    return (size * 2.0 ** ((w & np.uint64(15)).astype(np.int64) - 31)).astype(np.float32)


def bits_of(x):
    """A NaN is any NaN: which bits it has depends on the machine."""
    bits = x.astype("<f4").view("<u4").copy()
    bits[np.isnan(x)] = 0x7FC00000
    return bits


def checksum(values):
    with np.errstate(over="ignore"):
        return int((values.astype(np.uint64) *
                    np.arange(1, len(values) + 1, dtype=np.uint64)).sum(dtype=np.uint64))


def decode(name, block_bytes):
    with np.errstate(all="ignore"):
        return quants.dequantize(block_bytes, GGMLQuantizationType[name]).reshape(-1)


def encode(name, x):
    rows = x.reshape(-1, GGML_QUANT_SIZES[GGMLQuantizationType[name]][0])
    with np.errstate(all="ignore"):
        return quants.quantize(rows, GGMLQuantizationType[name]).view(np.uint8).reshape(-1)


def blocks_in_full(seed, count, size):
    """All zeros, all ones, then any bits."""
    blocks = random_bytes(seed, count * size).reshape(count, size).copy()
    blocks[0], blocks[1] = 0, 255
    return blocks


def numbers_in_full():
    """48 rows of 32, those that catch an encoder out before those that are merely many."""
    even = random_numbers(11, 48 * 32).reshape(48, 32)
    bell = (words(12, 48 * 32 * 12).reshape(48, 32, 12) >> np.uint64(40)).sum(axis=2)
    rows = ((bell.astype(np.int64) - 6 * 2**24) * 2.0**-24).astype(np.float32)
    step = np.arange(32, dtype=np.float32)
    rows[0] = 0
    rows[1] = 0.75                      # all the same
    rows[2] = -0.75
    rows[3] = 0
    rows[3][17] = -3                    # one that is not zero
    rows[4] = step / 2 - 4              # ties of Q4_0: d = 1/2 of the largest ...
    rows[4][0] = -8
    rows[5] = step / 2 - 8
    rows[5][0] = -16                    # ... of Q5_0
    rows[6] = step / 2 - 7
    rows[6][0] = 127                    # ... of Q8_0
    rows[7] = step / 2
    rows[7][31] = 15                    # ... of Q4_1
    rows[8] = step / 2
    rows[8][31] = 31                    # ... of Q5_1
    rows[9] = np.where(step % 2, 5, -5)     # the first of equals decides the sign
    rows[10] = -rows[9]
    rows[11] = even[11] * 1e-6          # a scale that is subnormal in half precision,
    rows[12] = even[12] * 1e-9          # one that is 0 there, its quants are not,
    rows[13] = even[13] * 1e-33
    rows[14] = even[14] / np.abs(even[14]).max() * 60000      # and a large one
    rows[15] = np.abs(even[15])
    rows[16] = -np.abs(even[16])
    rows[17] = 100 + even[17] * 1e-3
    rows[18:32] = even[18:32]
    return rows.astype(np.float32).reshape(-1)


def section(kind, number, seed, many, total, before, after):
    return struct.pack("<IIQQQII", kind, number, seed, many, total, len(before),
                       len(after)) + before + after


def main():
    for package, version in (("gguf", GGUF_VERSION), ("numpy", NUMPY_VERSION)):
        if importlib.metadata.version(package) != version:
            sys.exit(f"{package} {version} is needed, "
                     f"{importlib.metadata.version(package)} is there")
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
    folder = folder if folder.is_dir() else folder.parent
    sections = []
    for name, (number, count, many) in DECODED.items():
        size = GGML_QUANT_SIZES[GGMLQuantizationType[name]][1]
        blocks = blocks_in_full(number, count, size)
        if size == 2:   # every pattern there is
            crowd = np.arange(65536, dtype="<u2").view(np.uint8)
        else:
            crowd = random_bytes(1000 + number, many * size)
        total = checksum(bits_of(decode(name, crowd.reshape(many, size))))
        sections.append(section(DECODE, number, 1000 + number, many, total, blocks.tobytes(),
                                bits_of(decode(name, blocks)).tobytes()))
    rows, crowd = numbers_in_full(), random_numbers(2000, MANY_NUMBERS)
    for name, number in ENCODED.items():
        sections.append(section(ENCODE, number, 2000, MANY_NUMBERS,
                                checksum(encode(name, crowd)), rows.astype("<f4").tobytes(),
                                encode(name, rows).tobytes()))
    data = b"TNQUANT1" + struct.pack("<I", len(sections)) + b"".join(sections)
    (folder / "blocks.bin").write_bytes(data)
    (folder / "SHA256SUMS").write_text(f"{hashlib.sha256(data).hexdigest()}  blocks.bin\n")
    print(f"{len(data)} bytes, {len(sections)} sections")


if __name__ == "__main__":
    main()
