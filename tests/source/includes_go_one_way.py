"""Includes go one way: the contract's tables <- base <- graph <- plan <- sched <- exec.

Usage: includes_go_one_way.py SOURCE_DIR
"""
import os
import re

import source

# Folder of core/: the folders of core/ that it may open.
CORE = {
    "base": {"base"},
    "graph": {"graph", "base"},
    "plan": {"plan", "graph", "base"},
    "plugin": {"plugin", "base"},
    "sched": {"sched", "plan", "graph", "base", "plugin"},
    "exec": {"exec", "sched", "plan", "graph", "base", "plugin"},
    "gguf": {"gguf", "base"},
    "quant": {"quant", "base"},
}

# Where an include is looked up, after the folder of the file itself.
ROOTS = ["core", "core/include", "sdk/include", "tools/lm/include", "sdk/conform", "sdk",
         "tools/lm", "tools/tenon", "tests/support", "tests", ""]
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)[>\"]", re.M)


def area(path):
    """What kind of code a path holds, and its module."""
    parts = path.split("/")
    if path.startswith("core/include/"):
        return "public", "core"
    if path.startswith("sdk/include/"):
        return "contract", ""
    if path.startswith("tools/lm/include/"):
        return "public", "lm"
    kind = {"core": "core", "plugins": "plugin", "tools": "tool", "sdk": "sdk", "tests": "test"}
    return kind.get(parts[0], "other"), parts[1] if len(parts) > 2 else ""


def resolve(root, path, quoted, name):
    """The file of the tree that an include means, or None for one from elsewhere."""
    parts = path.split("/")
    places = [os.path.dirname(path)] if quoted else []
    places += ROOTS
    if parts[0] == "plugins":
        places.insert(1, "/".join(parts[:2]))
    if path.startswith("tests/unit/") and len(parts) > 3:
        places += [f"core/{parts[2]}", f"plugins/{parts[2]}", f"tools/{parts[2]}"]
    if path.startswith("tests/bench/"):
        places.append("plugins/cpu")
    for place in places:
        candidate = os.path.normpath(os.path.join(place, name))
        if os.path.isfile(os.path.join(root, candidate)):
            return candidate
    return f"core/{name}" if quoted and name.split("/")[0] in CORE and "/" in name else None


def from_core(module, kind, target):
    if kind == "core":
        return target in CORE.get(module, set())
    return kind == "contract" or (kind == "public" and target == "core")


def from_test(path, kind, target):
    """Tests know public headers. Those of a module may open it and base/; these and integration/ the
    reference ops of the conformance kit; fuzz targets any module; bench/ the kernels of the CPU plugin, and how the
    command measures the machine."""
    parts = path.split("/")
    if kind in ("public", "contract", "test"):
        return True
    if parts[1] == "unit":
        return target == parts[2] or kind == "sdk" or (kind == "core" and target == "base")
    if parts[1] == "integration":
        return (kind, target) == ("sdk", "conform")
    if parts[1] == "bench":
        return (kind, target) in (("plugin", "cpu"), ("tool", "tenon"))
    return parts[1] == "fuzz" or (kind == "sdk" and parts[1] == "plugins")


def allowed(path, to):
    kind, module = area(path)
    to_kind, target = area(to)
    if (kind, module) == (to_kind, target):
        return True
    if kind == "core":
        return from_core(module, to_kind, target)
    if kind == "public":
        return to_kind in ("public", "contract") and (module == "lm" or target == "core"
                                                      or to_kind == "contract")
    if kind == "plugin":
        return to_kind == "contract"
    if kind == "sdk":
        return to_kind in ("contract", "public") or (to_kind, target) == ("core", "quant")
    if kind == "tool" and to == "core/base/nearest.h":   # a static library of its own
        return True
    if kind == "tool":
        return to_kind in ("public", "contract") or (to_kind, target) in (
            ("core", "quant"), ("sdk", "conform"))
    return kind == "test" and from_test(path, to_kind, target)


def is_foreign_internal(path, to):
    """An _internal.h belongs to its folder, and to the tests of that folder."""
    if not to.endswith("_internal.h") or os.path.dirname(path) == os.path.dirname(to):
        return False
    return not path.startswith(("tests/unit/" + area(to)[1] + "/", "tests/fuzz/"))


def check(root):
    faults = []
    for path in source.files(root, ["core", "sdk", "plugins", "tools", "tests"],
                             (".c", ".h", ".def", ".inc", ".cpp", ".cu")):
        text = source.without_comments(source.read(root, path))
        for m in INCLUDE.finditer(text):
            to = resolve(root, path, m[1] == '"', m[2])
            place = f"{path}:{source.line_of(text, m.start())}"
            if to and not allowed(path, to):
                faults.append(f"{place}: may not include {to}")
            elif to and is_foreign_internal(path, to):
                faults.append(f"{place}: {to} belongs to the files of its folder")
    return faults


if __name__ == "__main__":
    source.main(check)
