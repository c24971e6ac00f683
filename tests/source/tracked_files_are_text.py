"""No file of the tree is an executable or holds NUL bytes, but for data that is meant: the tree is text to read.

Usage: tracked_files_are_text.py SOURCE_DIR
"""
import os
import subprocess

import source

# Models, tokenizers and blocks. Of a corpus nothing is asked: its plugins' files are executables.
DATA = ("tests/data/", "tools/lm/models/")
CORPUS = "tests/fuzz/corpus/"
EXECUTABLES = (b"\x7fELF", b"MZ", b"!<arch>\n", b"\0asm", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


def tracked(root):
    """What git knows; where there is no git, as in a release's archive, all files."""
    try:
        done = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=False)
    except FileNotFoundError:
        return source.files(root, [""], "")
    return os.fsdecode(done.stdout).split("\0")[:-1] or source.files(root, [""], "")


def check(root):
    faults = []
    for path in tracked(root):
        full = os.path.join(root, path)
        if path.startswith(CORPUS) or os.path.islink(full) or not os.path.isfile(full):
            continue
        with open(full, "rb") as file:
            contents = file.read()
        if b"\0" not in contents:
            continue
        if contents.startswith(EXECUTABLES):
            faults.append(f"{path}: is an executable, which is built, not kept")
        elif not path.startswith(DATA):
            faults.append(f"{path}: has NUL bytes, and is in no folder of data ({', '.join(DATA)})")
    return faults


if __name__ == "__main__":
    source.main(check)
