#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weak_symbols.py OBJECT…: objects built for a wider instruction set define no weak symbol.

The linker keeps one copy of a weak symbol for the whole program; if that is the copy with the wider
instructions, the program dies on smaller machines.
"""

import subprocess
import sys

# Emitted by the compiler for exception tables; holds an address, no code.
HARMLESS = ("DW.ref.__gxx_personality_v0",)


def weak_symbols(path):
    out = subprocess.run(["nm", "-C", "--defined-only", path], check=True, capture_output=True,
                         text=True).stdout
    for line in out.splitlines():
        parts = line.split(None, 2)
        if len(parts) == 3 and parts[1] in "WwVvu" and parts[2] not in HARMLESS:
            yield parts[2]


def main():
    found = [f"{path}: weak symbol {symbol}" for path in sys.argv[1:] for symbol in
             weak_symbols(path)]
    print("\n".join(found))
    print(f"weak symbols: {len(found)} in {len(sys.argv) - 1} objects")
    return 1 if found or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
