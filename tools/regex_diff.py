#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""regex_diff.py REGEX_CLI: generated patterns and texts through the grammar's regular expressions and
through Python's `re`; every answer must agree. The seed is fixed."""

import random
import re
import subprocess
import sys

NUM_PATTERNS = 6000
NUM_TEXTS = 24
LETTERS = "abcAB01_- .é€\U0001F600"
CLASSES = {r"\d": "01", r"\w": "abAB0_", r"\s": " ", r"\D": "a_é", r"\W": "- é", r"\S": "a1€",
           ".": "ab1€", "[a-c]": "abc", "[^a-c]": "A0é", r"[\d_]": "0_", "[^\\W_]": "aB1",
           "[A-Zé-ü]": "ABé", "[-.]": "-.", r"[^\s€-]": "ab0"}


def escaped(letter):
    return "\\" + letter if letter in "-." else letter


class Generator:
    """Makes a pattern and, along with it, a function that samples texts near its language."""

    def __init__(self, rng):
        self.rng = rng

    def make(self, depth):
        kinds = ["letter", "letter", "char_class"]
        if depth > 0:
            kinds += ["concat"] * 4 + ["union"] * 2 + ["repeat"] * 3 + ["anchor", "empty"]
        return getattr(self, self.rng.choice(kinds))(depth - 1)

    def letter(self, _):
        letter = self.rng.choice(LETTERS)
        return escaped(letter), lambda: letter

    def char_class(self, _):
        pattern = self.rng.choice(list(CLASSES))
        return pattern, lambda: self.rng.choice(CLASSES[pattern])

    def empty(self, _):
        return "(?:)", lambda: ""

    def anchor(self, _):
        return self.rng.choice(["^", "$"]), lambda: ""

    def concat(self, depth):
        parts = [self.make(depth) for _ in range(self.rng.randint(2, 3))]
        return "".join(p for p, _ in parts), lambda: "".join(s() for _, s in parts)

    def union(self, depth):
        parts = [self.make(depth) for _ in range(self.rng.randint(2, 3))]
        if self.rng.random() < 0.1:
            parts.append(("", lambda: ""))
        head = self.rng.choice(["(?:", "(", f"(?P<n{self.rng.getrandbits(60)}>", "(?i:"])
        return (head + "|".join(p for p, _ in parts) + ")",
                lambda: self.rng.choice(parts)[1]())

    def repeat(self, depth):
        inner, sample = self.make(depth)
        low = self.rng.randint(0, 2)
        high = low + self.rng.randint(0, 2)
        mark, most = self.rng.choice([("*", 3), ("+", 3), ("?", 1), (f"{{{low}}}", low),
                                      (f"{{{low},}}", low + 2), (f"{{{low},{high}}}", high)])
        lazy = "?" if self.rng.random() < 0.2 else ""
        return (f"(?:{inner}){mark}{lazy}",
                lambda: "".join(sample() for _ in range(self.rng.randint(0, most))))


def mutated(rng, text):
    place = rng.randint(0, len(text))
    return rng.choice([text[:place] + rng.choice(LETTERS) + text[place:], text[:place] + text[place + 1:],
                       text + text[:place], "".join(c.swapcase() if c.isascii() else c for c in text)])


def hexed(text):
    return "x" + text.encode().hex()


def main():
    rng = random.Random(20240117)
    cases = []
    for _ in range(NUM_PATTERNS):
        pattern, sample = Generator(rng).make(rng.randint(1, 4))
        texts = []
        for i in range(NUM_TEXTS):
            text = sample()[:14]
            texts.append(text if i % 2 == 0 else mutated(rng, text)[:14])
        cases.append((rng.choice(["fullmatch", "search"]), pattern, texts))
    lines = "".join(" ".join([mode, hexed(pattern)] + [hexed(t) for t in texts]) + "\n"
                    for mode, pattern, texts in cases)
    run = subprocess.run([sys.argv[1]], input=lines, capture_output=True, text=True, check=True)
    answers = run.stdout.splitlines()
    assert len(answers) == len(cases), f"{len(answers)} answers to {len(cases)} patterns"
    num_wrong = num_yes = num_all = 0
    for (mode, pattern, texts), answer in zip(cases, answers):
        compiled = re.compile(pattern, re.ASCII)
        expected = "".join("1" if getattr(compiled, mode)(t) else "0" for t in texts)
        num_all += len(texts)
        num_yes += expected.count("1")
        if answer != expected:
            num_wrong += 1
            if num_wrong <= 10:
                print(f"{mode} {pattern!r} {texts}\n  expected {expected}\n  got      {answer}")
    print(f"regex_diff: {NUM_PATTERNS} patterns, {num_all} texts of which {num_yes} match, "
          f"{num_wrong} patterns differ")
    return 1 if num_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
