#!/usr/bin/env python3
"""documented_commands_run.py SOURCE BIN: what the documents show can be typed.

In every Markdown file of the tree, lines that begin with "$ " in a block marked `console` are run by sh in an empty
folder, with BIN first in PATH. Each must end with exit code 0.
"""
import os
import subprocess
import tempfile

import source


def commands_of(text):
    """(line number, command) for each `$ ` line of a console block."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside = line.strip() == "```console"
        elif inside and line.startswith("$ "):
            yield number, line[2:]


def check(root, binaries):
    environment = dict(os.environ, PATH=binaries + os.pathsep + os.environ["PATH"])
    faults, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for path in source.files(root, ["."], (".md",)):
            for number, command in commands_of(source.read(root, path)):
                count += 1
                done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, text=True,
                                      capture_output=True, stdin=subprocess.DEVNULL, check=False)
                if done.returncode:
                    faults.append(f"{path}:{number}: '{command}' ends with {done.returncode}: {done.stderr.strip()}")
    return faults if count else ["no document shows a command"]


if __name__ == "__main__":
    source.main(check)
