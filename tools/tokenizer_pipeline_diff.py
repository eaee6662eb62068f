#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares token ids of small trained vocabularies with `tokenizers` and `sentencepiece`.

  tokenizer_pipeline_diff.py CLI --text FILE ... [--count N] [--seed N]

Trains unigram and BPE vocabularies on the texts and runs pipelines of many component kinds through
tokenizer.json (reference: the tokenizers package), and SentencePiece models through GGUF files
(reference: the sentencepiece package). Needs gguf, protobuf, sentencepiece and tokenizers.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import gguf
import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokenizer_diff import Generator, real_texts

FOLDER = pathlib.Path(tempfile.mkdtemp())


def show(name, texts, ours, reference):
    bad = [(t, a, b) for t, a, b in zip(texts, ours, reference, strict=True) if a != b]
    for text, a, b in bad[:4]:
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        print(f"  {text!r}\n   ours {a[max(0, at - 3):at + 5]}\n   ref  {b[max(0, at - 3):at + 5]}")
    print(f"{name}: {len(texts)} strings, {sum(map(len, reference))} tokens, {len(bad)} differ", flush=True)
    return len(bad)


def run(arguments, path, texts, *flags):
    lines = "\n".join(json.dumps(t) for t in texts) + "\n"
    done = subprocess.run([arguments.cli, str(path), *flags], input=lines, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{path}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def compare_json(arguments, name, tokenizer, texts):
    path = FOLDER / f"{name}.json"
    tokenizer.save(str(path))
    reference = [e.ids for e in tokenizer.encode_batch_fast(texts)]
    return show(name, texts, run(arguments, path, texts, "--parse-special", "--add-special"), reference)


def train(tokenizer, trainer, corpus):
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


ADDED = [AddedToken("<mask>", lstrip=True, special=True), AddedToken("<end>", rstrip=True, special=True),
         AddedToken("whole", single_word=True), AddedToken("Mixed Case", normalized=True), AddedToken("ab", normalized=False),
         AddedToken("bcd", normalized=False), AddedToken("<both>", lstrip=True, rstrip=True)]


def bpe(corpus, normalizer, pre_tokenizer, **options):
    tokenizer = Tokenizer(models.BPE(**options))
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    specials = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] * bool(options.get("byte_fallback"))
    train(tokenizer, trainers.BpeTrainer(vocab_size=3000, special_tokens=specials, show_progress=False), corpus)
    tokenizer.add_tokens([t for t in ADDED if not t.special])
    tokenizer.add_special_tokens([t for t in ADDED if t.special])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    return tokenizer


def pipelines(corpus, charsmap):
    p, n = pre_tokenizers, normalizers
    byte_level = p.ByteLevel(add_prefix_space=True)
    yield "byte-level", bpe(corpus, None, byte_level)
    yield "nfc-digits", bpe(corpus, n.NFC(), p.Sequence([p.Digits(True), p.ByteLevel(add_prefix_space=False)]))
    yield "nfkc-lower", bpe(corpus, n.Sequence([n.NFKC(), n.Lowercase(), n.Strip()]), p.Whitespace(), unk_token="<unk>", fuse_unk=True)
    yield "nfd-accents", bpe(corpus, n.Sequence([n.NFD(), n.StripAccents()]), p.Sequence([p.WhitespaceSplit(), p.Punctuation()]), unk_token="<unk>")
    yield "nfkd-regex", bpe(corpus, n.Sequence([n.NFKD(), n.Replace(Regex(r"\s{2,}"), " ")]), p.Split(Regex(r"\p{Lu}"), "merged_with_next"), unk_token="<unk>")
    yield "previous", bpe(corpus, None, p.Split(" ", "merged_with_previous"), unk_token="<unk>", byte_fallback=True)
    yield "contiguous", bpe(corpus, None, p.Sequence([p.Split(Regex(r"[aeiou\s]"), "contiguous"), p.Split("t", "removed", invert=False)]), unk_token="<unk>")
    yield "invert", bpe(corpus, None, p.Split(Regex(r"\w+|[^\w\s]+"), "removed", invert=True), unk_token="<unk>", ignore_merges=True)
    yield "metaspace-first", bpe(corpus, None, p.Metaspace(prepend_scheme="first", split=False), unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    yield "metaspace-always", bpe(corpus, None, p.Metaspace(prepend_scheme="always", split=True), unk_token="<unk>")
    yield "prepend", bpe(corpus, n.Sequence([n.Prepend("\u2581"), n.Replace(" ", "\u2581")]), None, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    for name, fallback in (("unigram", False), ("unigram-bytes", True)):
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = n.Sequence([n.Precompiled(charsmap), n.Replace(Regex(" {2,}"), " ")])
        tokenizer.pre_tokenizer = p.Metaspace(prepend_scheme="always", split=True)
        bytes_ = [f"<0x{b:02X}>" for b in range(256)] * fallback
        trainer = trainers.UnigramTrainer(vocab_size=2000 + len(bytes_), special_tokens=["<unk>", "</s>", *bytes_], unk_token="<unk>", show_progress=False)
        train(tokenizer, trainer, corpus)
        state = json.loads(tokenizer.to_str())
        state["model"]["byte_fallback"] = fallback
        state["added_tokens"] = [t for t in state["added_tokens"] if not t["content"].startswith("<0x")]
        yield name, Tokenizer.from_str(json.dumps(state))


def write_gguf(path, processor, model, charsmap, flags):
    writer = gguf.GGUFWriter(str(path), model)
    writer.add_tokenizer_model(model)
    kinds = []
    for i in range(processor.vocab_size()):
        kinds.append(2 if processor.is_unknown(i) else 3 if processor.is_control(i) else 6 if processor.is_byte(i) else 5 if processor.is_unused(i) else 1)
    writer.add_token_list([processor.id_to_piece(i).encode() for i in range(processor.vocab_size())])
    writer.add_token_scores([processor.get_score(i) for i in range(processor.vocab_size())])
    writer.add_token_types(kinds)
    writer.add_unk_token_id(processor.unk_id())
    writer.add_bos_token_id(processor.bos_id())
    writer.add_eos_token_id(processor.eos_id())
    for name, value in flags.items():
        writer.add_bool("tokenizer.ggml." + name, value)
    if charsmap:
        writer.add_precompiled_charsmap(charsmap)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def train_sentencepiece(corpus, **options):
    prefix = str(FOLDER / "sp")
    (FOLDER / "corpus.txt").write_text("\n".join(corpus))
    sentencepiece.SentencePieceTrainer.train(input=prefix[:-2] + "corpus.txt", model_prefix=prefix, minloglevel=2, num_threads=1, **options)
    from sentencepiece import sentencepiece_model_pb2 as pb
    proto = pb.ModelProto()
    proto.ParseFromString(pathlib.Path(prefix + ".model").read_bytes())
    return sentencepiece.SentencePieceProcessor(model_file=prefix + ".model"), proto.normalizer_spec.precompiled_charsmap


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cli")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--text", nargs="+", required=True)
    arguments = parser.parse_args()
    real = real_texts(arguments.text)
    corpus = [t for t in real if len(t) < 400][:6000]
    words = sorted({w for t in corpus for w in t.split() if len(w) < 20})
    extra = ["<mask>", " <mask> ", "<end>  ", "whole", "unwhole", "Mixed Case", "abcd", "abc", "<both>", "<s>", "</s>", "<unk>", "<0x41>", "\u2581"]
    generator = Generator(arguments.seed, words, extra)
    texts = real[: arguments.count // 4] + [generator.text() for _ in range(arguments.count * 3 // 4)]
    unigram, charsmap = train_sentencepiece(corpus, vocab_size=3000, model_type="unigram", pad_id=-1, character_coverage=0.999)
    different = 0
    path = FOLDER / "t5.gguf"
    write_gguf(path, unigram, "t5", charsmap, {"remove_extra_whitespaces": True, "add_space_prefix": True})
    # Not counted: it adds scores as 32-bit floats, so equal segmentations of long runs tie differently.
    show("sentencepiece unigram", texts, run(arguments, path, texts), unigram.encode(texts))
    for prefix in (True, False):
        spm, _ = train_sentencepiece(corpus, vocab_size=3000, model_type="bpe", byte_fallback=True, character_coverage=0.999, add_dummy_prefix=prefix,
                                     normalization_rule_name="identity", remove_extra_whitespaces=False, allow_whitespace_only_pieces=True)
        write_gguf(path, spm, "llama", b"", {"add_space_prefix": prefix})
        different += show(f"sentencepiece bpe prefix={prefix}", texts, run(arguments, path, texts), spm.encode(texts))
    for name, tokenizer in pipelines(corpus, charsmap):
        different += compare_json(arguments, name, tokenizer, texts)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
