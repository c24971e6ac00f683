#!/usr/bin/env python3
"""Writes corpus/manifest/: a small ELF file with a manifest, and others with one thing wrong each."""
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent / "corpus" / "manifest"
NOTES_AT = 64 + 56


def manifest(name=b"npu", size=192, machine=62):
    numbers = struct.pack("<8I", size, 0x10000, 0x10000, machine, 1, 0, 0, 0)
    return numbers + struct.pack("<32s32s64s32s", name, b"1.0", b"Vendor", b"MIT")


def note(data, name=b"Tenon\0", kind=1, size=None):
    head = struct.pack("<3I", len(name), len(data) if size is None else size, kind)
    return head + name + b"\0" * (-len(name) % 4) + data + b"\0" * (-len(data) % 4)


def elf(notes, align=4, filesz=None, phnum=1, machine=62, kind=3):
    ident = b"\x7fELF\2\1\1"
    header = struct.pack("<16sHHIQQQIHHHHHH", ident, kind, machine, 1, 0, 64, 0, 0, 64, 56, phnum, 0, 0, 0)
    filesz = len(notes) if filesz is None else filesz
    segment = struct.pack("<IIQQQQQQ", 4, 4, NOTES_AT, 0, 0, filesz, 0, align)
    return header + segment + notes


GNU = note(b"0123456789", b"GNU\0", 3)
FILES = {
    "good": elf(note(manifest())),
    "among_others": elf(GNU + note(manifest()) + GNU),
    "align_8": elf(note(manifest()), align=8),
    "two": elf(note(manifest()) * 2),
    "longer": elf(note(manifest(size=200) + b"\1" * 8)),
    "cut": elf(note(manifest()))[:200],
    "no_notes": elf(b"", phnum=0),
    "many_headers": elf(note(manifest()), phnum=65535),
    "segment_beyond": elf(note(manifest()), filesz=2**64 - 1),
    "note_beyond": elf(note(manifest(), size=2**32 - 1)),
    "size_beyond": elf(note(manifest(size=2**32 - 1))),
    "other_machine": elf(note(manifest(machine=183))),
    "bad_name": elf(note(manifest(name=b"\xff" * 32))),
    "program": elf(note(manifest()), kind=2),
    "empty": b"",
}

FOLDER.mkdir(parents=True, exist_ok=True)
for file_name, data in FILES.items():
    (FOLDER / file_name).write_bytes(data)
