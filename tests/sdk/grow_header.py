"""Makes the headers of a release that does not exist: each struct that may grow is 8 bytes longer.

Usage: grow_header.py INCLUDE_DIR TO
"""
import os
import re
import shutil
import sys

source, target = sys.argv[1:]
shutil.copytree(source, target, dirs_exist_ok=True)

# A growing struct begins with its size; the new field has alignment 4, as the manifest needs it.
GROWING = re.compile(r"(struct tnp_\w+\s*\{[^\n}]*\n?\s*uint32_t size[^}]*)\}")


def grow(text):
    return GROWING.subn(r"\1    uint32_t later[2];   // since 1.1\n}", text)


for name in ("plugin.h", "ops.h"):
    path = os.path.join(target, "tenon", name)
    with open(path, encoding="utf-8") as file:
        text, count = grow(file.read())
    text = text.replace("#define TNP_ABI_CURRENT TNP_ABI(1, 0)",
                        "#define TNP_ABI_CURRENT TNP_ABI(1, 1)")
    if count < (26 if name == "plugin.h" else 10):
        sys.exit(f"{name}: only {count} structs were found")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
