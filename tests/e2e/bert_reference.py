# SPDX-License-Identifier: Apache-2.0
"""An independent forward pass of BERT in float64, and tiny checkpoints to run it on."""

import json
import math

import gguf
import numpy as np
import safetensors.numpy
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

WORDS = ["red", "green", "blue", "house", "car", "the", "a", "is", "##s", "##ish", ",", ".", "hello", "world", "x", "##x"]
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ERF = np.vectorize(math.erf)


def tokenizer():
    vocab = {text: i for i, text in enumerate(SPECIALS + WORDS)}
    made = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.add_special_tokens(SPECIALS)
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return made


class Bert:
    """Weights and numbers of a Hugging Face folder."""

    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        loaded = safetensors.numpy.load_file(folder / "model.safetensors")
        self.weights = {name: value.astype(np.float64) for name, value in loaded.items() if value.dtype != np.int64}
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def dense(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, x, name):
        centred = x - x.mean(-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(-1, keepdims=True) + self.config["layer_norm_eps"])
        return centred / scale * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def hidden(self, ids):
        """[T, hidden] of one sequence."""
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
        x = self.norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        heads = self.config["num_attention_heads"]
        for i in range(self.config["num_hidden_layers"]):
            layer = f"encoder.layer.{i}."
            q, k, v = (self.dense(x, layer + "attention.self." + part).reshape(len(ids), heads, -1).transpose(1, 0, 2)
                       for part in ("query", "key", "value"))
            scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = (weights / weights.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(ids), -1)
            x = self.norm(x + self.dense(mixed, layer + "attention.output.dense"), layer + "attention.output.LayerNorm")
            h = self.dense(x, layer + "intermediate.dense")
            h = 0.5 * h * (1 + ERF(h / math.sqrt(2)))
            x = self.norm(x + self.dense(h, layer + "output.dense"), layer + "output.LayerNorm")
        return x

    def embed(self, text_or_ids):
        """The mean of the last states, of length 1."""
        ids = self.tokenizer.encode(text_or_ids).ids if isinstance(text_or_ids, str) else text_or_ids
        vector = self.hidden(ids).mean(0)
        return vector / np.linalg.norm(vector)


def write_tiny(folder, hidden=32, layers=2, heads=4, intermediate=48, positions=24):
    """A folder with random weights from a seed."""
    folder.mkdir()
    made = tokenizer()
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]", "pad_token": "[PAD]", "mask_token": "[MASK]"}))
    config = {"model_type": "bert", "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
              "intermediate_size": intermediate, "vocab_size": made.get_vocab_size(), "max_position_embeddings": positions,
              "type_vocab_size": 2, "layer_norm_eps": 1e-12, "hidden_act": "gelu"}
    (folder / "config.json").write_text(json.dumps(config))
    random = np.random.default_rng(11)
    weights = {}

    def add(name, *shape):
        weights[name] = random.normal(0, 0.25, shape).astype(np.float32)

    def dense(name, out, into):
        add(name + ".weight", out, into)
        add(name + ".bias", out)

    def norm(name):
        weights[name + ".weight"] = random.normal(1, 0.1, hidden).astype(np.float32)
        add(name + ".bias", hidden)

    add("embeddings.word_embeddings.weight", config["vocab_size"], hidden)
    add("embeddings.position_embeddings.weight", positions, hidden)
    add("embeddings.token_type_embeddings.weight", 2, hidden)
    norm("embeddings.LayerNorm")
    for i in range(layers):
        layer = f"encoder.layer.{i}."
        for part in ("query", "key", "value"):
            dense(layer + "attention.self." + part, hidden, hidden)
        dense(layer + "attention.output.dense", hidden, hidden)
        norm(layer + "attention.output.LayerNorm")
        dense(layer + "intermediate.dense", intermediate, hidden)
        dense(layer + "output.dense", hidden, intermediate)
        norm(layer + "output.LayerNorm")
    safetensors.numpy.save_file(weights, folder / "model.safetensors")
    return folder


GGUF_NAMES = [("embeddings.word_embeddings", "token_embd"), ("embeddings.position_embeddings", "position_embd"),
              ("embeddings.token_type_embeddings", "token_types"), ("embeddings.LayerNorm", "token_embd_norm"),
              ("encoder.layer.", "blk."), ("attention.self.query", "attn_q"), ("attention.self.key", "attn_k"),
              ("attention.self.value", "attn_v"), ("attention.output.dense", "attn_output"),
              ("attention.output.LayerNorm", "attn_output_norm"), ("intermediate.dense", "ffn_up"),
              ("output.dense", "ffn_down"), ("output.LayerNorm", "layer_output_norm")]


def write_gguf(folder, path):
    """The same model as a GGUF file."""
    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(str(path), "bert")
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_tokenizer_model("bert")
    words = [word[2:] if word.startswith("##") else "\u2581" + word for word in WORDS]
    writer.add_token_list([text.encode() for text in SPECIALS + words])
    writer.add_token_types([3] * len(SPECIALS) + [1] * len(words))
    writer.add_token_type_count(2)
    writer.add_unk_token_id(1)
    writer.add_uint32("tokenizer.ggml.cls_token_id", 2)
    writer.add_sep_token_id(3)
    for name, value in safetensors.numpy.load_file(folder / "model.safetensors").items():
        for old, new in GGUF_NAMES:
            name = name.replace(old, new)
        writer.add_tensor(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
