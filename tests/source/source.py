"""What the checks of this folder share: files of the tree, C text without comments, reporting."""
import os
import re
import sys

SKIPPED_FOLDERS = {".git", "build", "out", "__pycache__"}


def files(root, folders, endings):
    """Paths relative to root, sorted, of the files under the folders whose names end so."""
    found = []
    for folder in folders:
        for where, names, here in os.walk(os.path.join(root, folder)):
            names[:] = sorted(n for n in names
                              if n not in SKIPPED_FOLDERS and not n.startswith("build"))
            found += [os.path.relpath(os.path.join(where, name), root)
                      for name in here if name.endswith(endings)]
    return sorted(set(found))


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


# A comment, a string or a character, in the order that C looks for them.
_TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    """The text with comments blanked; lines and columns stay."""
    return _TOKEN.sub(lambda m: _blank(m[0]) if m[0][0] == "/" else m[0], text)


def code(text):
    """The text with comments, strings and characters blanked; lines and columns stay."""
    return _TOKEN.sub(lambda m: _blank(m[0]), text)


def strings(text):
    """(position, contents) of each string, neighbours joined as the compiler does."""
    plain = without_comments(text)
    found = []
    end = -1
    for m in re.finditer(r"\"((?:\\.|[^\"\\\n])*)\"", plain):
        if found and not plain[end:m.start()].strip():
            found[-1] = (found[-1][0], found[-1][1] + m[1])
        else:
            found.append((m.start(), m[1]))
        end = m.end()
    return found


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def finish(faults):
    """Prints the faults and answers the exit code."""
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def main(check):
    """Runs check(*arguments of the command line) and exits."""
    sys.exit(finish(check(*sys.argv[1:])))
