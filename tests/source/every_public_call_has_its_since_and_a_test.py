"""Every public call has a comment with "Since", and a test or an example that names it.

Usage: every_public_call_has_its_since_and_a_test.py SOURCE_DIR
"""
import re

import source

HEADERS = ["core/include/tenon", "tools/lm/include/tenon"]
# A declaration from its marker to its end, and the rest of the last line.
CALL = re.compile(r"^[^\n/]*(?:TN_API|TLM_API|static inline)\b[^;{]*?\b(tn_\w+|tlm_\w+)\s*"
                  r"\([^;{]*[;{][^\n]*", re.M)


def has_since(text, start, end):
    """In the comment on the declaration, or in one above it with no empty line between."""
    if re.search(r"\bSince \d+\.\d+", text[start:end]):
        return True
    for line in reversed(text[:start].split("\n")[:-1]):
        if not line.strip():
            return False
        if line.startswith("//") and re.search(r"\bSince \d+\.\d+", line):
            return True
    return False


def calls(text):
    """(name, start, end) of each; lines of the preprocessor are none."""
    plain = re.sub(r"^[ \t]*#.*", lambda m: " " * len(m[0]), text, flags=re.M)
    for m in CALL.finditer(plain):
        yield m[1], m.start(), m.end()


def check(root):
    places = source.files(root, ["tests", "core/examples", "tools/lm/examples"], (".c", ".h"))
    named = set()
    for path in places:
        named.update(re.findall(r"\bt(?:n|lm)_\w+", source.code(source.read(root, path))))
    faults = []
    for path in source.files(root, HEADERS, ".h"):
        text = source.read(root, path)
        for name, start, end in calls(text):
            place = f"{path}:{source.line_of(text, start)}"
            if not has_since(text, start, end):
                faults.append(f'{place}: {name} has no comment with "Since"')
            if name not in named:
                faults.append(f"{place}: {name} is named in no test and no example")
    return faults


if __name__ == "__main__":
    source.main(check)
