"""Lines of C have 100 columns at most: what clang-format sees to, but for comments and where it was not run.

The contract's headers are tables with remarks beside them, and so are the files *.def: they are wider.

Usage: lines_have_100_columns.py SOURCE_DIR
"""
import source

MOST = 100
TABLES = "sdk/include/tenon/"


def check(root):
    faults = []
    for path in source.files(root, ["core", "sdk", "plugins", "tools", "tests"], (".c", ".h")):
        if path.startswith(TABLES):
            continue
        for number, line in enumerate(source.read(root, path).splitlines(), 1):
            if len(line) > MOST:
                faults.append(f"{path}:{number}: {len(line)} columns, at most {MOST}")
    return faults


if __name__ == "__main__":
    source.main(check)
