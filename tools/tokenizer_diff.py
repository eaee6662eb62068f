#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares token ids with the `tokenizers` package on generated and real strings.

  tokenizer_diff.py CLI VOCAB.gguf [--pre NAME ...] [--count N] [--seed N] [--text FILE ...]

CLI is the built tokenizer_cli. From the vocabulary and merges of the GGUF file the script builds a
`tokenizers` pipeline with the splits of tokenizer_patterns.json (or, for SentencePiece files, with
merges made from the scores), encodes the same strings with both and prints what differs.
--through-json saves the pipeline as tokenizer.json, gives that to the CLI and matches special tokens.
--pre NAME uses the vocabulary with the splits of that name; several names run one after another.
Needs the packages gguf and tokenizers. Exit status 1 if any id differs.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

import gguf
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

PATTERNS = json.loads((pathlib.Path(__file__).parent / "tokenizer_patterns.json").read_text())
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


class Vocabulary:
    def __init__(self, path):
        fields = gguf.GGUFReader(path).fields

        def get(name, default=None):
            field = fields.get("tokenizer.ggml." + name)
            return default if field is None else field.contents()

        self.model = get("model")
        self.pre = get("pre", "default")
        self.tokens = get("tokens")
        self.scores = get("scores")
        self.types = get("token_type", [NORMAL] * len(self.tokens))
        self.merges = [tuple(m.split(" ", 1)) for m in get("merges", [])]
        self.add_space_prefix = get("add_space_prefix", self.model == "llama")
        self.user_defined = [t for t, k in zip(self.tokens, self.types) if k == USER_DEFINED]


def merges_from_scores(vocabulary):
    ids = {t: i for i, t in enumerate(vocabulary.tokens)}
    usable = {t for t, k in zip(vocabulary.tokens, vocabulary.types) if k in (NORMAL, USER_DEFINED, UNUSED)}
    found = []
    for token in usable:
        score = vocabulary.scores[ids[token]]
        for cut in range(1, len(token)):
            left, right = token[:cut], token[cut:]
            if left in usable and right in usable:
                found.append((-score, ids[left], ids[right], left, right))
    found.sort()
    return [(left, right) for _, _, _, left, right in found]


def build(vocabulary, pre):
    ids = {t: i for i, t in enumerate(vocabulary.tokens)}
    if vocabulary.model == "gpt2":
        rule = PATTERNS[pre]
        tokenizer = Tokenizer(models.BPE(ids, vocabulary.merges, ignore_merges=rule["ignore_merges"]))
        splits = [pre_tokenizers.Split(Regex(p), "isolated") for p in rule["splits"]]
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*splits, byte_level])
        tokenizer.decoder = decoders.ByteLevel()
    else:
        model = models.BPE(ids, merges_from_scores(vocabulary), byte_fallback=True, fuse_unk=True, unk_token="<unk>")
        tokenizer = Tokenizer(model)
        steps = [normalizers.Prepend("\u2581")] if vocabulary.add_space_prefix else []
        tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", "\u2581")])
    tokenizer.add_tokens([AddedToken(t, normalized=False) for t in vocabulary.user_defined])
    return tokenizer


BLANKS = " \t\n\r\v\f\u0085\u00a0\u1680\u2000\u2003\u200a\u2028\u2029\u202f\u205f\u3000"
NOT_QUITE_BLANKS = "\u200b\u180e\ufeff\u001c\u001d\u001e\u001f\u2060\u00ad"
CONTRACTIONS = ["'s", "'T", "'re", "'Ve", "'m", "'LL", "'d", "'\u017f", "\u2019s", "'", "''", "'re'", "'x"]
BLOCKS = [(0x20, 0x7E), (0xA0, 0x24F), (0x250, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x590, 0x6FF), (0x900, 0xDFF),
          (0xE00, 0xEFF), (0x10A0, 0x13FF), (0x1780, 0x17FF), (0x1E00, 0x1FFF), (0x2000, 0x2BFF), (0x2C00, 0x2E7F),
          (0x2E80, 0x30FF), (0x3100, 0x4DBF), (0x4E00, 0x9FFF), (0xA000, 0xABFF), (0xAC00, 0xD7FF), (0xF900, 0xFFEF),
          (0x10000, 0x10FFF), (0x11000, 0x16FFF), (0x1D000, 0x1D7FF), (0x1E900, 0x1EEFF), (0x1F000, 0x1FAFF),
          (0x20000, 0x323AF), (0xE0000, 0xE01EF)]
EMOJI = ["\U0001f600", "\U0001f636\u200d\U0001f32b\ufe0f", "\U0001f1e9\U0001f1ea", "\U0001f44d\U0001f3fd", "\u2705", "\u2764\ufe0f",
         "\U0001f468\u200d\U0001f469\u200d\U0001f467", "1\ufe0f\u20e3", "\U0001f999"]
CODE = ["def f(x):\n    return x**2\n", "#include <vector>\r\n", "if (a && b) {\n\t\tc->d[0] += 1;\n\t}", "<div class=\"a\">&nbsp;</div>",
        "SELECT * FROM t WHERE a='b';", "{\"k\": [1, 2.5e-3, null]}", "https://example.org/a?b=c&d=%20#e", "/* x */ //y", "HTTPServerError",
        "snake_case_name", "camelCaseName", "XMLHttpRequest's", "\\frac{1}{2}", "0x1F", "1,234,567.89", "3.14159", "v1.2.3-rc4"]


# Marks that the tables of the package's normalizers do not have yet, and the combining class of U+0C3C.
NEW_MARKS = {0x0C3C} | {c for c in range(0x110000) if unicodedata.category(chr(c))[0] == "M" and normalizers.StripAccents().normalize_str(chr(c))}


def assigned(code_point):
    # Private-use and control characters count; unassigned ones differ between Unicode versions.
    return code_point not in NEW_MARKS and not 0xD800 <= code_point < 0xE000 and unicodedata.category(chr(code_point)) != "Cn"


class Generator:
    def __init__(self, seed, words, specials):
        self.random = random.Random(seed)
        self.words = words
        self.specials = specials

    def character(self):
        while True:
            if self.random.random() < 0.15:
                code_point = self.random.randrange(0x110000)
            else:
                code_point = self.random.randint(*self.random.choice(BLOCKS))
            if assigned(code_point):
                return chr(code_point)

    def run(self):
        c = self.random.choice([self.character(), self.random.choice(BLANKS), self.random.choice("aAzZ019.-=_/'")])
        return c * self.random.choice([2, 3, 4, 7, 16, 33, 64, 130])

    def block_text(self):
        low, high = self.random.choice(BLOCKS)
        return "".join(chr(c) for c in (self.random.randint(low, high) for _ in range(self.random.randint(1, 12))) if assigned(c))

    def part(self):
        r = self.random
        kinds = [
            lambda: r.choice(self.words), lambda: " " + r.choice(self.words), lambda: r.choice(self.words).upper(),
            lambda: r.choice(self.words).capitalize(), self.character, self.run, self.block_text, lambda: r.choice(BLANKS),
            lambda: "".join(r.choice(BLANKS) for _ in range(r.randint(1, 6))), lambda: r.choice(NOT_QUITE_BLANKS),
            lambda: r.choice(CONTRACTIONS), lambda: r.choice(self.words) + r.choice(CONTRACTIONS), lambda: r.choice(EMOJI),
            lambda: str(r.randrange(10 ** r.randint(1, 12))), lambda: r.choice(CODE), lambda: chr(r.randrange(32)),
            lambda: r.choice("e\u0301 a\u0308\u0323 \u0915\u094d\u0937 \u0e01\u0e33 \ufb01 \u01c5 \u02b0 \u2160 \u00bd \u0660\u0661".split(" ")),
            lambda: "".join(r.choice("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") for _ in range(r.randint(1, 5))),
            lambda: r.choice(self.specials) if self.specials else "",
        ]
        return r.choice(kinds)()

    def text(self):
        if self.random.random() < 0.05:
            return self.run() + self.part()
        return "".join(self.part() for _ in range(self.random.randint(1, 10)))


def real_texts(paths):
    texts = []
    for path in paths:
        content = pathlib.Path(path).read_text(errors="replace").encode("utf-8", "replace").decode()
        content = "".join(c if assigned(ord(c)) else "?" for c in content)
        lines = content.split("\n")
        texts += [line for line in lines if line]
        texts += ["\n".join(lines[i : i + 12]) for i in range(0, len(lines), 12)]
        texts.append(content[:20000])
    return texts


def compare(arguments, vocabulary, pre):
    specials = [t for t, k in zip(vocabulary.tokens, vocabulary.types) if k in (CONTROL, USER_DEFINED)]
    real = real_texts(arguments.text)
    words = sorted({w for t in real for w in t.split() if len(w) < 20}) or ["word", "Hello", "token"]
    generator = Generator(arguments.seed, words, random.Random(1).sample(specials, min(60, len(specials))))
    texts = real[: arguments.count // 2]
    texts += [generator.text() for _ in range(arguments.count - len(texts))]
    reference = build(vocabulary, pre)
    command = [arguments.cli, arguments.vocab] + (["--pre", pre] if vocabulary.model == "gpt2" else [])
    if arguments.through_json:
        controls = [t for t, k in zip(vocabulary.tokens, vocabulary.types) if k == CONTROL]
        reference.add_special_tokens(controls)
        path = pathlib.Path(tempfile.mkdtemp()) / "tokenizer.json"
        reference.save(str(path))
        command = [arguments.cli, str(path), "--parse-special"]
    lines = "\n".join(json.dumps(t) for t in texts) + "\n"
    out = subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    expected_ids = reference.encode_batch_fast(texts, add_special_tokens=False)
    different = 0
    for text, line, expected in zip(texts, out, expected_ids, strict=True):
        ids = json.loads(line)
        if ids != expected.ids:
            different += 1
            if different <= arguments.show:
                at = next((i for i, (a, b) in enumerate(zip(ids, expected.ids)) if a != b), min(len(ids), len(expected.ids)))
                name = lambda l: [vocabulary.tokens[i] for i in l[max(0, at - 2) : at + 5]]
                print(f"  {text!r}\n   ours {name(ids)}\n   ref  {name(expected.ids)}")
    tokens = sum(len(e.ids) for e in expected_ids)
    print(f"{pathlib.Path(arguments.vocab).name} pre={pre}: {len(texts)} strings, {tokens} tokens, {different} differ", flush=True)
    return different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cli")
    parser.add_argument("vocab")
    parser.add_argument("--pre", nargs="*", default=[])
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5)
    parser.add_argument("--through-json", action="store_true")
    parser.add_argument("--text", nargs="*", default=[])
    arguments = parser.parse_args()
    vocabulary = Vocabulary(arguments.vocab)
    return 1 if sum([compare(arguments, vocabulary, pre) for pre in arguments.pre or [vocabulary.pre]]) else 0


if __name__ == "__main__":
    sys.exit(main())
