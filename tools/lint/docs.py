#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs.py [ROOT]: every path that a Markdown file or a module's README names exists.

Checked are relative links and `code` that starts with a folder of the tree; a name in capitals
(NAME) and a pattern (*) stand for any file, and build/ is not part of the tree.
"""

import os
import re
import sys

import source

FOLDERS = ("src", "tests", "tools", "scripts", "docs", "cmake", "packaging", "bench", ".ci")
CODE = re.compile(r"`((?:" + "|".join(re.escape(f) for f in FOLDERS) + r")/[\w./-]*)")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
PLACEHOLDER = re.compile(r"\b(NAME|MODULE|PRESET|NNNN)\b|\bx_(fuzz|test)\b|\bx/")


def violations(root):
    found = []
    for path in source.files(root, suffixes=(".md",)):
        text = source.read(root, path)
        for pattern, base in ((CODE, ""), (LINK, os.path.dirname(path))):
            for match in pattern.finditer(text):
                target = match.group(1)
                full = os.path.join(root, base, target)
                if not PLACEHOLDER.search(target) and not os.path.exists(full):
                    line = text.count("\n", 0, match.start()) + 1
                    found.append(f"{path}:{line}: {target} does not exist")
    return found


if __name__ == "__main__":
    sys.exit(source.report("docs", violations(source.root_from_arguments())))
