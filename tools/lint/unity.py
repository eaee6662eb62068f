#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""unity.py [ROOT]: the names that a .cc file has for itself are in no other .cc file of its module,
since some builds compile them together (tests apart). Equal aliases and macros may stand twice."""

import re
import sys

import layers
import source

MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(.*)", re.M)
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)$")
ALIAS = re.compile(r"using\s+(\w+)\s*=(.*)", re.S)
TYPE = re.compile(r"\b(?:enum class|class|struct|union|enum)\s+(\w+)[^()=]*$")
OTHER = re.compile(r"([\w:~]+)\s*(?:\[[^\]]*\]\s*)*(?:\(|=|$)")  # a function or a variable


def declared(head):
    """The name that a declaration gives, and what it says if others may say the same."""
    alias = ALIAS.match(head)
    if alias:
        return alias.group(1), " ".join(alias.group(2).split())
    while re.search(r"<[^<>=]*>", head):  # arguments of templates
        head = re.sub(r"<[^<>=]*>", "", head)
    found = TYPE.search(head) or OTHER.search(re.sub(r"\[\[.*?\]\]", "", head))
    name = found.group(1) if found and not re.match(r"using\b|namespace\b|\W|[A-Z_]+\(", head) else ""
    return ("" if "::" in name or name == "void" else name), None  # void: of a function type


def own_names(text):
    """(namespaces, name, what it says) of all in anonymous namespaces, static, or macros."""
    code = source.strip(text, keep_includes=False)
    found = [("", name, body.strip()) for name, body in MACRO.findall(code)]
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", "", code, flags=re.M)
    stack, start, num_parens = [], 0, 0
    for mark in re.finditer(r"[{};()]", code):
        num_parens += {"(": 1, ")": -1}.get(mark.group(0), 0)
        if num_parens > 0 or mark.group(0) == ")":
            continue
        head = code[start:mark.start()].strip()
        start = mark.end()
        namespace = NAMESPACE.search(head)
        if not namespace and None not in stack and ("" in stack or head.startswith("static ")):
            found.append(("::".join(stack), *declared(head)))
        if mark.group(0) == "{":
            stack.append(namespace.group(1) if namespace else None)
        elif mark.group(0) == "}" and stack:
            stack.pop()
    return [name for name in found if name[1]]


def violations(root):
    table = layers.read_table(source.read(root, "cmake/layers.cmake"))
    first, found = {}, set()
    for path in source.files(root, ["src"], (".cc",)):
        if path.endswith("_bench.cc"):
            continue
        group = (layers.module_of(path[len("src/"):], table), path.endswith("_test.cc"))
        for where, name, says in own_names(source.read(root, path)):
            other, same = first.setdefault((*group, where, name), (path, says))
            if other != path and (says is None or says != same):
                found.add(f"{path}: '{name}' is in {other} too: use another name, or share it in a header")
    return sorted(found)


if __name__ == "__main__":
    sys.exit(source.report("unity", violations(source.root_from_arguments())))
