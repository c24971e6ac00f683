#!/usr/bin/env python3
"""short_of_memory.py TENON PRELOAD [all]: the command while one of its allocations fails.

Each command line runs with its n-th allocation failing (PRELOAD, tests/support/failing_malloc.c): for ten n
spread over all, or with `all` for a thousand. It ends with
  5  and one line that speaks of memory;
  3  where the plugin could not be loaded, so that there is no device;
  0  and all that it prints otherwise: some allocations can be done without. Of JSON, names, texts and the
     lengths of lists are compared. Of plugins --why a plugin may be out, for the reason that it tells: the
     command has said what it was asked.
"""
import json
import os
import subprocess
import sys
import tempfile

COMMANDS = [
    ["run", "austen", "--tokens", "0", "-n", "2", "--greedy", "-t", "1", "--json"],
    ["run", "austen", "She", "-n", "2", "--greedy", "-t", "1", "--logit-bias", "5=1", "-ot", "ffn=cpu0"],
    ["plan", "austen", "-t", "1", "--json"],
    ["plan", "austen", "-t", "1", "--explain", "rope"],
    ["plan", "--intervals", "intervals.csv", "--json"],
    ["bench", "austen", "-p", "2", "-n", "2", "-r", "1", "-t", "1", "--json"],
    ["perplexity", "austen", "text", "-t", "1", "--json"],
    ["tune", "--size", "256", "--dry-run", "-t", "1", "--json"],
    ["tokenize", "austen", "It is a truth"],
    ["inspect", "austen", "--json"],
    ["inspect", "austen"],
    ["devices", "--json"],
    ["plugins", "--why", "--json"],
]
# Texts that differ from run to run: `method`, what a solver found in its time; `cpu`, the processor's name, which
# is "?" where the file with it cannot be read.
CHANGES = {"method", "cpu"}
# Not there where the limits of the machine cannot be measured.
OPTIONAL = {"bandwidth_share", "arithmetic_share", "read_gbps", "fp32_gflops"}


# The loader of shared objects has its own words, which plugins --why shows.
REASONS = ("memory", ".so: ")


def shape(value, key=""):
    """What stays the same from run to run: names, lengths and texts."""
    if isinstance(value, dict):
        return {name: shape(item, name) for name, item in value.items() if name not in OPTIONAL}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return value if isinstance(value, str) and key not in CHANGES else None


def run(command, environment):
    return subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=120, check=False)


def without_rejected(told, want):
    """A report of plugins in which those that are out for lack of memory are as they are otherwise."""
    if "plugins" not in told or len(told["plugins"]) != len(want["plugins"]):
        return told
    plugins = [other if this["state"] == "rejected" and this["path"] == other["path"]
               and any(word in this["reason"] for word in REASONS) else this
               for this, other in zip(told["plugins"], want["plugins"])]
    return dict(told, plugins=plugins)


def fault_of(done, want, is_json):
    lines = [line for line in done.stderr.splitlines() if not line.startswith("tenon: warning: ")]
    if done.returncode == 0:
        if is_json:
            is_same = without_rejected(shape(json.loads(done.stdout)), want) == want
        else:
            is_same = done.stdout == want
        return None if is_same else "it ends with 0, but not all of it is printed"
    if len(lines) != 1 or done.returncode not in (3, 5):
        return "not one line and exit code 5"
    words = ("memory", "bytes") if done.returncode == 5 else REASONS + ("plugins --why",)
    is_told = any(word in lines[0] for word in words)
    return None if is_told else "the line does not tell why"


def main():
    tenon, preload = sys.argv[1:3]
    most = 1000 if "all" in sys.argv[3:] else 10
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("text", "w") as file:
            file.write("It is a truth universally acknowledged")
        with open("intervals.csv", "w") as file:
            file.write("lower,upper,size\n0,2,64\n1,3,32\n")
        plain = dict(os.environ, HOME=folder, XDG_CONFIG_HOME=folder, XDG_CACHE_HOME=folder, LD_PRELOAD=preload)
        for words in COMMANDS:
            command = [tenon] + words
            done = run(command, dict(plain, TENON_TEST_COUNT="count"))
            assert done.returncode == 0, done.stderr
            is_json = "--json" in words
            want = shape(json.loads(done.stdout)) if is_json else done.stdout
            with open("count") as file:
                count = int(file.read())
            refused = 0
            for i in range(min(most, count)):
                n = 1 + i * count // min(most, count)
                done = run(command, dict(plain, TENON_TEST_FAIL_AT=str(n)))
                refused += done.returncode != 0
                fault = fault_of(done, want, is_json)
                if fault:
                    faults += 1
                    print(f"{' '.join(words)}: allocation {n} of {count}: exit code {done.returncode}, {fault}: {done.stderr}")
            if not refused:
                faults += 1
                print(f"{' '.join(words)}: no allocation of {count} was missed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
