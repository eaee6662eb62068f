# SPDX-License-Identifier: Apache-2.0
"""What the lints share: which files exist, and C++ text without comments and strings."""

import os
import re
import sys

CPP_SUFFIXES = (".h", ".cc", ".cu", ".cuh")
SKIPPED_FOLDERS = {".git", "build", ".cache", "__pycache__", "third_party"}
BINARY_SUFFIXES = (".gguf", ".safetensors", ".png", ".bin", ".gz", ".zst", ".ico", ".woff2")


def files(root, folders=(".",), suffixes=()):
    """Paths relative to root, sorted; all suffixes when none is given."""
    found = []
    for folder in folders:
        for path, subfolders, names in os.walk(os.path.join(root, folder)):
            subfolders[:] = [s for s in subfolders if s not in SKIPPED_FOLDERS]
            for name in names:
                if name != ".git" and (not suffixes or name.endswith(suffixes)):
                    found.append(os.path.relpath(os.path.join(path, name), root))
    return sorted(set(found))


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


_TOKEN = re.compile(
    r'//(?:\\\n|[^\n])*'  # line comment
    r'|/\*.*?\*/'  # block comment
    r'|R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"'  # raw string
    r'|"(?:\\.|[^"\\\n])*"'  # string
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'",  # character, but not a digit separator
    re.S)


def strip(text, keep_includes=True):
    """The text with comments and literals blanked; lines keep their numbers."""

    def blank(match):
        token = match.group(0)
        if keep_includes and token.startswith('"'):
            start = text.rfind("\n", 0, match.start()) + 1
            if text[start:match.start()].lstrip().startswith("#include"):
                return token
        newlines = "\n" * token.count("\n")
        return '""' + newlines if token[0] in "\"R'" else newlines

    return _TOKEN.sub(blank, text)


def report(name, violations):
    """Prints one line each; the exit status of a lint."""
    for violation in violations:
        print(violation)
    print(f"{name}: {len(violations)} violations")
    return 1 if violations else 0


def root_from_arguments():
    return os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")
