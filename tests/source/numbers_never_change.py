"""Numbers of ops and element types are unique, and equal to the kept list, which only grows.

Usage: numbers_never_change.py SOURCE_DIR LIST
"""
import re

import source

TABLES = [
    ("dtype", "sdk/include/tenon/dtypes.def", "DTYPE"),
    ("op", "sdk/include/tenon/ops.def", "OP"),
]


def entries(root):
    """(kind, number, name, path and line) of each entry of the tables."""
    for kind, path, macro in TABLES:
        text = source.without_comments(source.read(root, path))
        for m in re.finditer(rf"^{macro}\(\s*(\d+)\s*,\s*(\w+)", text, re.M):
            yield kind, int(m[1]), m[2], f"{path}:{source.line_of(text, m.start())}"


def check(root, list_path):
    faults = []
    with open(list_path, encoding="utf-8") as file:
        kept = [line.split() for line in file if line.strip() and not line.startswith("#")]
    names = {(kind, int(number)): name for kind, number, name in kept}
    if len(names) != len(kept):
        faults.append(f"{list_path}: a number comes twice")
    seen = {}
    for kind, number, name, place in entries(root):
        if (kind, number) in seen:
            before = seen[kind, number]
            faults.append(f"{place}: {kind} {number} is {name} here and {before} before")
        if (kind, name) in ((k, n) for (k, _), n in seen.items()):
            faults.append(f"{place}: {kind} {name} comes twice")
        seen[kind, number] = name
        if (kind, number) not in names:
            faults.append(f"{place}: {kind} {number} {name} is new: add it to {list_path}")
        elif names[kind, number] != name:
            faults.append(f"{place}: {kind} {number} is {name}, but has been {names[kind, number]}")
    for (kind, number), name in names.items():
        if (kind, number) not in seen:
            faults.append(f"{list_path}: {kind} {number} {name} is gone from its table")
    return faults


if __name__ == "__main__":
    source.main(check)
