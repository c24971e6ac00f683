"""The composite ops of core/graph/decompose.c are those that sdk/docs/refusing.md tells plugins of, and those that
tests/support/composites.c has cases of.

Usage: composites_are_documented.py SOURCE_DIR
"""
import re

import source

TABLE = "core/graph/decompose.c"
PAGE = "sdk/docs/refusing.md"
CASES = "tests/support/composites.c"


def check(root):
    table = set(op.lower() for op in re.findall(r"\{ TNP_OP_(\w+), \d", source.read(root, TABLE)))
    page = set(re.findall(r"^\| `(\w+)` \|", source.read(root, PAGE), re.M))
    faults = [f"{TABLE}: {op} is composite, {PAGE} does not say so" for op in sorted(table - page)]
    faults += [f"{PAGE}: {op} is not in the table of {TABLE}" for op in sorted(page - table)]
    cases = set(op.lower() for op in re.findall(r"\bTNP_OP_(\w+)", source.code(source.read(root, CASES))))
    faults += [f"{CASES}: {op} is composite, but has no case" for op in sorted(table - cases)]
    faults += [f"{CASES}: {op} is not in the table of {TABLE}" for op in sorted(cases - table)]
    if not table:
        faults.append(f"{TABLE}: no table was found")
    return faults


if __name__ == "__main__":
    source.main(check)
