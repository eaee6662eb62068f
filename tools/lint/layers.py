#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""layers.py [ROOT]: every #include "module/…" of src/ against the table in cmake/layers.cmake.

The include roots already hide modules without a declared edge; this closes what is visible through
a third module. Test files may include any module that their target links.
"""

import re
import sys

import source

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]*)"', re.M)
# x_test.cc, x_bench.cc, and what they share: x_test_scene.h
TEST_FILE = re.compile(r"_(test|bench)(_\w+)?\.(cc|h)$")


def read_table(text):
    """module -> modules it may use, in the order of the table."""
    table = {}
    for name, uses in re.findall(r'^\s*"([a-z_0-9]+):([a-z_0-9 ]*)"', text, re.M):
        table[name] = uses.split()
    return table


def module_of(path, table):
    """The module that a path below src/ (or an include) names; kernels/cpu/x.h is kernels_cpu."""
    parts = path.split("/")
    if len(parts) > 2 and f"{parts[0]}_{parts[1]}" in table:
        return f"{parts[0]}_{parts[1]}"
    return parts[0] if len(parts) > 1 and parts[0] in table else None


def table_violations(table):
    found = []
    seen = set()
    for name, uses in table.items():
        for use in uses:
            if use not in seen:
                found.append(f"cmake/layers.cmake: '{name}' uses '{use}', which is not above it")
        seen.add(name)
    return found


def violations(root):
    table = read_table(source.read(root, "cmake/layers.cmake"))
    found = table_violations(table)
    for path in source.files(root, ["src"], source.CPP_SUFFIXES):
        module = module_of(path[len("src/"):], table)
        if module is None:
            found.append(f"{path}: belongs to no module of cmake/layers.cmake")
            continue
        text = source.strip(source.read(root, path))
        is_test = TEST_FILE.search(path) is not None
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            target = match.group(1)
            used = module_of(target, table)
            if ".." in target.split("/") or (used is None and not target.startswith("support/")):
                found.append(f'{path}:{line}: write "module/file.h" instead of "{target}"')
            elif is_test or used == module:
                continue
            elif used is None:
                found.append(f'{path}:{line}: only tests may include "{target}"')
            elif used not in table[module]:
                found.append(f"{path}:{line}: '{module}' may not use '{used}' (cmake/layers.cmake)")
    return found


if __name__ == "__main__":
    sys.exit(source.report("layers", violations(source.root_from_arguments())))
