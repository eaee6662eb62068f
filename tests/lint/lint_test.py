# SPDX-License-Identifier: Apache-2.0
"""Each lint finds its violation in a made-up tree, and nothing in the tree beside it."""

import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
LINT = os.path.join(HERE, "..", "..", "tools", "lint")
sys.path.insert(0, LINT)

import docs  # noqa: E402
import forbidden  # noqa: E402
import layers  # noqa: E402
import shape  # noqa: E402
import source  # noqa: E402
import unity  # noqa: E402

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
TABLE = 'set(PLUMB_EDGES\n  "base:"\n  "net: base"\n  "kernels_cpu: base"\n  "engine: base net"\n)\n'


class Tree(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = self.folder.name
        self.write("cmake/layers.cmake", "# SPDX-License-Identifier: Apache-2.0\n" + TABLE)

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)


class Forbidden(Tree):

    def found(self):
        return forbidden.violations(self.root, os.path.join(LINT, "forbidden.tsv"))

    def test_every_row_of_the_style_is_found_outside_its_place(self):
        for code in ("#include <cuda_runtime.h>", "#include <sys/socket.h>", "#include <regex>",
                     "#include <boost/json.hpp>", "auto t = std::chrono::steady_clock::now();",
                     'auto* e = std::getenv("X");', 'printf("x");', "std::cout << 1;",
                     "std::thread t;", "std::shared_ptr<int> p;", "throw 1;", "std::exit(1);",
                     "#if PLUMB_WITH_CUDA", '#include "../x.h"', "std::mutex m;",
                     "int a;  // TODO later"):
            self.write("src/engine/x.cc", SPDX + code + "\n")
            self.assertEqual(len(self.found()), 1, code)
            self.assertTrue(self.found()[0].startswith("src/engine/x.cc:2: "), self.found())

    def test_the_allowed_place_may(self):
        self.write("src/net/x.cc", SPDX + "#include <sys/socket.h>\n#include <boost/asio.hpp>\n")
        self.write("src/base/clock.cc", SPDX + "auto t = std::chrono::steady_clock::now();\n")
        self.write("src/base/thread.cc", SPDX + "std::thread t;\n")
        self.assertEqual(self.found(), [])

    def test_comments_strings_and_longer_names_are_not_code(self):
        self.write("src/engine/x.cc", SPDX + '// std::thread, throw\n/* getenv */\nauto s = "try";\n'
                   'auto r = R"(throw)";\nint retry = 1\'000; snprintf(b, 2, "x"); x.abort(1);\n')
        self.assertEqual(self.found(), [])


class Layers(Tree):

    def test_an_edge_missing_from_the_table_is_found(self):
        self.write("src/net/x.cc", '#include "base/a.h"\n#include "engine/b.h"\n')
        self.assertEqual(layers.violations(self.root), [
            "src/net/x.cc:2: 'net' may not use 'engine' (cmake/layers.cmake)"])

    def test_a_module_seen_through_a_third_one_is_found(self):
        self.write("src/kernels/cpu/x.h", '#include "net/a.h"\n')
        self.assertEqual(layers.violations(self.root), [
            "src/kernels/cpu/x.h:1: 'kernels_cpu' may not use 'net' (cmake/layers.cmake)"])

    def test_includes_name_their_module(self):
        self.write("src/net/x.cc", '#include "y.h"\n#include "net/y.h"\n#include "support/z.h"\n')
        self.assertEqual(len(layers.violations(self.root)), 2)

    def test_tests_may_use_what_they_link(self):
        self.write("src/net/x_test.cc", '#include "engine/b.h"\n#include "support/z.h"\n')
        self.assertEqual(layers.violations(self.root), [])

    def test_the_table_stands_bottom_up(self):
        self.write("cmake/layers.cmake", '  "a: b"\n  "b:"\n')
        self.assertEqual(len(layers.violations(self.root)), 1)


class Docs(Tree):

    def test_a_path_that_does_not_exist_is_found(self):
        self.write("docs/a.md", "`cmake/layers.cmake` `src/gone.cc` [b](b.md) [c](a.md#x)\n"
                   "`src/model/NAME.cc` [w](https://example.org/x)\n")
        self.assertEqual(docs.violations(self.root), [
            "docs/a.md:1: src/gone.cc does not exist", "docs/a.md:1: b.md does not exist"])


class Shape(Tree):

    def found(self):
        with tempfile.NamedTemporaryFile("w", suffix=".tsv") as table:
            table.write("src/engine/allowed.cc\tfile\t700\ta table of facts\n")
            table.flush()
            return shape.violations(self.root, table.name)

    def setUp(self):
        super().setUp()
        self.write("src/engine/allowed.cc", SPDX + "\n" * 650)

    def test_long_files_and_functions_are_found(self):
        self.write("src/engine/x.cc", SPDX + "\n" * 600)
        self.write("src/engine/y.h", SPDX + "#pragma once\nclass A {\n  int f(int x) const {\n" +
                   "    if (x) {\n    }\n" * 30 + "    return 1;\n  }\n};\n")
        self.assertEqual(self.found(), [
            "src/engine/x.cc:1: file has 601 lines, the limit is 600",
            "src/engine/y.h:4: f has 63 lines, the limit is 60"])

    def test_missing_licence_and_pragma_are_found(self):
        self.write("src/engine/x.h", "int x;\n")
        self.assertEqual(len(self.found()), 2)

    def test_a_file_that_does_not_begin_with_its_own_header_is_found(self):
        self.write("src/engine/x.h", SPDX + "#pragma once\n")
        self.write("src/engine/x.cc", SPDX + '#include <map>\n#include "engine/x.h"\n')
        self.assertEqual(self.found(), [
            "src/engine/x.cc:1: the first include is not the file's own header"])
        self.write("src/engine/x.cc", SPDX + '#include "engine/x.h"\n#include <map>\n')
        self.write("src/engine/y.cc", SPDX + "#include <map>\n")
        self.assertEqual(self.found(), [])

    def test_an_exception_that_is_not_needed_is_found(self):
        self.write("src/engine/allowed.cc", SPDX)
        self.assertEqual(self.found(), [
            "src/engine/allowed.cc: the exception for 'file' is not needed any more"])

    def test_tables_classes_and_namespaces_are_no_functions(self):
        self.write("src/engine/x.cc", SPDX + "namespace a {\nclass B final : public C {\n" +
                   "  int x = 1;\n" * 70 + "};\nconstexpr int kT[] = {\n" + "  1,\n" * 70 +
                   "};\n}\n")
        self.assertEqual(self.found(), [])


class Unity(Tree):

    def found(self):
        return [line.split(" is in ")[0] for line in unity.violations(self.root)]

    def test_names_of_a_file_that_another_of_the_module_has_are_found(self):
        self.write("src/net/a.cc", "#define M 1\nnamespace p {\nnamespace {\nconstexpr int kA[2] = {1, 2};\n"
                   "struct B final : C {};\nenum class D { kX };\nusing E = int;\n"
                   "std::map<int, std::vector<int>> f(int a = int{1}) {\n  g(); int h = 2;\n}\n}\n"
                   "static void s() {}\n}\n")
        self.write("src/net/b.cc", "#define M 2\nnamespace p::q {\nvoid kA();\n}\nnamespace p {\nnamespace {\n"
                   "int kA;\nclass B {\n};\nstruct D {};\nusing E = char;\nvoid f() {}\nvoid h();\nvoid g();\n"
                   "}\nstatic int s = 1;\n}\n")
        self.assertEqual(self.found(), [f"src/net/b.cc: '{name}'" for name in "B D E M f kA s".split()])

    def test_equal_aliases_other_namespaces_tests_and_modules_are_not(self):
        code = "namespace p {\nnamespace {\nusing E = int;\n%s\nTEST(X, y) {}\n}\nvoid X::f() {}\n}\n"
        self.write("src/engine/a.cc", code % "std::function<void(int)> f() {\n}")
        self.write("src/engine/b.cc", code % "std::function<void(int)> g() {\n}")
        self.write("src/net/a.cc", code % "void f() {}")
        self.write("src/net/a_test.cc", code % "void f() {}")
        self.write("src/base/a.cc", code % "void f() {}")
        self.write("src/net/b.cc", code % "" + "namespace p::q {\nnamespace {\nvoid f() {}\n}\n}\n")
        self.assertEqual(self.found(), [])


class Strip(unittest.TestCase):

    def test_lines_keep_their_numbers(self):
        text = 'a /* x\ny */ b "q\\"r" // z\nR"(1\n2)" c\n'
        self.assertEqual(source.strip(text).count("\n"), text.count("\n"))
        self.assertNotIn("q", source.strip(text))


class WeakSymbols(Tree):

    def run_on(self, code):
        self.write("x.cc", code)
        path = os.path.join(self.root, "x.o")
        subprocess.run([os.environ.get("CXX", "c++"), "-O0", "-c", os.path.join(self.root, "x.cc"),
                        "-o", path], check=True)
        return subprocess.run([sys.executable, os.path.join(LINT, "weak_symbols.py"), path],
                              check=False, capture_output=True, text=True)

    def test_an_inline_function_is_found_and_a_plain_one_is_not(self):
        bad = self.run_on("inline int f(int x) { return x; }\nint g() { return f(1); }\n")
        self.assertEqual(bad.returncode, 1)
        self.assertIn("weak symbol f(int)", bad.stdout)
        self.assertEqual(self.run_on("static int f(int x) { return x; }\nint g() { return f(1); }\n")
                         .returncode, 0)


if __name__ == "__main__":
    unittest.main()
