"""Makes the headers of a release that does not exist: each struct that may grow is 8 bytes longer, both
tables have a further call, there is a further op, and a claim may be of a kind that must be understood.

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


# The tables grow by a call.
CALLS = {
    "tnp_host": "void (TNP_CALL *later_call)(void *context);",
    "tnp_plugin": "uint32_t (TNP_CALL *later_call)(tnp_instance *instance);",
}
NEW_OP = "OP(250, LATER,     later,     1, 1, none,      IN(0),         -1, n)\n"
NEW_KIND = "enum { TNP_CLAIM_LATER = 1u << 16 };\n#define TNP_IS_LATER 1\n"


def grow(text):
    def longer(found):
        name = re.match(r"struct (tnp_\w+)", found[1])[1]
        return f"{found[1]}    {CALLS.get(name, 'uint32_t later[2];')}   // since 1.1\n}}"
    return GROWING.subn(longer, text)


def edit(name, change):
    path = os.path.join(target, "tenon", name)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    changed = change(text)
    if changed == text:
        sys.exit(f"{name}: nothing was found to change")
    with open(path, "w", encoding="utf-8") as file:
        file.write(changed)


def grow_structs(name, least):
    def change(text):
        changed, count = grow(text)
        if count < least:
            sys.exit(f"{name}: only {count} structs were found")
        return changed
    edit(name, change)


grow_structs("plugin.h", 26)
grow_structs("ops.h", 10)
edit("plugin.h", lambda text: text.replace("#define TNP_ABI_CURRENT TNP_ABI(1, 0)",
                                           "#define TNP_ABI_CURRENT TNP_ABI(1, 1)"))
edit("plugin.h", lambda text: text.replace("typedef struct tnp_claim {",
                                           NEW_KIND + "typedef struct tnp_claim {"))
edit("ops.def", lambda text: text.replace("#undef OP\n", NEW_OP + "#undef OP\n"))
