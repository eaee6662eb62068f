#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the golden files of this folder with the independent forward of tools/reference_logits.py.

  make.py PLUMB                      the tiny generated models (PLUMB writes their checkpoints)
  make.py PLUMB MODEL.gguf NAME      NAME.json: what follows greedily after prompts.txt (PLUMB makes their ids)

Needs numpy and gguf. A file holds the command that made it and the SHA-256 of the checkpoint.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))

import numpy as np  # noqa: E402
import reference_logits  # noqa: E402

TINY = [("tiny-llama", "F32"), ("tiny-llama", "Q4_1"), ("tiny-qwen2", "F32"), ("tiny-qwen2", "Q5_0"),
        ("tiny-qwen3", "F32"), ("tiny-qwen3", "Q8_0"), ("tiny-gemma3", "F32"), ("tiny-gemma3", "Q4_K_M")]
NUM_IDS = 80  # beyond the window of tiny-gemma3, which is 64
PROMPT_LEN = 12
GREEDY_LEN = 24
COLUMNS = [0, 5, 77, 130, 255, 300, 444, 511]


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def significant(values, digits=7):
    return [float(f"{v:.{digits}g}") for v in values]


def write(name, record):
    """One member a line, so that a change shows what it changed."""
    body = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in record.items())
    with open(os.path.join(HERE, name + ".json"), "w", encoding="utf-8") as f:
        f.write("{\n" + body + "\n}\n")
    print(name)


def tiny(plumb, preset, quant, folder):
    path = os.path.join(folder, "model.gguf")
    subprocess.run([plumb, "model", "dummy", path, "--preset", preset, "--quant", quant], check=True,
                   stdout=subprocess.DEVNULL)
    model = reference_logits.Model(path)
    ids = [(i * i * 37 + 11 * i + 5) % 512 for i in range(NUM_IDS)]
    logits = np.concatenate(list(model.logits(ids))).astype(np.float64)
    largest = logits.max(axis=1, keepdims=True)
    found, leads = model.greedy(ids[:PROMPT_LEN], GREEDY_LEN)
    write(f"{preset}-{quant.lower()}", {
        "made_by": "tests/golden/make.py PLUMB",
        "preset": preset,
        "quant": quant,
        "sha256": sha256(path),
        "ids": ids,
        "log_sum_exp": significant((np.log(np.exp(logits - largest).sum(axis=1)) + largest[:, 0])),
        "max_abs": significant(np.abs(logits).max(axis=1)),
        "columns": COLUMNS,
        "logits": significant(logits[:, COLUMNS].reshape(-1)),
        "prompt_len": PROMPT_LEN,
        "greedy": found,
        "leads": significant(leads, 4),
    })


def real(plumb, path, name):
    with open(os.path.join(HERE, "prompts.txt"), encoding="utf-8") as f:
        texts = [line.rstrip("\n").replace("\\n", "\n") for line in f]
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    run = subprocess.run([plumb, "tokenize", path, "--add-special", "--parse-special"], input=lines, check=True,
                         capture_output=True, text=True)
    model = reference_logits.Model(path)
    texts_of_ids = [json.loads(line) for line in run.stdout.splitlines()]
    prompts = []
    for text, ids in zip(texts, texts_of_ids, strict=True):
        found, leads = model.greedy(ids, 32)
        prompts.append({"text": text, "ids": ids, "greedy": found, "leads": significant(leads, 4)})
        print(found, min(leads), flush=True)
    write(name, {"made_by": f"tests/golden/make.py PLUMB {os.path.basename(path)} {name}",
                 "file": os.path.basename(path), "sha256": sha256(path), "prompts": prompts})


def main():
    if len(sys.argv) == 4:
        real(sys.argv[1], sys.argv[2], sys.argv[3])
    elif len(sys.argv) == 2:
        for preset, quant in TINY:
            with tempfile.TemporaryDirectory() as folder:
                tiny(sys.argv[1], preset, quant, folder)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
