"""Every header compiles alone, without a warning: as C17, the contract as C11, too, and public
headers as C++17, too.

Usage: every_header_compiles_alone.py SOURCE_DIR C_COMPILER [CXX_COMPILER]
"""
import os
import re
import subprocess

import source

WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wvla", "-Werror"]
C_WARNINGS = ["-Wstrict-prototypes", "-Wmissing-prototypes"]
# A header named for an instruction-set level is compiled for it, where the compiler knows it.
LEVELS = {
    "_avx2.h": ["-mavx2", "-mfma", "-mf16c"],
    "_avx512vnni.h": ["-mavx2", "-mfma", "-mf16c", "-mavx512f", "-mavx512bw", "-mavx512vl",
                      "-mavx512dq", "-mavx512vnni"],
    "_neon.h": ["-march=armv8.2-a+dotprod"],
}
PUBLIC = ("core/include/", "sdk/include/", "tools/lm/include/")


def folders(path):
    """Where a header may look: public headers see public ones alone."""
    if path.startswith("sdk/include/"):
        return ["sdk/include"]
    if path.startswith("core/include/"):
        return ["core/include", "sdk/include"]
    if path.startswith("tools/lm/include/"):
        return ["tools/lm/include", "core/include", "sdk/include"]
    parts = path.split("/")
    here = ["/".join(parts[:n]) for n in range(len(parts) - 1, 1, -1)]
    found = here + ["core", "core/include", "sdk/include", "tools/lm/include", "sdk/conform",
                    "tests/support"]
    if path.startswith("tests/unit/"):
        found += [f"core/{parts[2]}", f"plugins/{parts[2]}", f"tools/{parts[2]}"]
    return found


def level_flags(path):
    return next((flags for ending, flags in LEVELS.items() if path.endswith(ending)), [])


def accepts(compiler, flags):
    done = subprocess.run([compiler, *flags, "-x", "c", "-fsyntax-only", "-"], input="",
                          capture_output=True, text=True, check=False)
    return done.returncode == 0


def compile_alone(root, path, compiler, language, standard):
    """None, or what the compiler says first."""
    level = level_flags(path)
    if level and not accepts(compiler, level):
        return None   # for another processor
    command = [compiler, "-x", language, f"-std={standard}", "-fsyntax-only", *WARNINGS, *level]
    command += C_WARNINGS if language == "c" else []
    command += ["-Wpedantic"] if path.startswith(PUBLIC) else ["-D_GNU_SOURCE"]
    command += [f"-I{os.path.join(root, folder)}" for folder in folders(path)]
    text = f'#include "{os.path.abspath(os.path.join(root, path))}"\n'
    done = subprocess.run([*command, "-"], input=text, capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C"})
    if done.returncode == 0:
        return None
    missing = re.search(r"fatal error: (\S+): No such file", done.stderr)
    if missing and not path.startswith(PUBLIC) and not is_ours(root, missing[1]):
        return None   # a library that this machine does not have: its plugin is not built either
    first = re.search(r"^.*(error|warning):.*$", done.stderr, re.M)
    return first[0] if first else done.stderr.strip()


def is_ours(root, name):
    ending = "/" + os.path.basename(name)
    return any(("/" + path).endswith(ending)
               for path in source.files(root, ["core", "sdk", "plugins", "tools", "tests"], ".h"))


def check(root, c_compiler, cxx_compiler=""):
    faults = []
    for path in source.files(root, ["core", "sdk", "plugins", "tools", "tests"], ".h"):
        ways = [(c_compiler, "c", "c17" if path.startswith(PUBLIC) else "gnu17")]
        if path.startswith("sdk/include/"):
            ways.append((c_compiler, "c", "c11"))
        if path.startswith(PUBLIC) and cxx_compiler:
            ways.append((cxx_compiler, "c++", "c++17"))
        for compiler, language, standard in ways:
            said = compile_alone(root, path, compiler, language, standard)
            if said:
                faults.append(f"{path}: does not compile alone as {standard}: {said}")
    return faults


if __name__ == "__main__":
    source.main(check)
