"""Every program that is built from tests/ is named in the command of a test.

Usage: every_test_program_is_run.py TEST_BUILD_DIR PROGRAM…
"""
import os
import re

import source


def check(build, *programs):
    tests = "".join(source.read(build, path) for path in source.files(build, ["."], ("CTestTestfile.cmake",)))
    own = os.path.basename(__file__)   # the line of this check names them all
    tests = "\n".join(line for line in tests.splitlines() if own not in line)
    if not programs:
        return ["no programs were found"]
    return [f"{program} is built, and no test runs it" for program in programs
            if not re.search(re.escape(program) + r"(?![\w.-])", tests)]


if __name__ == "__main__":
    source.main(check)
