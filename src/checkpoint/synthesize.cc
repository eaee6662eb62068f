// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/synthesize.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "checkpoint/gguf_writer.h"
#include "checkpoint/safetensors_writer.h"
#include "checkpoint/synthesize_config.h"
#include "checkpoint/synthesize_tokenizer.h"
#include "checkpoint/synthesize_weights.h"
#include "checkpoint/tensor_record.h"

namespace plumb {
namespace {

constexpr std::int64_t kChunkElements = std::int64_t{1} << 20;

struct Preset {
  std::string_view name;
  std::string_view architecture;
  std::int64_t hidden, layers, q_heads, kv_heads, head_dim, ffn, vocab, context, window;
  double theta;
  bool tied;
};

// Sizes of published models, and tiny ones of each architecture.
constexpr std::array<Preset, 14> kPresets{{
    {"tiny-llama", "llama", 64, 2, 4, 2, 16, 128, 512, 2048, 0, 1e4, true},
    {"tiny-qwen2", "qwen2", 64, 2, 4, 2, 16, 128, 512, 2048, 0, 1e4, true},
    {"tiny-qwen3", "qwen3", 64, 2, 4, 2, 32, 128, 512, 2048, 0, 1e4, true},
    {"tiny-gemma3", "gemma3", 64, 7, 4, 1, 32, 128, 512, 2048, 64, 1e6, true},
    {"smollm2-135m", "llama", 576, 30, 9, 3, 64, 1536, 49152, 8192, 0, 1e5, true},
    {"llama-3.2-1b", "llama", 2048, 16, 32, 8, 64, 8192, 128256, 131072, 0, 5e5, true},
    {"llama-3.1-8b", "llama", 4096, 32, 32, 8, 128, 14336, 128256, 131072, 0, 5e5, false},
    {"qwen2.5-0.5b", "qwen2", 896, 24, 14, 2, 64, 4864, 151936, 32768, 0, 1e6, true},
    {"qwen2.5-7b", "qwen2", 3584, 28, 28, 4, 128, 18944, 152064, 32768, 0, 1e6, false},
    {"qwen3-0.6b", "qwen3", 1024, 28, 16, 8, 128, 3072, 151936, 40960, 0, 1e6, true},
    {"qwen3-1.7b", "qwen3", 2048, 28, 16, 8, 128, 6144, 151936, 40960, 0, 1e6, true},
    {"qwen3-8b", "qwen3", 4096, 36, 32, 8, 128, 12288, 151936, 40960, 0, 1e6, false},
    {"gemma-3-270m", "gemma3", 640, 18, 4, 1, 256, 2048, 262144, 32768, 512, 1e6, true},
    {"gemma-3-1b", "gemma3", 1152, 26, 4, 1, 256, 6912, 262144, 32768, 512, 1e6, true},
}};

/// Calls back after each chunk.
class Meter {
 public:
  Meter(const SynthesisProgress& progress, std::uint64_t total)
      : progress_(progress), total_(total) {}

  Status add(std::uint64_t num_bytes) {
    done_ += num_bytes;
    return progress_ ? progress_(done_, total_) : Status();
  }

 private:
  const SynthesisProgress& progress_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
};

std::uint64_t weight_bytes(const SynthesisWeight& weight, DType dtype) {
  std::int64_t product = 0;
  multiply_dims(weight.dims, &product);
  return static_cast<std::uint64_t>(row_bytes(dtype, product));
}

template <class Writer>
Status write_weight(const SynthesisWeight& weight, DType dtype, bool for_gguf, SynthesisRows* rows,
                    Writer* writer, Meter* meter) {
  const std::int64_t num_rows = weight.dims.size() == 2 ? weight.dims[0] : 1;
  const std::int64_t step = std::max<std::int64_t>(1, kChunkElements / weight.dims.back());
  for (std::int64_t begin = 0; begin < num_rows; begin += step) {
    const std::vector<std::byte> chunk =
        rows->make(weight, dtype, begin, std::min(step, num_rows - begin), for_gguf);
    PLUMB_RETURN_IF_ERROR(writer->append(chunk));
    PLUMB_RETURN_IF_ERROR(meter->add(chunk.size()));
  }
  return {};
}

void require(bool condition, const std::string& message, std::vector<std::string>* problems) {
  if (!condition) {
    problems->push_back(message);
  }
}

void require_range(const char* what, std::int64_t value, std::int64_t low, std::int64_t high,
                   std::vector<std::string>* problems) {
  require(value >= low && value <= high,
          std::string(what) + " is " + std::to_string(value) + ", allowed is " +
              std::to_string(low) + " to " + std::to_string(high),
          problems);
}

}  // namespace

Status validate(const SynthesisSpec& spec) {
  std::vector<std::string> problems;
  constexpr std::array<std::string_view, 4> kArchitectures{"llama", "qwen2", "qwen3", "gemma3"};
  require(std::find(kArchitectures.begin(), kArchitectures.end(), spec.architecture) !=
              kArchitectures.end(),
          "architecture '" + spec.architecture + "' is not llama, qwen2, qwen3 or gemma3",
          &problems);
  require_range("hidden size", spec.hidden_size, 2, 65536, &problems);
  require_range("number of layers", spec.num_layers, 1, 1024, &problems);
  require_range("number of query heads", spec.num_q_heads, 1, 1024, &problems);
  require_range("number of key-value heads", spec.num_kv_heads, 1, 1024, &problems);
  require_range("head size", spec.head_dim, 2, 1024, &problems);
  require_range("intermediate size", spec.intermediate_size, 1, 1 << 20, &problems);
  require_range("vocabulary size", spec.vocab_size, kMinSynthesisVocab, 1 << 20, &problems);
  require_range("context length", spec.context_len, 1, 1 << 24, &problems);
  require_range("sliding window", spec.sliding_window, spec.architecture == "gemma3" ? 1 : 0,
                1 << 24, &problems);
  require(
      spec.num_kv_heads > 0 && spec.num_q_heads % std::max<std::int64_t>(1, spec.num_kv_heads) == 0,
      "query heads are no multiple of key-value heads", &problems);
  require(spec.head_dim % 2 == 0, "head size is odd", &problems);
  require(spec.rope_theta > 0.0 && spec.rms_norm_eps > 0.0,
          "rope theta and norm epsilon must be above 0", &problems);
  require(is_synthesis_quant(spec.quant),
          "quant '" + spec.quant + "' is neither a weight type nor a mix (Q4_K_M, Q5_K_M, Q3_K_M)",
          &problems);
  return problems.empty() ? Status()
                          : Status{Code::kInvalidArgument, "dummy model: " + join(problems, "; ")};
}

std::optional<SynthesisSpec> synthesis_preset(std::string_view name) {
  const auto it = std::find_if(kPresets.begin(), kPresets.end(),
                               [&](const Preset& p) { return p.name == name; });
  if (it == kPresets.end()) {
    return std::nullopt;
  }
  SynthesisSpec spec;
  spec.architecture = it->architecture;
  spec.name = std::string(it->name) + "-dummy";
  spec.hidden_size = it->hidden;
  spec.num_layers = it->layers;
  spec.num_q_heads = it->q_heads;
  spec.num_kv_heads = it->kv_heads;
  spec.head_dim = it->head_dim;
  spec.intermediate_size = it->ffn;
  spec.vocab_size = it->vocab;
  spec.context_len = it->context;
  spec.sliding_window = it->window;
  spec.rope_theta = it->theta;
  spec.tie_embeddings = it->tied;
  spec.rms_norm_eps = spec.architecture == "llama" ? 1e-5 : 1e-6;
  return spec;
}

std::vector<std::string> synthesis_preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) {
    names.emplace_back(preset.name);
  }
  return names;
}

Status synthesize_gguf(const SynthesisSpec& spec, const std::string& path,
                       const SynthesisProgress& progress) {
  PLUMB_RETURN_IF_ERROR(validate(spec));
  const std::vector<SynthesisWeight> weights = synthesis_weights(spec);
  std::vector<GgufTensorSpec> specs;
  std::uint64_t total = 0;
  for (const SynthesisWeight& weight : weights) {
    specs.push_back({weight.gguf_name, synthesis_dtype(spec, weight), weight.dims});
    total += weight_bytes(weight, specs.back().dtype);
  }
  PLUMB_ASSIGN(GgufWriter writer,
               GgufWriter::create(
                   path, synthesis_metadata(spec, synthesis_tokenizer(spec.vocab_size)), specs));
  SynthesisRows rows(spec.seed);
  Meter meter(progress, total);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    PLUMB_RETURN_IF_ERROR(
        write_weight(weights[i], specs[i].dtype, /*for_gguf=*/true, &rows, &writer, &meter));
  }
  return writer.finish();
}

namespace {

/// Weights of one safetensors file.
struct Shard {
  std::vector<SynthesisWeight> weights;
  std::uint64_t num_bytes = 0;
};

std::vector<Shard> divide(std::vector<SynthesisWeight> weights, DType dtype,
                          std::uint64_t max_shard_bytes) {
  std::sort(weights.begin(), weights.end(), [](const SynthesisWeight& a, const SynthesisWeight& b) {
    return a.hf_name < b.hf_name;
  });
  std::vector<Shard> shards(1);
  for (SynthesisWeight& weight : weights) {
    const std::uint64_t size = weight_bytes(weight, dtype);
    if (!shards.back().weights.empty() &&
        size > max_shard_bytes - std::min(max_shard_bytes, shards.back().num_bytes)) {
      shards.emplace_back();
    }
    shards.back().num_bytes += size;
    shards.back().weights.push_back(std::move(weight));
  }
  return shards;
}

std::string shard_name(std::size_t index, std::size_t count) {
  if (count == 1) {
    return "model.safetensors";
  }
  char text[64];
  std::snprintf(text, sizeof text, "model-%05zu-of-%05zu.safetensors", index + 1, count);
  return text;
}

Status write_shard(const Shard& shard, DType dtype, const std::string& path, SynthesisRows* rows,
                   Meter* meter) {
  std::vector<SafetensorsSpec> specs;
  for (const SynthesisWeight& weight : shard.weights) {
    specs.push_back({weight.hf_name, dtype, weight.dims});
  }
  PLUMB_ASSIGN(SafetensorsWriter writer,
               SafetensorsWriter::create(path, specs, {{"format", "pt"}}));
  for (const SynthesisWeight& weight : shard.weights) {
    PLUMB_RETURN_IF_ERROR(write_weight(weight, dtype, /*for_gguf=*/false, rows, &writer, meter));
  }
  return writer.finish();
}

Status write_descriptions(const SynthesisSpec& spec, const std::string& folder) {
  const SynthesisTokenizer tokenizer = synthesis_tokenizer(spec.vocab_size);
  const std::array<std::pair<const char*, Json>, 4> files{
      {{"config.json", synthesis_config_json(spec)},
       {"generation_config.json", synthesis_generation_config_json()},
       {"tokenizer.json", tokenizer_json(tokenizer)},
       {"tokenizer_config.json", tokenizer_config_json(tokenizer, spec.context_len)}}};
  for (const auto& [name, json] : files) {
    PLUMB_RETURN_IF_ERROR(write_file_atomic(folder + "/" + name, to_pretty_text(json) + "\n"));
  }
  return {};
}

Status write_index(const std::vector<Shard>& shards, std::uint64_t total,
                   const std::string& folder) {
  JsonObject weight_map;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    for (const SynthesisWeight& weight : shards[i].weights) {
      weight_map.append(weight.hf_name, shard_name(i, shards.size()));
    }
  }
  const Json index = JsonObject{{"metadata", JsonObject{{"total_size", Json(total)}}},
                                {"weight_map", Json(std::move(weight_map))}};
  return write_file_atomic(folder + "/model.safetensors.index.json", to_pretty_text(index) + "\n");
}

}  // namespace

Status synthesize_folder(const SynthesisSpec& spec, const std::string& folder,
                         std::uint64_t max_shard_bytes, const SynthesisProgress& progress) {
  PLUMB_RETURN_IF_ERROR(validate(spec));
  const std::optional<DType> named = dtype_from_text(spec.quant);
  if (!named || traits(*named).block_elems > 1) {
    return {Code::kInvalidArgument,
            "dummy model: a Hugging Face folder holds F32, F16 or BF16, not " + spec.quant};
  }
  const DType dtype = *named;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return {Code::kInvalidArgument, folder + ": cannot create the folder: " + error.message()};
  }
  const std::vector<Shard> shards = divide(synthesis_weights(spec), dtype, max_shard_bytes);
  std::uint64_t total = 0;
  for (const Shard& shard : shards) {
    total += shard.num_bytes;
  }
  SynthesisRows rows(spec.seed);
  Meter meter(progress, total);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    PLUMB_RETURN_IF_ERROR(
        write_shard(shards[i], dtype, folder + "/" + shard_name(i, shards.size()), &rows, &meter));
  }
  if (shards.size() > 1) {
    PLUMB_RETURN_IF_ERROR(write_index(shards, total, folder));
  }
  return write_descriptions(spec, folder);
}

}  // namespace plumb
