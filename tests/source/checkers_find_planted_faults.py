"""The checks of this folder are checked: each passes a small clean tree, and finds a planted fault.

Usage: checkers_find_planted_faults.py C_COMPILER [CXX_COMPILER]
"""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
COMPILERS = ["cc"]

CLEAN = {
    "core/include/tenon/status.h": "#include <stdint.h>\n#define TN_API\n"
                                   "// Since 0.1\nTN_API int tn_one(void);\n",
    "sdk/include/tenon/ops.h": "#include <stdint.h>\ntypedef uint32_t tnp_op;\n",
    "sdk/include/tenon/ops.def": "OP( 1, ADD, add, 2)\nOP( 2, MUL, mul, 2)\n",
    "sdk/include/tenon/dtypes.def": "// DTYPE(number, NAME)\nDTYPE( 1, F32, 1, 4)\n",
    "core/base/alloc.h": "#include <stddef.h>\nvoid *tni_alloc(size_t bytes);\n",
    "core/base/alloc.c": '#include "base/alloc.h"\n#include <stdlib.h>\n'
                         "void *tni_alloc(size_t bytes) { return malloc(bytes); }\n",
    "core/graph/graph.h": '#include <tenon/status.h>\n#include "base/alloc.h"\n',
    "core/graph/graph_internal.h": '#include "graph/graph.h"\n',
    "core/plan/plan.c": '#include "graph/graph.h"\n// abort() is not called, "exit(1)" neither\n',
    "core/plugin/host.c": '#include "base/alloc.h"\n'
                          'const char *paths(void) { return getenv("TENON_PLUGIN_PATH"); }\n'
                          "void give(void *p) { table->free(p); queue->signal(p); }\n",
    "plugins/cpu/op.c": "#include <tenon/ops.h>\n",
    "tests/unit/graph/build.c": '#include "graph/graph_internal.h"\nint x = tn_one();\n',
    "tools/tenon/main.c": '#include <tenon/status.h>\nconst char *help = "  --json   as JSON\\n";\n'
                          'int is_json(const char *a) { return !strcmp(a, "--json"); }\n',
    "README.md": "TENON_PLUGIN_PATH: where plugins are. `tenon run --json`\n",
}
COMPOSITES = {
    "core/graph/decompose.c": "    { TNP_OP_SILU, 1, silu, NULL },\n    { TNP_OP_GELU, 2, gelu, NULL },\n",
    "sdk/docs/refusing.md": "| op | steps |\n| `silu` | exp |\n| `gelu` | sqr |\n",
    "tests/support/composites.c": 'UNARY("silu", TNP_OP_SILU),\n{ "gelu", TNP_OP_GELU },\n',
}
NUMBERS = "# kept\ndtype 1 F32\nop 1 ADD\nop 2 MUL\n"


class Tree(unittest.TestCase):
    """Runs a check on CLEAN with some files changed, added or (None) removed."""

    def run_check(self, name, changes, arguments=()):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**CLEAN, **changes}.items():
                if text is None:
                    continue
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as file:
                    file.write(text)
            words = [argument.replace("@", root) for argument in arguments]
            done = subprocess.run(
                [sys.executable, "-B", os.path.join(HERE, name + ".py"), root, *words],
                capture_output=True, text=True, check=False)
            self.assertEqual(done.stderr, "")
            return done.returncode, done.stdout

    def passes(self, name, changes=None, arguments=()):
        self.assertEqual(self.run_check(name, changes or {}, arguments), (0, ""))

    def finds(self, name, changes, sentence, arguments=()):
        code, said = self.run_check(name, changes, arguments)
        self.assertEqual(code, 1, said)
        self.assertIn(sentence, said)
        self.assertEqual(said.count("\n"), 1, said)


class Reference(Tree):
    NAME = "reference_names_the_contract"
    HEADER = ("#define TNP_NONE UINT32_MAX\ntypedef struct tnp_one {\n    uint32_t size, flags;\n"
              "    uint64_t bytes, rows[2];\n    void (TNP_CALL *call)(void *, int);\n} tnp_one;\nenum { TNP_KIND = 1 };\n")
    PAGE = ("`TNP_NONE` `TNP_KIND` `tnp_op` `F32`\n### `tnp_one`\n| field | |\n|---|---|\n"
            "| `bytes`, `rows` | both |\n| `call` | it |\n")

    def tree(self, header=HEADER, page=PAGE):
        return {"sdk/include/tenon/plugin.h": header, "sdk/docs/reference.md": page}

    def test_clean(self):
        self.passes(self.NAME, self.tree())

    def test_what_is_missing(self):
        self.finds(self.NAME, self.tree(self.HEADER.replace("rows[2]", "rows[2], more")), "tnp_one.more is missing")
        self.finds(self.NAME, self.tree(self.HEADER.replace("*call)", "*other)").replace("rows", "call, rows")),
                   "tnp_one.other is missing")
        self.finds(self.NAME, self.tree(self.HEADER + "enum { TNP_NEW = 2 };\n"), "TNP_NEW is missing")
        self.finds(self.NAME, self.tree(self.HEADER + "struct tnp_two { int a; };\n"), "nothing about struct tnp_two")

    def test_what_is_not_there(self):
        self.finds(self.NAME, self.tree(page=self.PAGE + "| `gone` | |\n"), "tnp_one has no field gone")
        self.finds(self.NAME, self.tree(page=self.PAGE + "`TNP_OLD`\n"), "TNP_OLD is not in the headers")


class Includes(Tree):
    NAME = "includes_go_one_way"

    def test_clean(self):
        self.passes(self.NAME)

    def test_lower_opens_higher(self):
        self.finds(self.NAME, {"core/base/alloc.c": '#include "graph/graph.h"\n'},
                   "core/base/alloc.c:1: may not include core/graph/graph.h")

    def test_plugin_host_opens_graph(self):
        self.finds(self.NAME, {"core/plugin/host.c": '\n#include "graph/graph.h"\n'},
                   "core/plugin/host.c:2: may not include core/graph/graph.h")

    def test_gguf_opens_graph(self):
        self.finds(self.NAME, {"core/gguf/a.c": '#include "../graph/graph.h"\n'}, "core/gguf/a.c:1")

    def test_sched_may_open_plugin(self):
        self.passes(self.NAME, {"core/plugin/host.h": "",
                                "core/sched/a.c": '#include "plugin/host.h"\n'})

    def test_plugin_opens_core(self):
        self.finds(self.NAME, {"plugins/cpu/op.c": "#include <tenon/status.h>\n"},
                   "may not include core/include/tenon/status.h")
        self.finds(self.NAME, {"plugins/cpu/op.c": '#include "../../core/base/alloc.h"\n'},
                   "may not include core/base/alloc.h")

    def test_tool_opens_core(self):
        self.finds(self.NAME, {"tools/tenon/main.c": '#include "base/alloc.h"\n'},
                   "may not include core/base/alloc.h")

    def test_test_opens_another_module(self):
        self.finds(self.NAME, {"core/plan/plan.h": "",
                               "tests/unit/graph/build.c": '#include "plan/plan.h"\n'},
                   "tests/unit/graph/build.c:1: may not include core/plan/plan.h")
        self.finds(self.NAME, {"tests/integration/a.c": '#include "base/alloc.h"\n'},
                   "tests/integration/a.c:1")

    def test_foreign_internal(self):
        self.finds(self.NAME, {"core/plan/plan.c": '#include "graph/graph_internal.h"\n'},
                   "belongs to the files of its folder")

    def test_comment(self):
        self.passes(self.NAME, {"core/base/alloc.c": '// #include "graph/graph.h"\n'})


class BannedWords(Tree):
    NAME = "banned_words_do_not_appear"

    def test_clean(self):
        self.passes(self.NAME)

    def test_calls(self):
        for call in ("abort", "exit", "_exit", "assert", "longjmp", "signal"):
            self.finds(self.NAME, {"plugins/cpu/op.c": f"void f(void)\n{{\n    {call} (1);\n}}\n"},
                       f"plugins/cpu/op.c:3: {call} must not be called")

    def test_the_helper_program_may_end(self):
        self.passes(self.NAME, {"core/plugin/tenon_probe.c": "void f(void) { _exit(0); }\n"})

    def test_memory(self):
        self.finds(self.NAME, {"core/graph/a.c": "void *p = malloc(3);\n"},
                   "core/graph/a.c:1: malloc must not be called")
        self.passes(self.NAME, {"plugins/cpu/op.c": "void *p = malloc(3);\n"})

    def test_undone(self):
        self.finds(self.NAME, {"core/graph/a.c": "// TO" "DO: more\n"}, "must not be left")
        self.finds(self.NAME, {"tools/tenon/a.c": "#if 0\n#endif\n"}, "#if 0 must not be left")


class Composites(Tree):
    NAME = "composites_are_documented"

    def test_clean(self):
        self.passes(self.NAME, COMPOSITES)

    def test_untold(self):
        self.finds(self.NAME, {**COMPOSITES, "sdk/docs/refusing.md": "| `silu` | exp |\n"},
                   "gelu is composite, sdk/docs/refusing.md does not say so")

    def test_none_such(self):
        page = COMPOSITES["sdk/docs/refusing.md"] + "| `abs` | max |\n"
        self.finds(self.NAME, {**COMPOSITES, "sdk/docs/refusing.md": page}, "abs is not in the table")

    def test_no_case(self):
        self.finds(self.NAME, {**COMPOSITES, "tests/support/composites.c": "{ TNP_OP_SILU }\n// TNP_OP_GELU\n"},
                   "composites.c: gelu is composite, but has no case")


class Columns(Tree):
    NAME = "lines_have_100_columns"

    def test_clean(self):
        self.passes(self.NAME, {"core/graph/a.c": "// " + 97 * "…" + "\n",
                                "sdk/include/tenon/plugin.h": "// " + 130 * "a" + "\n"})

    def test_wide(self):
        self.finds(self.NAME, {"core/graph/a.c": "\n// " + 98 * "a" + "\n"},
                   "core/graph/a.c:2: 101 columns")


class Text(Tree):
    NAME = "tracked_files_are_text"

    def test_clean(self):
        self.passes(self.NAME, {"tests/data/blocks.bin": "\0", "tools/lm/models/a.gguf": "GGUF\0",
                                "tests/fuzz/corpus/manifest/a": "\x7fELF\0"})

    def test_bytes(self):
        self.finds(self.NAME, {"core/graph/a.bin": "a\0"}, "core/graph/a.bin: has NUL bytes")

    def test_executable(self):
        for path in ("ni", "tests/data/a"):
            self.finds(self.NAME, {path: "\x7fELF\0"}, f"{path}: is an executable")

    def test_what_git_does_not_know(self):
        with tempfile.TemporaryDirectory() as root:
            for name in ("kept", "left"):
                with open(os.path.join(root, name), "wb") as file:
                    file.write(b"\0")
            git = ["git", "-C", root]
            try:
                subprocess.run(git + ["init", "-q"], check=True)
            except FileNotFoundError:
                self.skipTest("no git")
            subprocess.run(git + ["add", "kept"], check=True)
            done = subprocess.run([sys.executable, "-B", os.path.join(HERE, self.NAME + ".py"), root],
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout.count("\n")), (1, 1))
            self.assertIn("kept: has NUL bytes", done.stdout)


class NamedTests(Tree):
    NAME = "named_tests_exist"
    ROW = '| 1 | a | b | `unit/graph/build.c`: a_name; `cli/run.bats`: "a title…" |\n'
    THERE = {"tests/unit/graph/build.c": "void a_name(void)\n", "tests/cli/run.bats": '@test "a title in full"\n'}

    def test_clean(self):
        self.passes(self.NAME, {**self.THERE, "tests/cases.md": self.ROW})

    def test_gone(self):
        for old, new, sentence in (("build.c", "old.c", "there is no tests/unit/graph/old.c"),
                                   ("a_name", "a_word", "has no test 'a_word'"),
                                   ("a title", "the title", "has no test 'the title…'"),
                                   ("| 1 |", "| 2 |", "row 2 comes as number 1")):
            self.finds(self.NAME, {**self.THERE, "tests/cases.md": self.ROW.replace(old, new)}, sentence)


class TestPrograms(Tree):
    NAME = "every_test_program_is_run"
    TESTS = {"unit/CTestTestfile.cmake": 'add_test([=[unit/a]=] "/b/bin/unit_a")\n'
                                         'add_test([=[unit/b]=] "sh" "-c" "make | \'/b/bin/unit_b\' 0")\n',
             "source/CTestTestfile.cmake": f'add_test(x "python" "{NAME}.py" "/b/bin/unit")\n'}

    def test_clean(self):
        self.passes(self.NAME, self.TESTS, ["/b/bin/unit_a", "/b/bin/unit_b"])

    def test_left_out(self):
        self.finds(self.NAME, self.TESTS, "/b/bin/unit is built, and no test runs it", ["/b/bin/unit"])
        self.finds(self.NAME, self.TESTS, "no programs were found")


class Numbers(Tree):
    NAME = "numbers_never_change"

    def setUp(self):
        self.changes = {"kept": NUMBERS}

    def finds_number(self, table, text, sentence):
        self.finds(self.NAME, {**self.changes, "sdk/include/tenon/" + table: text}, sentence,
                   ["@/kept"])

    def test_clean(self):
        self.passes(self.NAME, self.changes, ["@/kept"])

    def test_changed(self):
        self.finds_number("ops.def", "OP(1, SUB, sub)\nOP(2, MUL, mul)\n",
                          "op 1 is SUB, but has been ADD")

    def test_new(self):
        self.finds_number("dtypes.def", "DTYPE(1, F32, 1, 4)\nDTYPE(2, F16, 1, 2)\n",
                          "dtype 2 F16 is new")

    def test_gone(self):
        self.finds_number("ops.def", "OP(1, ADD, add)\n// OP(2, MUL, mul)\n", "op 2 MUL is gone")

    def test_twice(self):
        code, said = self.run_check(self.NAME, {**self.changes, "sdk/include/tenon/ops.def":
                                                "OP(1, ADD, add)\nOP(1, MUL, mul)\n"}, ["@/kept"])
        self.assertEqual(code, 1)
        self.assertIn("op 1 is MUL here and ADD before", said)


class PublicCalls(Tree):
    NAME = "every_public_call_has_its_since_and_a_test"
    HEADER = "core/include/tenon/status.h"

    def test_clean(self):
        self.passes(self.NAME)

    def test_no_since(self):
        self.finds(self.NAME, {self.HEADER: "// Since 0.1\n\nTN_API int tn_one(void);\n"},
                   'status.h:3: tn_one has no comment with "Since"')

    def test_since_of_the_one_above(self):
        self.finds(self.NAME, {self.HEADER: "TN_API int tn_two(void);   // Since 0.1\n"
                                            "TN_API int tn_one(void);\n",
                               "tests/unit/a/a.c": "int y = tn_two();"},
                   'tn_one has no comment with "Since"')

    def test_group(self):
        self.passes(self.NAME, {self.HEADER: "// Both. Since 0.1\nTN_API int tn_two(void);\n"
                                             "TN_API int tn_one(void);\n",
                                "tests/unit/a/a.c": "int y = tn_two();"})

    def test_no_test(self):
        self.finds(self.NAME, {"tests/unit/graph/build.c": '// tn_one\nchar *s = "tn_one";\n'},
                   "tn_one is named in no test and no example")


class Documented(Tree):
    NAME = "options_and_variables_are_documented"

    def test_clean(self):
        self.passes(self.NAME)

    def test_variable(self):
        self.finds(self.NAME, {"plugins/cpu/op.c": 'x = secure_getenv("TENON_CPU_ISA");\n'},
                   "plugins/cpu/op.c:1: TENON_CPU_ISA is documented in no README")

    def test_variable_without_a_name(self):
        self.finds(self.NAME, {"plugins/cpu/op.c": "x = getenv(name);\n"}, "getenv of name")

    def test_variable_read_nowhere(self):
        self.finds(self.NAME, {"README.md": CLEAN["README.md"] + "TENON_OLD\n"},
                   "README.md:2: TENON_OLD is read nowhere")

    def test_option(self):
        self.finds(self.NAME, {"tools/tenon/run.c": 'if (!strcmp(a, "--ctx"))\n'},
                   "tools/tenon/run.c:1: --ctx is documented in no help text")
        self.finds(self.NAME, {"tools/tenon/run.c": '{ "ctx", required_argument, NULL, 1 },\n'},
                   "--ctx is documented in no help text")

    def test_option_without_an_example(self):
        row = {"tools/tenon/run.c": '{ "ctx", \'c\', CLI_NUMBER, "N", 0, 0, 1, "as --ctx says" },\n'}
        self.finds(self.NAME, row, "tools/tenon/run.c:1: --ctx is in no example of a document")
        for example in ("tenon run m --ctx 3", "tenon run m --ctx=3", "tenon run m -c 3"):
            self.passes(self.NAME, {**row, "README.md": CLEAN["README.md"] + f"```console\n$ {example}\n```\n"})

    def test_option_that_is_none(self):
        self.finds(self.NAME, {"README.md": CLEAN["README.md"] + "`tenon run --fast`\n"},
                   "README.md:2: --fast is no option")


class Headers(Tree):
    NAME = "every_header_compiles_alone"

    def test_clean(self):
        self.passes(self.NAME, {}, COMPILERS)

    def test_needs_another(self):
        self.finds(self.NAME, {"core/base/alloc.h": "void *tni_alloc(size_t bytes);\n",
                               "core/graph/graph.h": ""},
                   "core/base/alloc.h: does not compile alone", COMPILERS)

    def test_public_opens_private(self):
        header = {"core/include/tenon/a.h": '#include "base/alloc.h"\n'}
        code, said = self.run_check(self.NAME, header, COMPILERS)
        self.assertEqual(code, 1)
        self.assertIn("core/include/tenon/a.h: does not compile alone", said)

    def test_not_cxx(self):
        if len(COMPILERS) < 2:
            self.skipTest("no C++ compiler")
        self.finds(self.NAME, {"core/include/tenon/a.h": "typedef struct a { int class; } a;\n"},
                   "does not compile alone as c++17", COMPILERS)

    def test_c17_in_the_contract(self):
        text = ("#if !defined __cplusplus && __STDC_VERSION__ < 201710L\n#error later\n#endif\n"
                "typedef int a;\n")
        self.finds(self.NAME, {"sdk/include/tenon/a.h": text}, "as c11", COMPILERS)


class Symbols(unittest.TestCase):
    def link(self, folder, name, text):
        source = os.path.join(folder, name + ".c")
        library = os.path.join(folder, name + ".so")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run([COMPILERS[0], "-shared", "-fPIC", "-o", library, source], check=True)
        return library

    def run_check(self, library, plugin, symbols="tn_a\ntn_b\n"):
        with tempfile.TemporaryDirectory() as folder:
            listed = os.path.join(folder, "list")
            with open(listed, "w", encoding="utf-8") as file:
                file.write(symbols)
            done = subprocess.run(
                [sys.executable, "-B", os.path.join(HERE, "exported_symbols_equal_the_list.py"),
                 listed, self.link(folder, "library", library),
                 self.link(folder, "plugin", plugin)],
                capture_output=True, text=True, check=False)
            self.assertEqual(done.stderr, "")
            return done.returncode, done.stdout

    LIBRARY = "int tn_a; int tn_b(void) { return tn_a; }\n"
    PLUGIN = "int tenon_plugin_query(void) { return 0; }\n"

    def test_clean(self):
        self.assertEqual(self.run_check(self.LIBRARY, self.PLUGIN), (0, ""))

    def test_faults(self):
        for library, plugin, sentence in (
                (self.LIBRARY + "int other;\n", self.PLUGIN,
                 "exports other, which does not begin with tn_"),
                (self.LIBRARY + "int tn_c;\n", self.PLUGIN, "exports tn_c, which is not in"),
                ("int tn_a;\n", self.PLUGIN, "does not export tn_b of"),
                (self.LIBRARY, self.PLUGIN + "int x;\n",
                 "exports tenon_plugin_query x, tenon_plugin_query alone"),
                (self.LIBRARY, "int x(void); int tenon_plugin_query(void) { return x(); }\n",
                 "x is defined nowhere")):
            code, said = self.run_check(library, plugin)
            self.assertEqual(code, 1)
            self.assertIn(sentence, said)


if __name__ == "__main__":
    COMPILERS[:] = sys.argv[1:] or COMPILERS
    unittest.main(argv=sys.argv[:1])
