// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/synthesize_weights.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/rng.h"
#include "checkpoint/tensor_record.h"
#include "tensor/format.h"

namespace plumb {
namespace {

// Block-quantised tensors above this size draw from a sample instead of quantising every element.
constexpr std::int64_t kDrawAbove = std::int64_t{1} << 17;
constexpr std::int64_t kSampleElements = std::int64_t{1} << 17;
constexpr double kEmbeddingDeviation = 0.02;
constexpr double kLogitDeviation = 3.0;
// Of queries, keys and attention outputs: attention that looks at few positions, and whose result
// counts, keeps greedy output from settling on one token.
constexpr double kAttentionGain = 1.7;

std::uint64_t hash_name(std::string_view name) {  // FNV-1a
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  }
  return hash;
}

std::array<std::uint32_t, 4> random_words(std::uint64_t seed, std::uint64_t stream,
                                          std::uint64_t index, std::uint64_t block) {
  return philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(index),
                 static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)},
                {static_cast<std::uint32_t>(seed),
                 static_cast<std::uint32_t>(seed >> 32) ^ static_cast<std::uint32_t>(index >> 32)});
}

// Mean 0, deviation 1: the sum of four uniform bytes.
float near_normal(std::uint32_t word) {
  const std::uint32_t sum =
      (word & 255U) + ((word >> 8) & 255U) + ((word >> 16) & 255U) + (word >> 24);
  constexpr float kScale = 1.0F / 147.80167F;  // sqrt(4 (256^2 - 1) / 12)
  return (static_cast<float>(sum) - 510.0F) * kScale;
}

void fill_row(std::uint64_t seed, std::uint64_t stream, std::uint64_t row, std::int64_t n,
              double mean, double deviation, float* out) {
  for (std::int64_t i = 0; i < n; i += 4) {
    const auto words = random_words(seed, stream, row, static_cast<std::uint64_t>(i / 4));
    for (std::int64_t j = i; j < std::min(i + 4, n); ++j) {
      out[j] = static_cast<float>(mean) +
               static_cast<float>(deviation) * near_normal(words[static_cast<std::size_t>(j - i)]);
    }
  }
}

/// Collects the weights of one model.
class WeightList {
 public:
  explicit WeightList(const SynthesisSpec& spec) : spec_(spec) {}

  std::vector<SynthesisWeight> all();

 private:
  SynthesisWeight& matrix(const std::string& gguf, const std::string& hf, std::int64_t rows,
                          std::int64_t cols, double gain = 1.0) {
    weights_.push_back({gguf + ".weight", hf + ".weight", {rows, cols}});
    weights_.back().deviation = gain / std::sqrt(static_cast<double>(cols));
    return weights_.back();
  }

  // Gemma as published by Hugging Face stores norm weights less one.
  void norm(const std::string& gguf, const std::string& hf, std::int64_t n, double mean = 1.0) {
    const double offset = spec_.architecture == "gemma3" ? 1.0 : 0.0;
    weights_.push_back({gguf + ".weight", hf + ".weight", {n}, mean - offset, 0.05 * mean, offset});
  }

  void bias(const std::string& gguf, const std::string& hf, std::int64_t n) {
    weights_.push_back({gguf + ".bias", hf + ".bias", {n}, 0.0, 0.1});
  }

  void attention(const std::string& gguf, const std::string& hf);
  void mlp(const std::string& gguf, const std::string& hf);
  void layer(std::int64_t index);

  const SynthesisSpec& spec_;
  std::vector<SynthesisWeight> weights_;
};

void WeightList::attention(const std::string& gguf, const std::string& hf) {
  const std::string& arch = spec_.architecture;
  const std::int64_t q = spec_.num_q_heads * spec_.head_dim;
  const std::int64_t kv = spec_.num_kv_heads * spec_.head_dim;
  const std::int64_t interleave = arch == "llama" ? spec_.head_dim : 0;
  matrix(gguf + "attn_q", hf + "self_attn.q_proj", q, spec_.hidden_size, kAttentionGain)
      .interleave_dim = interleave;
  matrix(gguf + "attn_k", hf + "self_attn.k_proj", kv, spec_.hidden_size, kAttentionGain)
      .interleave_dim = interleave;
  matrix(gguf + "attn_v", hf + "self_attn.v_proj", kv, spec_.hidden_size).needs_more_bits = true;
  if (arch == "qwen2") {
    bias(gguf + "attn_q", hf + "self_attn.q_proj", q);
    bias(gguf + "attn_k", hf + "self_attn.k_proj", kv);
    bias(gguf + "attn_v", hf + "self_attn.v_proj", kv);
  }
  if (arch == "qwen3" || arch == "gemma3") {
    norm(gguf + "attn_q_norm", hf + "self_attn.q_norm", spec_.head_dim, kAttentionGain);
    norm(gguf + "attn_k_norm", hf + "self_attn.k_norm", spec_.head_dim, kAttentionGain);
  }
  matrix(gguf + "attn_output", hf + "self_attn.o_proj", spec_.hidden_size, q, kAttentionGain);
}

void WeightList::mlp(const std::string& gguf, const std::string& hf) {
  matrix(gguf + "ffn_gate", hf + "mlp.gate_proj", spec_.intermediate_size, spec_.hidden_size);
  matrix(gguf + "ffn_up", hf + "mlp.up_proj", spec_.intermediate_size, spec_.hidden_size);
  matrix(gguf + "ffn_down", hf + "mlp.down_proj", spec_.hidden_size, spec_.intermediate_size)
      .needs_more_bits = true;
}

void WeightList::layer(std::int64_t index) {
  const std::string gguf = "blk." + std::to_string(index) + ".";
  const std::string hf = "model.layers." + std::to_string(index) + ".";
  const std::size_t first = weights_.size();
  norm(gguf + "attn_norm", hf + "input_layernorm", spec_.hidden_size);
  attention(gguf, hf);
  if (spec_.architecture == "gemma3") {
    norm(gguf + "post_attention_norm", hf + "post_attention_layernorm", spec_.hidden_size);
    norm(gguf + "ffn_norm", hf + "pre_feedforward_layernorm", spec_.hidden_size);
    norm(gguf + "post_ffw_norm", hf + "post_feedforward_layernorm", spec_.hidden_size);
  } else {
    norm(gguf + "ffn_norm", hf + "post_attention_layernorm", spec_.hidden_size);
  }
  mlp(gguf, hf);
  for (std::size_t i = first; i < weights_.size(); ++i) {
    weights_[i].layer = index;
  }
}

std::vector<SynthesisWeight> WeightList::all() {
  // Embeddings are small beside what the blocks add, so that a tied output does not repeat its
  // input; the last norm brings the logits back to a useful range.
  matrix("token_embd", "model.embed_tokens", spec_.vocab_size, spec_.hidden_size).deviation =
      kEmbeddingDeviation;
  for (std::int64_t i = 0; i < spec_.num_layers; ++i) {
    layer(i);
  }
  norm("output_norm", "model.norm", spec_.hidden_size,
       kLogitDeviation / (kEmbeddingDeviation * std::sqrt(static_cast<double>(spec_.hidden_size))));
  if (!spec_.tie_embeddings) {
    matrix("output", "lm_head", spec_.vocab_size, spec_.hidden_size).deviation =
        kEmbeddingDeviation;
  }
  return std::move(weights_);
}

/// A mix: the type of most matrices, and that of those that need more bits.
struct Mix {
  std::string_view name;
  DType base;
  DType more;
  std::uint32_t file_type;
};

constexpr std::array<Mix, 18> kMixes{{
    {"F32", DType::kF32, DType::kF32, 0},
    {"F16", DType::kF16, DType::kF16, 1},
    {"BF16", DType::kBF16, DType::kBF16, 32},
    {"Q4_0", DType::kQ4_0, DType::kQ4_0, 2},
    {"Q4_1", DType::kQ4_1, DType::kQ4_1, 3},
    {"Q5_0", DType::kQ5_0, DType::kQ5_0, 8},
    {"Q5_1", DType::kQ5_1, DType::kQ5_1, 9},
    {"Q8_0", DType::kQ8_0, DType::kQ8_0, 7},
    {"Q2_K", DType::kQ2_K, DType::kQ3_K, 10},
    {"Q3_K", DType::kQ3_K, DType::kQ3_K, 11},
    {"Q3_K_M", DType::kQ3_K, DType::kQ5_K, 12},
    {"Q4_K", DType::kQ4_K, DType::kQ4_K, 14},
    {"Q4_K_M", DType::kQ4_K, DType::kQ6_K, 15},
    {"Q5_K", DType::kQ5_K, DType::kQ5_K, 16},
    {"Q5_K_M", DType::kQ5_K, DType::kQ6_K, 17},
    {"Q6_K", DType::kQ6_K, DType::kQ6_K, 18},
    {"IQ4_NL", DType::kIQ4_NL, DType::kIQ4_NL, 25},
    {"IQ4_XS", DType::kIQ4_XS, DType::kQ5_K, 30},
}};
constexpr Mix kMxfp4{"MXFP4", DType::kMXFP4, DType::kMXFP4, 38};

const Mix* find_mix(const std::string& name) {
  const auto it =
      std::find_if(kMixes.begin(), kMixes.end(), [&](const Mix& m) { return m.name == name; });
  return it != kMixes.end() ? &*it : name == kMxfp4.name ? &kMxfp4 : nullptr;
}

// The next larger type for rows that are no multiple of the block.
DType fitting(DType dtype, std::int64_t cols) {
  if (cols % traits(dtype).block_elems == 0) {
    return dtype;
  }
  if (cols % 32 != 0) {
    return DType::kF16;
  }
  switch (dtype) {
    case DType::kQ2_K:
    case DType::kQ3_K:
    case DType::kIQ4_XS:
      return DType::kIQ4_NL;
    case DType::kQ4_K:
      return DType::kQ5_0;
    case DType::kQ5_K:
      return DType::kQ5_1;
    default:
      return DType::kQ8_0;
  }
}

}  // namespace

std::vector<SynthesisWeight> synthesis_weights(const SynthesisSpec& spec) {
  return WeightList(spec).all();
}

bool is_synthesis_quant(const std::string& quant) {
  return find_mix(quant) != nullptr;
}

std::uint32_t synthesis_file_type(const std::string& quant) {
  return find_mix(quant)->file_type;
}

DType synthesis_dtype(const SynthesisSpec& spec, const SynthesisWeight& weight) {
  if (weight.dims.size() == 1) {
    return DType::kF32;
  }
  const Mix& mix = *find_mix(spec.quant);
  if (weight.layer < 0) {  // embedding and output
    const bool mixed = mix.base != mix.more;
    return fitting(mixed ? DType::kQ6_K : mix.base, weight.dims[1]);
  }
  // The first and last eighth and every third layer in between.
  const std::int64_t eighth = spec.num_layers / 8;
  const bool chosen = weight.layer < eighth || weight.layer >= 7 * spec.num_layers / 8 ||
                      (weight.layer - eighth) % 3 == 2;
  return fitting(weight.needs_more_bits && chosen ? mix.more : mix.base, weight.dims[1]);
}

const std::vector<std::byte>& SynthesisRows::sample(DType dtype, double deviation) {
  std::vector<std::byte>& packed = samples_[{dtype, deviation}];
  if (packed.empty()) {
    std::vector<float> values(static_cast<std::size_t>(kSampleElements));
    fill_row(seed_, hash_name(to_text(dtype)), 0, kSampleElements, 0.0, deviation, values.data());
    packed.resize(static_cast<std::size_t>(row_bytes(dtype, kSampleElements)));
    quantize(dtype, values.data(), kSampleElements, packed.data());
  }
  return packed;
}

std::vector<std::byte> SynthesisRows::draw_blocks(const SynthesisWeight& weight, DType dtype,
                                                  std::int64_t begin, std::int64_t count) {
  const std::vector<std::byte>& from = sample(dtype, weight.deviation);
  const DTypeTraits& t = traits(dtype);
  const std::uint64_t num_samples = static_cast<std::uint64_t>(kSampleElements / t.block_elems);
  const std::uint64_t stream = hash_name(weight.hf_name);
  const std::int64_t blocks = weight.dims[1] / t.block_elems;
  std::vector<std::byte> out(static_cast<std::size_t>(count * blocks * t.block_bytes));
  std::byte* to = out.data();
  for (std::int64_t row = begin; row < begin + count; ++row) {
    std::array<std::uint32_t, 4> words{};
    for (std::int64_t b = 0; b < blocks; ++b) {
      if (b % 4 == 0) {
        words = random_words(seed_, stream, static_cast<std::uint64_t>(row),
                             static_cast<std::uint64_t>(b / 4));
      }
      const std::uint64_t chosen = (words[static_cast<std::size_t>(b % 4)] * num_samples) >> 32;
      std::copy_n(from.data() + chosen * static_cast<std::uint64_t>(t.block_bytes), t.block_bytes,
                  to);
      to += t.block_bytes;
    }
  }
  return out;
}

std::vector<std::byte> SynthesisRows::make(const SynthesisWeight& weight, DType dtype,
                                           std::int64_t begin, std::int64_t count, bool for_gguf) {
  const bool is_matrix = weight.dims.size() == 2;
  if (is_matrix && traits(dtype).block_elems > 1 && weight.dims[0] * weight.dims[1] > kDrawAbove) {
    return draw_blocks(weight, dtype, begin, count);
  }
  const std::int64_t cols = is_matrix ? weight.dims[1] : weight.dims[0];
  const std::int64_t rows = is_matrix ? count : 1;
  const std::int64_t half = weight.interleave_dim / 2;
  const double mean = weight.mean + (for_gguf ? weight.gguf_offset : 0.0);
  std::vector<float> values(static_cast<std::size_t>(rows * cols));
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int64_t row = is_matrix ? begin + i : 0;
    if (for_gguf && half > 0) {  // row 2j + p of a head is row p D/2 + j of the published order
      const std::int64_t inside = row % weight.interleave_dim;
      row += inside % 2 * half + inside / 2 - inside;
    }
    fill_row(seed_, hash_name(weight.hf_name), static_cast<std::uint64_t>(row), cols, mean,
             weight.deviation, values.data() + i * cols);
  }
  std::vector<std::byte> out(static_cast<std::size_t>(rows * row_bytes(dtype, cols)));
  quantize(dtype, values.data(), rows * cols, out.data());
  return out;
}

}  // namespace plumb
