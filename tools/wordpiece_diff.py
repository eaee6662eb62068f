#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares token ids of a WordPiece vocabulary with the `tokenizers` package.

  wordpiece_diff.py CLI TOKENIZER.json [--count N] [--seed N] [--text FILE ...]

CLI is the built tokenizer_cli. It reads the tokenizer.json itself and a GGUF vocabulary that the
script writes from it; both must give the ids of the package on generated and real strings. Characters
that the package's older Unicode tables class otherwise than Python's are left out, and counted.
Needs the packages gguf, numpy and tokenizers. Exit status 1 if any id differs.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unicodedata

import gguf
import tokenizer_diff
from tokenizers import Tokenizer, normalizers, pre_tokenizers

CONTROL, NORMAL = 3, 1


def characters_of_other_tables():
    """Those whose category the package does not know yet."""
    accents = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
    clean = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    words = pre_tokenizers.BertPreTokenizer()
    other = set()
    for code_point in range(0x80, 0x110000):
        category = unicodedata.category(chr(code_point))
        if category in ("Cs", "Cn"):
            continue
        c = chr(code_point)
        is_kept = clean.normalize_str(c) != ""
        is_word = len(words.pre_tokenize_str(f"a{c}a")) == 1
        is_space = c.isspace()
        if is_kept == (category in ("Cc", "Cf", "Co") or code_point == 0xFFFD):
            other.add(code_point)
        if not is_space and is_word == (category[0] == "P"):
            other.add(code_point)
        if category == "Mn" and accents.normalize_str(c):
            other.add(code_point)
    return other


def write_gguf(path, vocab, controls):
    tokens = [text for text, _ in sorted(vocab.items(), key=lambda item: item[1])]
    writer = gguf.GGUFWriter(str(path), "bert")
    writer.add_tokenizer_model("bert")

    def written(text):
        if text in controls:
            return text
        return text[2:] if text.startswith("##") else "\u2581" + text

    writer.add_token_list([written(text).encode() for text in tokens])
    writer.add_token_types([CONTROL if text in controls else NORMAL for text in tokens])
    writer.add_unk_token_id(vocab["[UNK]"])
    writer.add_uint32("tokenizer.ggml.cls_token_id", vocab["[CLS]"])
    writer.add_sep_token_id(vocab["[SEP]"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cli")
    parser.add_argument("tokenizer")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--text", nargs="*", default=[])
    arguments = parser.parse_args()
    other = characters_of_other_tables()
    tokenizer_diff.NEW_MARKS |= other
    print(f"{len(other)} characters of newer Unicode versions are left out", flush=True)
    reference = Tokenizer.from_file(arguments.tokenizer)
    reference.no_truncation()
    reference.no_padding()
    controls = [t["content"] for t in json.loads(pathlib.Path(arguments.tokenizer).read_text())["added_tokens"] if t["special"]]
    gguf_path = pathlib.Path(tempfile.mkdtemp()) / "vocab.gguf"
    write_gguf(gguf_path, reference.get_vocab(), controls)
    real = tokenizer_diff.real_texts(arguments.text)
    words = sorted({w for t in real for w in t.split() if len(w) < 20}) or ["word", "Hello", "token"]
    generator = tokenizer_diff.Generator(arguments.seed, words, controls)
    texts = real[: arguments.count // 2]
    texts += [generator.text() for _ in range(arguments.count - len(texts))]
    expected = [e.ids for e in reference.encode_batch_fast(texts)]
    lines = "\n".join(json.dumps(t) for t in texts) + "\n"
    different = 0
    for path in (arguments.tokenizer, gguf_path):
        command = [arguments.cli, str(path), "--parse-special", "--add-special"]
        out = subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
        bad = [(t, ids, e) for t, ids, e in zip(texts, map(json.loads, out), expected, strict=True) if ids != e]
        for text, ids, e in bad[:5]:
            print(f"  {text!r}\n   ours {ids[:40]}\n   ref  {e[:40]}")
        print(f"{pathlib.Path(path).name}: {len(texts)} strings, {sum(map(len, expected))} tokens, {len(bad)} differ", flush=True)
        different += len(bad)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
