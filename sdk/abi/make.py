#!/usr/bin/env python3
"""Writes the frozen layout of a release: make.py [CC] > 1_0.c

Every struct, field, number and call of plugin.h and ops.h, as the compiler sees them, in static
assertions. Growing structs may become larger, never otherwise different: so a file of an earlier
release compiles with every later header.
"""
import os
import re
import subprocess
import sys
import tempfile
import textwrap

CC = sys.argv[1] if len(sys.argv) > 1 else "cc"
INCLUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "include")


def compiler(arguments, text):
    done = subprocess.run([CC, "-std=c11", f"-I{INCLUDE}", "-x", "c", *arguments, "-"], input=text,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def split(text, at):
    """The parts of text between `at`, outside of brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == at and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts if p.strip()]


def fields(body):
    """(name, its type where it is a function pointer) of each field."""
    for declaration in split(body, ";"):
        call = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", declaration)
        if call:
            pointer = declaration[:call.start(1)] + declaration[call.end(1):]
            yield call[1], " ".join(pointer.split()).replace("( *", "(*")
            continue
        for one in split(declaration, ","):
            yield re.search(r"(\w+)\s*(\[[^]]*\]\s*)*$", one)[1], None


def read():
    text = compiler(["-E", "-P"], "#include <tenon/plugin.h>\n")
    structs = [(m[1], m[2]) for m in re.finditer(r"\bstruct (tnp_\w+)\s*\{([^{}]*)\}", text)]
    numbers = re.findall(r"\b(TNP_\w+)\s*=", text)
    return structs, numbers


def measure(structs, numbers):
    """What the compiler answers for each expression, by expression."""
    expressions = [n for n in numbers]
    for name, body in structs:
        expressions.append(f"sizeof(struct {name})")
        for field, _ in fields(body):
            expressions.append(f"offsetof(struct {name}, {field})")
            expressions.append(f"sizeof(((struct {name} *)0)->{field})")
    lines = "".join(f'    printf("%lld\\n", (long long)({e}));\n' for e in expressions)
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "measure")
        compiler(["-o", program], "#include <stdio.h>\n#include <tenon/plugin.h>\n"
                                  f"int main(void)\n{{\n{lines}    return 0;\n}}\n")
        answers = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return dict(zip(expressions, map(int, answers.split())))


def main():
    structs, numbers = read()
    numbers = [*dict.fromkeys(numbers), "TNP_MAX_DIMS", "TNP_NONE"]
    value = measure(structs, numbers)
    out = ["// 1_0.c: the contract as of 1.0, held fast. Written by make.py; README.md says when.",
           "#include <tenon/plugin.h>", "",
           "// clang-format off",
           '#define WHY "not as in 1.0: sdk/abi/README.md"',
           "#define IS(what, number) _Static_assert((what) == (number), WHY)",
           "#define AT_LEAST(what, number) _Static_assert((what) >= (number), WHY)",
           "#define FIELD(type, field, offset, bytes) \\",
           "    IS(offsetof(type, field), offset); \\",
           "    IS(sizeof(((type *)0)->field), bytes)",
           "#define CALL(type, field, ...) \\",
           "    _Static_assert(_Generic(((type *)0)->field, __VA_ARGS__: 1, default: 0), WHY)", "",
           'IS(sizeof(void *), 8);', "IS(TNP_ABI_CURRENT >> 16, 1);"]
    out += [f"IS({n}, {value[n]}{'u' if value[n] > 0x7fffffff else ''});" for n in numbers]
    for name, body in structs:
        listed = list(fields(body))
        # What does not begin with its size cannot grow; the note grows with its manifest.
        grows = listed[0][0] == "size" or name == "tnp_note"
        type_name = f"struct {name}"
        out += ["", f"{'AT_LEAST' if grows else 'IS'}(sizeof({type_name}), "
                    f"{value[f'sizeof({type_name})']});"]
        for field, call in listed:
            offset = value[f"offsetof({type_name}, {field})"]
            # The last field of the note is the manifest, which grows.
            if (name, field) == ("tnp_note", "manifest"):
                out.append(f"IS(offsetof({type_name}, {field}), {offset});")
                continue
            size = value[f"sizeof((({type_name} *)0)->{field})"]
            out.append(f"FIELD({type_name}, {field}, {offset}, {size});")
            if call:
                out.append(f"CALL({type_name}, {field}, {call});")
    for line in out:
        print("\n".join(textwrap.wrap(line, 100, subsequent_indent="    ")) if "CALL(" in line
              else line)


main()
