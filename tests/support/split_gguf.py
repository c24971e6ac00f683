#!/usr/bin/env python3
"""Splits a GGUF file into parts, NAME-00001-of-0000N.gguf and so on, with the standard library alone.

Usage: split_gguf.py FILE NAME N
The first part has the metadata; the tensors go to the parts in turn, each part about equally many.
"""
import pathlib
import struct
import sys

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY, ALIGNMENT = 8, 9, 32


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, form):
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def string(self):
        size = self.number("Q")
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def skip_value(self, kind):
        if kind == STRING:
            self.string()
        elif kind == ARRAY:
            element, count = self.number("I"), self.number("Q")
            for _ in range(count):
                self.skip_value(element)
        else:
            self.at += SIZES[kind]


def string(text):
    return struct.pack("<Q", len(text)) + text.encode()


def read(data):
    """(bytes of the keys, how many, tensors as (entry without its offset, bytes of data))"""
    reader = Reader(data)
    reader.at = 8
    tensor_count, key_count = reader.number("Q"), reader.number("Q")
    begin = reader.at
    for _ in range(key_count):
        reader.string()
        reader.skip_value(reader.number("I"))
    keys = data[begin:reader.at]
    entries = []
    for _ in range(tensor_count):
        begin = reader.at
        reader.string()
        rank = reader.number("I")
        reader.at += 8 * rank + 4   # dims and type
        entry = data[begin:reader.at]
        entries.append((entry, reader.number("Q")))
    start = -(-reader.at // ALIGNMENT) * ALIGNMENT
    ends = sorted(offset for _, offset in entries) + [len(data) - start]
    return keys, key_count, [(entry, data[start + offset:start + ends[ends.index(offset) + 1]])
                             for entry, offset in entries]


def part(keys, key_count, tensors, number, count, total):
    keys += string("split.no") + struct.pack("<IH", 2, number)
    keys += string("split.count") + struct.pack("<IH", 2, count)
    keys += string("split.tensors.count") + struct.pack("<Ii", 5, total)
    table, body = b"", b""
    for entry, data in tensors:
        table += entry + struct.pack("<Q", len(body))
        body += data + b"\0" * (-len(data) % ALIGNMENT)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), key_count + 3) + keys + table
    return head + b"\0" * (-len(head) % ALIGNMENT) + body


def main(path, name, count):
    count = int(count)
    keys, key_count, tensors = read(pathlib.Path(path).read_bytes())
    for number in range(count):
        mine = tensors[len(tensors) * number // count:len(tensors) * (number + 1) // count]
        data = part(b"" if number else keys, 0 if number else key_count, mine, number, count, len(tensors))
        pathlib.Path(f"{name}-{number + 1:05}-of-{count:05}.gguf").write_bytes(data)


if __name__ == "__main__":
    main(*sys.argv[1:])
