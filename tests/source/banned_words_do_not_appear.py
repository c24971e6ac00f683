"""Nothing in the library aborts or exits, memory comes from base/alloc.c, nothing is left undone.

Usage: banned_words_do_not_appear.py SOURCE_DIR
"""
import re

import source

# Calls, not members of the same name: p->signal(...) and p.free(...) are fine.
DYING = re.compile(r"(?<![\w.>])(abort|exit|_exit|_Exit|quick_exit|assert|longjmp|siglongjmp|"
                   r"signal)\s*\(")
MEMORY = re.compile(r"(?<![\w.>])(malloc|calloc|realloc|reallocarray|free|strdup|strndup|asprintf|"
                    r"vasprintf|posix_memalign|aligned_alloc)\s*\(")
UNDONE = re.compile(r"\b(TODO|FIXME|XXX)\b|^[ \t]*#[ \t]*if[ \t]+0\b", re.M)

MAY_ALLOCATE = {"core/base/alloc.c"}
MAY_END = {"sdk/conform/child.c",         # a process that ends is what a case of the kit says
           "core/plugin/tenon_probe.c"}   # a program of its own, that a plugin may have left in any state
C_ENDINGS = (".c", ".h", ".inc", ".def", ".cpp", ".cu", ".glsl", ".comp")


def check(root):
    faults = []

    def search(path, text, pattern, sentence):
        for m in pattern.finditer(text):
            word = m[0].strip(" \t(")
            faults.append(f"{path}:{source.line_of(text, m.start())}: {word} {sentence}")

    for path in source.files(root, ["core", "sdk", "plugins"], C_ENDINGS):
        text = source.code(source.read(root, path))
        if path not in MAY_END:
            search(path, text, DYING, "must not be called: answer with a status")
        if path.startswith("core/") and not path.startswith("core/examples/") \
                and path not in MAY_ALLOCATE:
            search(path, text, MEMORY, "must not be called: take memory by base/alloc.h")
    everywhere = source.files(root, ["core", "sdk", "plugins", "tools", "tests", "cmake"],
                              C_ENDINGS + (".py", ".txt", ".cmake", ".md", ".sh", ".bats"))
    for path in everywhere:
        if not path.startswith("tests/source/"):
            search(path, source.read(root, path), UNDONE, "must not be left in the tree")
    return faults


if __name__ == "__main__":
    source.main(check)
