// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace plumb {

/// What a generated checkpoint looks like. The defaults give a tiny model.
struct SynthesisSpec {
  std::string architecture = "llama";  ///< llama, qwen2, qwen3, gemma3
  std::string name = "dummy";
  std::int64_t hidden_size = 64;
  std::int64_t num_layers = 2;
  std::int64_t num_q_heads = 4;
  std::int64_t num_kv_heads = 2;
  std::int64_t head_dim = 16;
  std::int64_t intermediate_size = 128;
  std::int64_t vocab_size = 512;  ///< at least kMinSynthesisVocab
  std::int64_t context_len = 2048;
  std::int64_t sliding_window = 0;  ///< gemma3 only
  double rope_theta = 10000.0;
  double rms_norm_eps = 1e-5;
  bool tie_embeddings = true;
  /// A type ("F32", "BF16", "Q8_0", …) or a mix ("Q4_K_M", "Q5_K_M", "Q3_K_M"). A row length that a
  /// type cannot divide takes the next larger type that can.
  std::string quant = "F32";
  std::uint64_t seed = 1;
  /// The head follows a script instead of the logits: the answer is the text of the request
  /// (kEchoMetadata). GGUF only.
  bool echoes = false;
};

/// The metadata key, a boolean, of a checkpoint whose answers repeat what was asked.
inline constexpr std::string_view kEchoMetadata = "plumb.echo";

/// Four control tokens and 256 bytes.
inline constexpr std::int64_t kMinSynthesisVocab = 260;

/// Every problem of a spec in one message. Errors kInvalidArgument.
Status validate(const SynthesisSpec& spec);

/// Named sizes: "tiny-llama", "smollm2-135m", "qwen3-0.6b", …; nullopt if unknown.
std::optional<SynthesisSpec> synthesis_preset(std::string_view name);
std::vector<std::string> synthesis_preset_names();

/// Hears of the bytes of tensor data written so far, and in all; an error ends the writing with it.
using SynthesisProgress = std::function<Status(std::uint64_t done, std::uint64_t total)>;

/// Writes a GGUF file with random weights, a byte-level BPE tokenizer and a ChatML template.
///
/// The same spec gives the same bytes on every machine. A GGUF file and a folder of the same spec
/// in F32 describe the same function. Weights are near normal, scaled so that activations stay
/// near 1 and greedy output does not repeat one token. Large block-quantised tensors draw their
/// blocks from a quantised sample, so that writing runs at the speed of the disk.
/// Errors    as validate; as OutputFile.
/// Cost      memory for a few million elements, whatever the size of the model.
Status synthesize_gguf(const SynthesisSpec& spec, const std::string& path,
                       const SynthesisProgress& progress = {});

/// Writes a folder in Hugging Face layout: config.json, generation_config.json, tokenizer.json,
/// tokenizer_config.json and model.safetensors, or shards of at most `max_shard_bytes` and their
/// index. Requires spec.quant is F32, F16 or BF16 (else kInvalidArgument).
Status synthesize_folder(const SynthesisSpec& spec, const std::string& folder,
                         std::uint64_t max_shard_bytes = ~std::uint64_t{0},
                         const SynthesisProgress& progress = {});

}  // namespace plumb
