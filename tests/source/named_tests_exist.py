"""Every test that tests/cases.md names is there: `folder/file`, then functions of it and "titles" (with … at the end
of one that goes on); and each row has a number of its own.

Usage: named_tests_exist.py SOURCE_DIR
"""
import os
import re

import source

PAGE = "tests/cases.md"


def check(root):
    text = source.read(root, PAGE)
    faults = []
    # A file in back quotes, and what is said of it up to the next one, the next cell or paragraph.
    for m in re.finditer(r"`([\w-]+(?:/[\w-]+)+\.\w+)`([^`|]*?)(?=`|\||\n\n|$)", text):
        where = f"{PAGE}:{source.line_of(text, m.start())}"
        path = os.path.join("tests", m[1])
        if not os.path.isfile(os.path.join(root, path)):
            faults.append(f"{where}: there is no {path}")
            continue
        there = source.read(root, path)
        titles = re.findall(r'"([^"]+)"', m[2])
        functions = re.findall(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b", re.sub(r'"[^"]*"', "", m[2]))
        for name in titles + functions:
            if name.rstrip("…") not in there:
                faults.append(f"{where}: {path} has no test '{name}'")
    numbers = re.findall(r"^\| (\d+) \|", text, re.M)
    for i, number in enumerate(numbers, 1):
        if int(number) != i:
            faults.append(f"{PAGE}: row {number} comes as number {i}")
            break
    if not numbers:
        faults.append(f"{PAGE}: no rows were found")
    return faults


if __name__ == "__main__":
    source.main(check)
