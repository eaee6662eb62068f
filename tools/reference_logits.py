#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Independent float32 forward pass of a GGUF checkpoint: the truth that Plumb's models are measured against.

Uses numpy and the `gguf` package only (nothing of Plumb). Families: llama, qwen2, qwen3, gemma3.

  reference_logits.py MODEL.gguf --ids IDS.json --out LOGITS.f32     logits [T, V], row-major float32
  reference_logits.py MODEL.gguf --ids IDS.json --greedy N           prints the N ids that follow greedily and
                                                                     each one's lead over the second, in nats
--window W computes the logits of each W ids afresh, as of a text of its own.
"""

import argparse
import json
import sys

import gguf
import numpy as np

FAMILIES = ("llama", "qwen2", "qwen3", "gemma3")


class Checkpoint:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.fields = {k: v.contents() for k, v in reader.fields.items() if not k.startswith("tokenizer.")}
        self.arch = self.fields["general.architecture"]
        self.tensors = {t.name: t for t in reader.tensors}
        self.loaded = {}

    def key(self, name, default=None):
        return self.fields.get(f"{self.arch}.{name}", default)

    def get(self, name):
        if name not in self.loaded:
            t = self.tensors[name]
            values = gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float32)
            self.loaded[name] = values.reshape([int(d) for d in t.shape[::-1]])
        return self.loaded[name]

    def get_or(self, name, default):
        return self.get(name) if name in self.tensors else default


def rms_norm(x, w, eps):
    return (x / np.sqrt(np.mean(x.astype(np.float64) ** 2, axis=-1, keepdims=True) + eps) * w).astype(np.float32)


def rope(x, positions, inv_freq, interleaved):  # x [T, H, D]
    d = x.shape[-1]
    angle = positions[:, None].astype(np.float64) * inv_freq  # [T, D/2]
    cos, sin = np.cos(angle)[:, None, :].astype(np.float32), np.sin(angle)[:, None, :].astype(np.float32)
    out = np.empty_like(x)
    if interleaved:
        a, b = x[..., 0::2], x[..., 1::2]
        out[..., 0::2], out[..., 1::2] = a * cos - b * sin, a * sin + b * cos
    else:
        a, b = x[..., : d // 2], x[..., d // 2 :]
        out[..., : d // 2], out[..., d // 2 :] = a * cos - b * sin, a * sin + b * cos
    return out


def attention(q, k, v, scale, window, chunk=512):  # q [T, Hq, D], k, v [P + T, Hkv, D] -> [T, Hq * D]
    t, hq, d = q.shape
    past = k.shape[0] - t
    group = hq // k.shape[1]
    out = np.empty((t, hq, d), np.float32)
    for h in range(hq):
        kh, vh = k[:, h // group], v[:, h // group]
        for begin in range(0, t, chunk):
            end = min(t, begin + chunk)
            row, col = np.arange(past + begin, past + end)[:, None], np.arange(past + end)[None, :]
            hidden = col > row
            if window:
                hidden |= col <= row - window
            score = (q[begin:end, h] @ kh[: past + end].T) * np.float32(scale)
            score[hidden] = -np.inf
            score -= score.max(axis=1, keepdims=True)
            p = np.exp(score)
            out[begin:end, h] = (p @ vh[: past + end]) / p.sum(axis=1, keepdims=True)
    return out.reshape(t, hq * d)


def silu(x):
    return x / (1 + np.exp(-x))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def round_to_bfloat16(value):
    bits = np.array([value], np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)[0]


class Model:
    def __init__(self, path):
        c = self.c = Checkpoint(path)
        if c.arch not in FAMILIES:
            sys.exit(f"family {c.arch} is not in this reference, which knows {', '.join(FAMILIES)}")
        if c.key("rope.scaling.type", "none") not in ("none", "linear"):
            sys.exit(f"rope scaling {c.key('rope.scaling.type')} is not in this reference")
        self.is_gemma = c.arch == "gemma3"
        self.layers = c.key("block_count")
        self.hidden = c.key("embedding_length")
        self.hq = c.key("attention.head_count")
        self.hkv = c.key("attention.head_count_kv", self.hq)
        self.d = c.key("attention.key_length", self.hidden // self.hq)
        self.eps = c.key("attention.layer_norm_rms_epsilon")
        self.embedding = c.get("token_embd.weight")
        self.output = c.get_or("output.weight", self.embedding)
        self.inv_freq = self.frequencies(c.key("rope.freq_base", 10000.0)) / c.get_or("rope_freqs.weight", 1.0)
        if c.key("rope.scaling.type", "none") == "linear":
            self.inv_freq /= c.key("rope.scaling.factor")
        self.local_inv_freq = self.frequencies(c.key("rope.freq_base_swa", 10000.0))
        self.forget()

    def frequencies(self, theta):
        return float(theta) ** (-np.arange(0, self.d, 2, dtype=np.float64) / self.d)

    def forget(self):
        """Begins another text."""
        self.past = [(np.empty((0, self.hkv, self.d), np.float32),) * 2 for _ in range(self.layers)]

    def layer(self, i, x, positions):
        c, t = self.c, x.shape[0]
        w = lambda name: c.get(f"blk.{i}.{name}.weight")
        project = lambda h, name: h @ w(name).T + c.get_or(f"blk.{i}.{name}.bias", np.float32(0))
        is_local = self.is_gemma and i % 6 != 5
        h = rms_norm(x, w("attn_norm"), self.eps)
        q = project(h, "attn_q").reshape(t, self.hq, self.d)
        k = project(h, "attn_k").reshape(t, self.hkv, self.d)
        v = project(h, "attn_v").reshape(t, self.hkv, self.d)
        if c.arch in ("qwen3", "gemma3"):
            q, k = rms_norm(q, w("attn_q_norm"), self.eps), rms_norm(k, w("attn_k_norm"), self.eps)
        inv_freq = self.local_inv_freq if is_local else self.inv_freq
        q = rope(q, positions, inv_freq, c.arch == "llama")
        k = rope(k, positions, inv_freq, c.arch == "llama")
        k, v = np.concatenate([self.past[i][0], k]), np.concatenate([self.past[i][1], v])
        self.past[i] = (k, v)
        window = c.key("attention.sliding_window", 0) if is_local else 0
        a = project(attention(q, k, v, self.d**-0.5, window), "attn_output")
        if self.is_gemma:
            a = rms_norm(a, w("post_attention_norm"), self.eps)
        x = x + a
        h = rms_norm(x, w("ffn_norm"), self.eps)
        gate, up = h @ w("ffn_gate").T, h @ w("ffn_up").T
        act = gelu_tanh(gate) if self.is_gemma else silu(gate)
        y = (act * up).astype(np.float32) @ w("ffn_down").T
        if self.is_gemma:
            y = rms_norm(y, w("post_ffw_norm"), self.eps)
        return (x + y).astype(np.float32)

    def hidden_states(self, ids):
        """What the output matrix multiplies, for ids that follow those of earlier calls."""
        ids = np.asarray(ids)
        positions = self.past[0][0].shape[0] + np.arange(len(ids))
        x = self.embedding[ids].copy()
        if self.is_gemma:
            x = x * round_to_bfloat16(np.sqrt(self.hidden))
        for i in range(self.layers):
            x = self.layer(i, x, positions)
        return rms_norm(x, self.c.get("output_norm.weight"), self.eps)

    def logits(self, ids, chunk=256):
        """Yields logits [up to chunk, V] of consecutive positions."""
        h = self.hidden_states(ids)
        for begin in range(0, len(ids), chunk):
            yield (h[begin : begin + chunk] @ self.output.T).astype(np.float32)

    def greedy(self, ids, count):
        """The ids that follow, and the lead of each over the second most likely."""
        self.forget()
        found, leads = [], []
        h = self.hidden_states(ids)
        for _ in range(count):
            logits = h[-1] @ self.output.T
            second, first = np.partition(logits, -2)[-2:]
            found.append(int(np.argmax(logits)))
            leads.append(float(first - second))
            h = self.hidden_states(found[-1:])
        return found, leads


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--ids", required=True, help="JSON array of token ids")
    parser.add_argument("--out", help="write logits [T, V] as float32")
    parser.add_argument("--window", type=int, default=0, help="ids that see each other; 0 = all")
    parser.add_argument("--greedy", type=int, default=0, help="print that many following ids")
    args = parser.parse_args()
    with open(args.ids) as f:
        ids = json.load(f)
    model = Model(args.model)
    if args.out:
        window = args.window or len(ids)
        with open(args.out, "wb") as f:
            for begin in range(0, len(ids), window):
                model.forget()
                for rows in model.logits(ids[begin : begin + window]):
                    rows.tofile(f)
    if args.greedy:
        found, leads = model.greedy(ids, args.greedy)
        print(json.dumps({"ids": found, "leads": [round(lead, 4) for lead in leads]}))


if __name__ == "__main__":
    main()
