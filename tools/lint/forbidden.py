#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""forbidden.py [ROOT]: what only one place may say (forbidden.tsv beside this file).

Columns: pattern (Python regular expression), where ("code": C++ of src/ and tests/ without comments
and strings; "text": every text file as it stands), allowed (space-separated path prefixes or globs,
"-" = nowhere), reason.
"""

import fnmatch
import os
import re
import sys

import source


def rows(table):
    with open(table, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if line and not line.startswith("#"):
                pattern, where, allowed, reason = line.split("\t")
                yield re.compile(pattern), where, allowed.split(), reason


def is_allowed(path, allowed):
    return any(path.startswith(a) or fnmatch.fnmatch(path, a) for a in allowed if a != "-")


def violations(root, table):
    rules = list(rows(table))
    found = []
    for path in source.files(root):
        if path.endswith(source.BINARY_SUFFIXES):
            continue
        is_code = path.endswith(source.CPP_SUFFIXES) and path.startswith(("src/", "tests/"))
        text = source.read(root, path)
        code = source.strip(text) if is_code else ""
        for pattern, where, allowed, reason in rules:
            subject = code if where == "code" else text
            if is_allowed(path, allowed):
                continue
            for match in pattern.finditer(subject):
                line = subject.count("\n", 0, match.start()) + 1
                found.append(f"{path}:{line}: '{match.group(0)}' is not allowed here: {reason}")
    return found


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.exit(source.report("forbidden", violations(source.root_from_arguments(),
                                                   os.path.join(here, "forbidden.tsv"))))
