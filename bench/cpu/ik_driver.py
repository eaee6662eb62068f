# SPDX-License-Identifier: Apache-2.0
"""Speed of ik_llama.cpp through the C API of the package ik-llama-cpp-python; run by compare in that package's interpreter.

Random token ids, no sampling: only what the library computes is timed. Prints one JSON object on standard output.
"""

import argparse
import ctypes
import json
import random
import sys
import time

import ik_llama_cpp._ctypes_api as ik


def peak_bytes():
    with open("/proc/self/status", encoding="utf-8") as f:
        return next(int(text.split()[1]) * 1024 for text in f if text.startswith("VmHWM:"))


class Model:
    """One model and one context with room for `context` tokens of `streams` sequences."""

    def __init__(self, args, context):
        ik.llama_backend_init()
        params = ik.llama_model_default_params()
        params.n_gpu_layers = 0
        params.repack_tensors = bool(args.repack)
        params.use_mmap = not args.repack
        self.model = ik.llama_model_load_from_file(args.model.encode(), params)
        if not self.model:
            sys.exit(f"ik_llama.cpp does not load {args.model}")
        context_params = ik.llama_context_default_params()
        context_params.n_ctx = context
        context_params.n_batch = 2048
        context_params.n_ubatch = 512
        context_params.n_seq_max = args.streams
        context_params.n_threads = context_params.n_threads_batch = args.threads
        context_params.flash_attn = bool(args.flash_attention)
        self.context = ik.llama_init_from_model(self.model, context_params)
        if not self.context:
            sys.exit(f"ik_llama.cpp makes no context of {context} tokens")
        self.vocab_size = ik.llama_vocab_n_tokens(ik.llama_model_get_vocab(self.model))
        self.batch = ik.llama_batch_init(2048, 0, args.streams)
        self.random = random.Random(args.seed)

    def compute(self, tokens):
        """One call for (sequence, position, wants logits) of each token; ids are random."""
        batch = self.batch
        batch.n_tokens = len(tokens)
        for i, (sequence, position, wants_logits) in enumerate(tokens):
            batch.token[i] = self.random.randrange(self.vocab_size)
            batch.pos[i] = position
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = sequence
            batch.logits[i] = wants_logits
        code = ik.llama_decode(self.context, batch)
        if code != 0:
            sys.exit(f"llama_decode of {len(tokens)} tokens: {code}")

    def prefill(self, sequence, length):
        for begin in range(0, length, 2048):
            end = min(begin + 2048, length)
            self.compute([(sequence, p, p == length - 1) for p in range(begin, end)])

    def clear(self):
        ik.llama_kv_cache_clear(self.context)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    for name in ("threads", "input-len", "output-len", "streams", "flash-attention", "repack", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--load-only", action="store_true")
    args = parser.parse_args()
    begin = time.perf_counter()
    model = Model(args, args.streams * (args.input_len + args.output_len + 64))
    report = {"load_s": time.perf_counter() - begin, "peak_bytes": peak_bytes()}
    if not args.load_only:
        model.prefill(0, min(args.input_len, 64))  # warms up
        model.compute([(0, min(args.input_len, 64), True)])
        model.clear()
        begin = time.perf_counter()
        for sequence in range(args.streams):
            model.prefill(sequence, args.input_len)
        report["prefill_tok_s"] = args.streams * args.input_len / (time.perf_counter() - begin)
        begin = time.perf_counter()
        for i in range(args.output_len):
            model.compute([(sequence, args.input_len + i, True) for sequence in range(args.streams)])
        if args.output_len:
            report["decode_tok_s"] = args.streams * args.output_len / (time.perf_counter() - begin)
        if not ctypes.cast(ik.llama_get_logits_ith(model.context, -1), ctypes.c_void_p).value:
            sys.exit("ik_llama.cpp computed no logits")
    print(json.dumps(report))


if __name__ == "__main__":
    main()
