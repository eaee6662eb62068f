#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shape.py [ROOT]: licence line, include guard, own header first, and the sizes of files and functions.

Exceptions stand in shape_allowed.tsv beside this file: path, what ("file" or a function's name),
the limit it gets, reason. An exception that is no longer needed is a violation too.
"""

import os
import re
import sys

import source

MAX_FILE_LINES = 600
MAX_CUH_LINES = 900
MAX_FUNCTION_LINES = 60
LICENCE = "SPDX-License-Identifier: Apache-2.0"
SCRIPT_FOLDERS = ("scripts/", ".ci/")
CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b[^;(){}=]*(\([^)]*\)[^;(){}=]*)?$")
NAME = re.compile(r"([~\w:]+|operator\s*\S{1,3})\s*\(")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(\S+)', re.M)


def needs_licence(path):
    name = os.path.basename(path)
    return (path.endswith(source.CPP_SUFFIXES + (".py", ".sh", ".cmake")) or
            name == "CMakeLists.txt" or (path.startswith(SCRIPT_FOLDERS) and "." not in name))


def has_licence(text):
    lines = text.split("\n", 3)
    first = lines[1] if lines[0].startswith("#!") and len(lines) > 1 else lines[0]
    return first.lstrip("/# ").startswith(LICENCE)


def functions(text):
    """(name, first line, number of lines) of every function body, by matching braces."""
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: "\n" * m.group(0).count("\n"),
                  source.strip(text, keep_includes=False), flags=re.M)
    found = []
    is_container = []  # of every open brace
    function = None  # (depth, name, line)
    start = 0  # of the statement that the next brace belongs to
    line = 1
    for i, c in enumerate(code):
        if c == "\n":
            line += 1
        elif c == "{":
            head = code[start:i].strip()
            container = CONTAINER.search(head) is not None
            if function is None and not container and all(is_container):
                name = NAME.search(head)
                if name and "=" not in head[:name.start()]:
                    function = (len(is_container), name.group(1), line)
            is_container.append(container)
            start = i + 1
        elif c == "}" and is_container:
            is_container.pop()
            if function is not None and function[0] == len(is_container):
                found.append((function[1], function[2], line - function[2] + 1))
                function = None
            start = i + 1
        elif c == ";":
            start = i + 1
    return found


def read_allowed(table):
    allowed = {}
    with open(table, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                path, what, limit, _ = line.rstrip("\n").split("\t")
                allowed[path, what] = int(limit)
    return allowed


def size_violations(path, text, allowed, used):
    found = []

    def check(what, limit, lines, at):
        if lines > limit:
            used.add((path, what))
            limit = allowed.get((path, what), limit)
            if lines > limit:
                found.append(f"{path}:{at}: {what} has {lines} lines, the limit is {limit}")

    check("file", MAX_CUH_LINES if path.endswith(".cuh") else MAX_FILE_LINES, text.count("\n"), 1)
    for name, line, num_lines in functions(text):
        check(name, MAX_FUNCTION_LINES, num_lines, line)
    return found


def includes_own_header_first(root, path, text):
    """x.cc beside x.h: the header is compiled with nothing before it, so it is self-contained."""
    header = re.sub(r"\.cc$", ".h", path)
    if header == path or not path.startswith("src/") or not os.path.exists(os.path.join(root, header)):
        return True
    first = INCLUDE.search(text)
    return first is not None and first.group(1) == f'"{header[len("src/"):]}"'


def violations(root, table):
    allowed = read_allowed(table)
    used = set()
    found = []
    for path in source.files(root):
        if needs_licence(path) and not has_licence(source.read(root, path)):
            found.append(f"{path}:1: the first line is not the SPDX line")
        if not path.endswith(source.CPP_SUFFIXES):
            continue
        text = source.read(root, path)
        if path.endswith((".h", ".cuh")) and "#pragma once" not in text:
            found.append(f"{path}:1: no #pragma once")
        if not includes_own_header_first(root, path, text):
            found.append(f"{path}:1: the first include is not the file's own header")
        found += size_violations(path, text, allowed, used)
    found += [f"{path}: the exception for '{what}' is not needed any more"
              for path, what in sorted(set(allowed) - used)]
    return found


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.exit(source.report("shape", violations(source.root_from_arguments(),
                                               os.path.join(here, "shape_allowed.tsv"))))
