"""libtenon.so exports the symbols of the list, a plugin exactly one, and both find all they need.

Usage: exported_symbols_equal_the_list.py LIST LIBTENON PLUGIN...
"""
import re
import subprocess

import source

PLATFORM = re.compile(r"^(lib(c|m|dl|pthread|rt|gcc_s|atomic|asan|ubsan|tsan)\.so|ld-linux)")
# What libtenon may stand on beside the platform.
LIBRARIES = re.compile(r"^lib(inih|pcre2-8|utf8proc|md|xxhash)\.so")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def exported(path):
    lines = run("nm", "-D", "--defined-only", "--extern-only", path).splitlines()
    return sorted(line.split()[-1].split("@")[0] for line in lines if line.strip())


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.+?)\]", run("readelf", "-d", path))


def unresolved(path):
    """Symbols that no library in the file's own list defines."""
    found = subprocess.run(["ldd", "-r", path], capture_output=True, text=True, check=False)
    lines = (found.stdout + found.stderr).splitlines()
    symbols = [re.match(r"undefined symbol:\s*(\S+)", line.strip()) for line in lines]
    # A sanitizer's runtime is loaded before all others, by the program.
    runtime = re.compile(r"__(asan|ubsan|tsan|lsan|sanitizer)_")
    return [m[1] for m in symbols if m and not runtime.match(m[1])]


def check_common(path, libraries):
    faults = [f"{path}: needs {name}, which is not of the platform"
              for name in needed(path)
              if not PLATFORM.match(name) and not (libraries and libraries.match(name))]
    return faults + [f"{path}: {symbol} is defined nowhere" for symbol in unresolved(path)]


def check(list_path, library, *plugins):
    with open(list_path, encoding="utf-8") as file:
        listed = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    faults = []
    if listed != sorted(set(listed)):
        faults.append(f"{list_path}: is not sorted, or has a symbol twice")
    symbols = exported(library)
    faults += [f"{library}: exports {s}, which does not begin with tn_"
               for s in symbols if not s.startswith("tn_")]
    faults += [f"{library}: exports {s}, which is not in {list_path}"
               for s in symbols if s not in listed]
    faults += [f"{library}: does not export {s} of {list_path}" for s in listed if s not in symbols]
    faults += check_common(library, LIBRARIES)
    for plugin in plugins:
        symbols = exported(plugin)
        if symbols != ["tenon_plugin_query"]:
            faults.append(f"{plugin}: exports {' '.join(symbols) or 'nothing'}, "
                          "tenon_plugin_query alone was expected")
        faults += check_common(plugin, None)
    return faults


if __name__ == "__main__":
    source.main(check)
