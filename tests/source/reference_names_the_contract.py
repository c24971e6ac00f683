"""sdk/docs/reference.md has every struct, field, call, number and macro of the contract's headers, each field below its
struct, and no name that is not there.

Usage: reference_names_the_contract.py SOURCE_DIR
"""
import re

import source

FOLDER = "sdk/include/tenon/"
PAGE = "sdk/docs/reference.md"
# Said once, above the sections.
EVERYWHERE = re.compile(r"size|flags|reserved\w*")


def declared_fields(body):
    """Names of the fields in the braces of a struct."""
    body = re.sub(r"\(\s*\*\s*(\w+)\s*\)\s*\([^;]*\)", r" \1", re.sub(r"TNP_CALL\s*", "", body))
    names = []
    for declaration in body.split(";"):
        names += re.findall(r"(\w+)\s*(?:\[[^]]*\]\s*)*$", declaration) if "," not in declaration else \
            [re.findall(r"(\w+)\s*(?:\[[^]]*\]\s*)*$", part)[0] for part in declaration.split(",") if part.strip()]
    return [name for name in names if not EVERYWHERE.fullmatch(name)]


def contract(root):
    """Fields by struct, and all other names."""
    text = "".join(source.code(source.read(root, FOLDER + name)) for name in ("ops.h", "plugin.h"))
    structs = {name: declared_fields(body)
               for name, body in re.findall(r"\bstruct (tnp_\w+)\s*\{([^{}]*)\}", text)}
    names = set(re.findall(r"\btypedef [^;{]*?\b(tnp_\w+);", text)) | set(re.findall(r"\b(tnp_\w+)\(", text))
    names |= set(re.findall(r"\b(TNP_\w+)\s*=", text)) | set(re.findall(r"#define (TNP_\w+)", text))
    names |= set(re.findall(r"\(TNP_CALL \*(tnp_\w+)\)", text))
    types = re.findall(r"^DTYPE\(\s*\d+, (\w+)", source.read(root, FOLDER + "dtypes.def"), re.M)
    return structs, names, types


def sections(page):
    """The text about each struct: below its heading, or its row in a table of structs."""
    found = {}
    for part in re.split(r"^#{2,3} ", page, flags=re.M)[1:]:
        heading = re.match(r"`(tnp_\w+)`", part)
        if heading:
            found[heading[1]] = part
    for row in re.findall(r"^\| `(tnp_\w+_attr)` \|.*$", page, re.M):
        found[row] = re.search(rf"^\| `{row}` \|.*$", page, re.M)[0]
    return found


def check(root):
    structs, names, types = contract(root)
    page = source.read(root, PAGE)
    about = sections(page)
    quoted = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]*)`", page))))
    faults = [f"{PAGE}: nothing about struct {name}" for name in sorted(set(structs) - set(about))]
    faults += [f"{PAGE}: {name} is no struct of the contract" for name in sorted(set(about) - set(structs) - names)]
    for name in sorted(set(structs) & set(about)):
        said = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]*)`", about[name]))))
        faults += [f"{PAGE}: {name}.{field} is missing" for field in structs[name] if field not in said]
        rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", about[name], re.M)
        fields = [field for row in rows for field in re.findall(r"`(\w+)`", row)]
        faults += [f"{PAGE}: {name} has no field {field}" for field in fields
                   if field not in structs[name] and not field.startswith("tnp_")]
    faults += [f"{PAGE}: {name} is missing" for name in sorted(names - quoted)]
    faults += [f"{PAGE}: the type {name} is missing" for name in types if name not in quoted]
    known = names | set(structs) | {f"TNP_DTYPE_{name}" for name in types}
    faults += [f"{PAGE}: {name} is not in the headers" for name in sorted(quoted)
               if re.match(r"(?:TNP|tnp)_\w", name) and name not in known and not name.startswith("TNP_OP_")
               and name != "tnp_note_"]
    return faults if structs and types else [f"{FOLDER}: no struct or no type was found"]


if __name__ == "__main__":
    source.main(check)
