# SPDX-License-Identifier: Apache-2.0
"""Speed of OpenVINO GenAI on a GGUF file; run by compare in the interpreter of the package openvino-genai.

Random token ids, greedy, ends of text ignored. A prompt alone (one token out) gives the prefill, the difference to
prompt and answer gives the decode; both runs have prompts of their own. Prints one JSON object on standard output.
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


def seconds_of(pipeline, rng, args, output_len):
    ids = openvino.Tensor(rng.integers(1000, 40000, (args.streams, args.input_len), dtype=np.int64))
    config = openvino_genai.GenerationConfig()
    config.max_new_tokens = output_len
    config.ignore_eos = True
    config.do_sample = False
    begin = time.perf_counter()
    result = pipeline.generate(ids, config)
    seconds = time.perf_counter() - begin
    lengths = [len(tokens) for tokens in result.tokens]
    if lengths != [output_len] * args.streams:
        raise SystemExit(f"OpenVINO answered {lengths} tokens instead of {output_len} for each of {args.streams} streams")
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    for name in ("threads", "input-len", "output-len", "streams", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--attention", choices=("PA", "SDPA"), required=True)
    parser.add_argument("--load-only", action="store_true")
    args = parser.parse_args()
    begin = time.perf_counter()
    pipeline = openvino_genai.LLMPipeline(args.model, "CPU", INFERENCE_NUM_THREADS=args.threads,
                                          ATTENTION_BACKEND=args.attention)
    report = {"load_s": time.perf_counter() - begin, "peak_bytes": peak_bytes()}
    if not args.load_only:
        rng = np.random.default_rng(args.seed)
        seconds_of(pipeline, rng, args, 2)  # warms up
        prefill = seconds_of(pipeline, rng, args, 1)
        report["prefill_tok_s"] = args.streams * args.input_len / prefill
        if args.output_len > 1:
            decode = seconds_of(pipeline, rng, args, args.output_len) - prefill
            report["decode_tok_s"] = args.streams * (args.output_len - 1) / decode
    print(json.dumps(report))


if __name__ == "__main__":
    main()
