# SPDX-License-Identifier: Apache-2.0
"""Speed of OpenVINO GenAI on a GGUF file; run by compare in the interpreter of the package openvino-genai.

Random token ids, greedy, ends of text ignored; times are those that the library notes at each new token. Several
streams go through its continuous batching (PA) or as one batch (SDPA). Prints one JSON object on standard output.
"""

import argparse
import json
import time

import numpy as np
import openvino
import openvino_genai


def peak_bytes():
    with open("/proc/self/status", encoding="utf-8") as f:
        return next(int(text.split()[1]) * 1024 for text in f if text.startswith("VmHWM:"))


def config_of(output_len):
    config = openvino_genai.GenerationConfig()
    config.max_new_tokens = output_len
    config.ignore_eos = True
    config.do_sample = False
    return config


class OnePipeline:
    """All streams as one batch of equal lengths."""

    def __init__(self, args):
        self.pipeline = openvino_genai.LLMPipeline(args.model, "CPU", INFERENCE_NUM_THREADS=args.threads,
                                                   ATTENTION_BACKEND=args.attention)

    def generate(self, ids, output_len):
        """Times of the new tokens of each stream in milliseconds."""
        result = self.pipeline.generate(openvino.Tensor(ids), config_of(output_len))
        return [list(result.perf_metrics.raw_metrics.m_new_token_times) for _ in result.tokens]


class Batching:
    """Streams as requests of their own, computed together."""

    def __init__(self, args):
        scheduler = openvino_genai.SchedulerConfig()
        scheduler.max_num_seqs = args.streams
        scheduler.max_num_batched_tokens = 2048
        scheduler.cache_size = 2  # GB
        self.pipeline = openvino_genai.ContinuousBatchingPipeline(args.model, scheduler, "CPU",
                                                                  {"INFERENCE_NUM_THREADS": args.threads})

    def generate(self, ids, output_len):
        results = self.pipeline.generate([openvino.Tensor(row[None]) for row in ids], [config_of(output_len)] * len(ids))
        return [list(result.perf_metrics.raw_metrics.m_new_token_times) for result in results]


def figures_of(times, begin_s, end_s, args, output_len):
    """Prefill until all streams have their first token, decode from there to the last token."""
    if [len(t) for t in times] != [output_len] * args.streams:
        raise SystemExit(f"OpenVINO noted {[len(t) for t in times]} tokens, not {output_len} for each of {args.streams} streams")
    first, last = max(t[0] for t in times), max(t[-1] for t in times)
    in_decode = (last - first) / 1000
    report = {"prefill_tok_s": args.streams * args.input_len / (end_s - begin_s - in_decode)}
    if output_len > 1:
        report["decode_tok_s"] = sum(time > first for t in times for time in t) / in_decode
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    for name in ("threads", "input-len", "output-len", "streams", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--attention", choices=("PA", "SDPA"), required=True)
    parser.add_argument("--load-only", action="store_true")
    args = parser.parse_args()
    begin = time.perf_counter()
    pipeline = Batching(args) if args.streams > 1 and args.attention == "PA" else OnePipeline(args)
    report = {"load_s": time.perf_counter() - begin, "peak_bytes": peak_bytes()}
    if not args.load_only:
        rng = np.random.default_rng(args.seed)
        shape = (args.streams, args.input_len)
        pipeline.generate(rng.integers(1000, 40000, shape, dtype=np.int64), 2)  # warms up
        ids = rng.integers(1000, 40000, shape, dtype=np.int64)
        begin = time.perf_counter()
        times = pipeline.generate(ids, args.output_len)
        report |= figures_of(times, begin, time.perf_counter(), args, args.output_len)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
