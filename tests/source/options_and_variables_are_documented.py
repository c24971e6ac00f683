"""Every option of the command and every environment variable is documented, and the reverse.

An option is documented by a help text (a string of tools/tenon/ that holds it and more), a manual
page or a README; a variable by a README or page of the tree, or by a help text. Each option of a table
of the command stands in a command that a document shows, which a test runs (documented_commands_run).

Usage: options_and_variables_are_documented.py SOURCE_DIR
"""
import re

import source

CODE = ["core", "sdk", "plugins", "tools"]
COMMAND = "tools/tenon"
GETENV = re.compile(r"\b(?:secure_)?getenv\s*\(\s*(?:\"(\w+)\"|([^)]*))")
# "--name" alone, or a row of a table of getopt_long.
OPTION = re.compile(r"^--([a-z][a-z0-9-]*)=?$")
TABLE_ROW = re.compile(r"\{\s*\"([a-z][a-z0-9-]+)\"\s*,\s*(?:no|required|optional)_argument\b")
# A row of the command's own tables: name and letter. They are written over several lines in macros.
OWN_ROW = re.compile(r"\"([a-z][a-z0-9-]+)\"[\s\\]*,[\s\\]*(?:(?:0|'(\w)')[\s\\]*,[\s\\]*)?CLI_(?:FLAG|TEXT|LIST|NUMBER|REAL)\b")
EXAMPLE = re.compile(r"^\$ (.*\btenon\b.*)$", re.M)
MENTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")


def documents(root):
    """(path, text) of pages for people."""
    for path in source.files(root, ["core", "sdk", "plugins", "tools"], (".md", ".scd")):
        yield path, source.read(root, path)
    try:
        yield "README.md", source.read(root, "README.md")
    except FileNotFoundError:
        pass


def check_variables(root, pages, help_texts):
    faults = []
    everything = "\n".join(text for _, text in pages) + "\n".join(help_texts)
    known = set()
    for path in source.files(root, CODE, (".c", ".h", ".cpp")):
        text = source.without_comments(source.read(root, path))
        known.update(re.findall(r"\bTENON_\w+", text))
        for m in GETENV.finditer(text):
            place = f"{path}:{source.line_of(text, m.start())}"
            if not m[1]:
                faults.append(f"{place}: getenv of {m[2].strip()}: name the variable there")
            elif not re.search(rf"\b{m[1]}\b", everything):
                faults.append(f"{place}: {m[1]} is documented in no README and no help text")
    for path in source.files(root, ["cmake", "core", "sdk", "plugins", "tools", "tests"],
                             ("CMakeLists.txt", ".cmake", ".in")):
        known.update(re.findall(r"\bTENON_\w+", source.read(root, path)))
    for path, text in pages:
        for m in re.finditer(r"\bTENON_[A-Z_]*[A-Z]\b", text):
            if m[0] not in known:
                faults.append(f"{path}:{source.line_of(text, m.start())}: {m[0]} is read nowhere")
    return faults


def check_options(root, pages, command_files):
    """command_files: (path, text). Options are compared by name, whichever subcommand has them."""
    options, mentioned = {}, {}
    for path, text in command_files:
        for position, contents in source.strings(text):
            place = f"{path}:{source.line_of(text, position)}"
            m = OPTION.match(contents)
            if m:
                options.setdefault(m[1], place)
            else:
                for name in MENTION.findall(contents):
                    mentioned.setdefault(name, place)
        for m in TABLE_ROW.finditer(source.without_comments(text)):
            options.setdefault(m[1], f"{path}:{source.line_of(text, m.start())}")
    documented = set(mentioned)
    for path, text in pages:
        documented.update(MENTION.findall(text))
        for m in re.finditer(r"\btenon [a-z]+\b([^\n`|]*)", text):   # a line of the command itself
            for name in MENTION.findall(m[1]):
                mentioned.setdefault(name, f"{path}:{source.line_of(text, m.start())}")
    faults = [f"{place}: --{name} is documented in no help text and no README"
              for name, place in options.items() if name not in documented]
    if options:
        # A table may keep its names without the dashes.
        words = {contents for _, text in command_files for _, contents in source.strings(text)}
        words.update(options)
        faults += [f"{place}: --{name} is no option of the command"
                   for name, place in mentioned.items() if name not in words]
    return faults


def check_examples(pages, command_files):
    """Options that no command in a console block has, by the name or the letter."""
    examples = "\n".join(m[1] for _, text in pages for m in EXAMPLE.finditer(text))
    faults = []
    for path, text in command_files:
        for m in OWN_ROW.finditer(text):
            letter = rf"|(?<!\S)-{m[2]}(?=\s|$)" if m[2] else ""
            if not re.search(rf"(?<!\S)--{m[1]}(?=[\s=]|$){letter}", examples, re.M):
                faults.append(f"{path}:{source.line_of(text, m.start())}: --{m[1]} is in no example of a document")
    return faults


def check(root):
    pages = list(documents(root))
    command_files = [(path, source.read(root, path))
                     for path in source.files(root, [COMMAND], (".c", ".h", ".def"))]
    help_texts = []
    for _, text in command_files:
        without_reads = GETENV.sub(lambda m: " " * len(m[0]), source.without_comments(text))
        help_texts += [contents for _, contents in source.strings(without_reads)]
    return (check_variables(root, pages, help_texts) + check_options(root, pages, command_files)
            + check_examples(pages, command_files))


if __name__ == "__main__":
    source.main(check)
