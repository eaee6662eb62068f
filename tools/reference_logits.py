#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Independent float32 forward pass of a GGUF checkpoint: the truth that Plumb's models are measured against.

Uses numpy and the `gguf` package only (nothing of Plumb). Families: llama, gemma3.

  reference_logits.py MODEL.gguf --ids IDS.json --out LOGITS.f32     logits [T, V], row-major float32
  reference_logits.py MODEL.gguf --ids IDS.json --greedy N           prints the N ids that follow greedily
"""

import argparse
import json
import sys

import gguf
import numpy as np


class Checkpoint:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.fields = {k: v.contents() for k, v in reader.fields.items() if not k.startswith("tokenizer.")}
        self.arch = self.fields["general.architecture"]
        self.tensors = {t.name: t for t in reader.tensors}

    def key(self, name, default=None):
        return self.fields.get(f"{self.arch}.{name}", default)

    def get(self, name):
        t = self.tensors[name]
        return gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float32).reshape([int(d) for d in t.shape[::-1]])


def rms_norm(x, w, eps):
    return (x / np.sqrt(np.mean(x.astype(np.float64) ** 2, axis=-1, keepdims=True) + eps) * w).astype(np.float32)


def rope(x, positions, theta, interleaved):  # x [T, H, D]
    d = x.shape[-1]
    angle = positions[:, None].astype(np.float64) * theta ** (-np.arange(0, d, 2, dtype=np.float64) / d)  # [T, D/2]
    cos, sin = np.cos(angle)[:, None, :].astype(np.float32), np.sin(angle)[:, None, :].astype(np.float32)
    out = np.empty_like(x)
    if interleaved:
        a, b = x[..., 0::2], x[..., 1::2]
        out[..., 0::2], out[..., 1::2] = a * cos - b * sin, a * sin + b * cos
    else:
        a, b = x[..., : d // 2], x[..., d // 2 :]
        out[..., : d // 2], out[..., d // 2 :] = a * cos - b * sin, a * sin + b * cos
    return out


def attention(q, k, v, scale, window, chunk=512):  # q [T, Hq, D], k, v [T, Hkv, D] -> [T, Hq * D]
    t, hq, d = q.shape
    group = hq // k.shape[1]
    out = np.empty((t, hq, d), np.float32)
    for h in range(hq):
        kh, vh = k[:, h // group], v[:, h // group]
        for begin in range(0, t, chunk):
            end = min(t, begin + chunk)
            score = (q[begin:end, h] @ kh[:end].T) * np.float32(scale)
            row, col = np.arange(begin, end)[:, None], np.arange(end)[None, :]
            hidden = col > row
            if window:
                hidden |= col <= row - window
            score[hidden] = -np.inf
            score -= score.max(axis=1, keepdims=True)
            p = np.exp(score)
            out[begin:end, h] = (p @ vh[:end]) / p.sum(axis=1, keepdims=True)
    return out.reshape(t, hq * d)


class Model:
    def __init__(self, path):
        c = self.c = Checkpoint(path)
        self.is_gemma = c.arch == "gemma3"
        if c.arch not in ("llama", "gemma3"):
            sys.exit(f"family {c.arch} is not in this reference")
        self.layers = c.key("block_count")
        self.hidden = c.key("embedding_length")
        self.hq = c.key("attention.head_count")
        self.hkv = c.key("attention.head_count_kv")
        self.d = c.key("attention.key_length", self.hidden // self.hq)
        self.eps = c.key("attention.layer_norm_rms_epsilon")
        self.theta = c.key("rope.freq_base", 10000.0)
        self.embedding = c.get("token_embd.weight")

    def layer(self, i, x, positions):
        c, t = self.c, x.shape[0]
        w = lambda name: c.get(f"blk.{i}.{name}.weight")
        local = self.is_gemma and i % 6 != 5
        theta = 10000.0 if local else self.theta
        h = rms_norm(x, w("attn_norm"), self.eps)
        q = (h @ w("attn_q").T).reshape(t, self.hq, self.d)
        k = (h @ w("attn_k").T).reshape(t, self.hkv, self.d)
        v = (h @ w("attn_v").T).reshape(t, self.hkv, self.d)
        if self.is_gemma:
            q, k = rms_norm(q, w("attn_q_norm"), self.eps), rms_norm(k, w("attn_k_norm"), self.eps)
        q = rope(q, positions, theta, not self.is_gemma)
        k = rope(k, positions, theta, not self.is_gemma)
        a = attention(q, k, v, self.d**-0.5, c.key("attention.sliding_window", 0) if local else 0) @ w("attn_output").T
        if self.is_gemma:
            a = rms_norm(a, w("post_attention_norm"), self.eps)
        x = x + a
        h = rms_norm(x, w("ffn_norm"), self.eps)
        gate, up = h @ w("ffn_gate").T, h @ w("ffn_up").T
        if self.is_gemma:
            act = 0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)))
        else:
            act = gate / (1 + np.exp(-gate))
        y = (act * up).astype(np.float32) @ w("ffn_down").T
        if self.is_gemma:
            y = rms_norm(y, w("post_ffw_norm"), self.eps)
        return (x + y).astype(np.float32)

    def hidden_states(self, ids):
        ids = np.asarray(ids)
        x = self.embedding[ids].copy()
        if self.is_gemma:
            scale = np.array([np.sqrt(self.hidden)], np.float32).view(np.uint32)
            scale = ((scale + 0x7FFF + ((scale >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)[0]  # bf16
            x = x * scale
        for i in range(self.layers):
            x = self.layer(i, x, np.arange(len(ids)))
        return rms_norm(x, self.c.get("output_norm.weight"), self.eps)

    def output(self):
        return self.c.get("output.weight") if "output.weight" in self.c.tensors else self.embedding


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--ids", required=True, help="JSON array of token ids")
    parser.add_argument("--out", help="write logits [T, V] as float32")
    parser.add_argument("--greedy", type=int, default=0, help="print that many following ids")
    args = parser.parse_args()
    with open(args.ids) as f:
        ids = json.load(f)
    model = Model(args.model)
    output = model.output()
    if args.out:
        h = model.hidden_states(ids)
        with open(args.out, "wb") as f:
            for begin in range(0, len(ids), 256):
                (h[begin : begin + 256] @ output.T).astype(np.float32).tofile(f)
    found = []
    for _ in range(args.greedy):
        h = model.hidden_states(ids + found)
        found.append(int(np.argmax(h[-1] @ output.T)))
    if args.greedy:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
