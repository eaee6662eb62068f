// SPDX-License-Identifier: Apache-2.0
#include "model/families.h"

#include <array>
#include <string>

#include "model/families/gemma3.h"
#include "model/families/llama.h"

namespace plumb {
namespace {

struct Family {
  std::string_view name;
  Result<std::unique_ptr<Model>> (*load)(const ModelSource& source, const ModelConfig& config);
};

constexpr std::array<Family, 4> kFamilies{{
    {"llama", load_llama},
    {"qwen2", load_llama},
    {"qwen3", load_llama},
    {"gemma3", load_gemma3},
}};

const Family* find_family(std::string_view name) {
  for (const Family& family : kFamilies) {
    if (family.name == name) {
      return &family;
    }
  }
  return nullptr;
}

}  // namespace

Status check_family(std::string_view name) {
  if (find_family(name) != nullptr) {
    return {};
  }
  std::string known;
  for (const Family& family : kFamilies) {
    known += (known.empty() ? "" : ", ") + std::string(family.name);
  }
  return {Code::kUnsupported,
          "model family '" + std::string(name) + "' is not supported, expected one of " + known};
}

Result<ModelConfig> read_config(const Checkpoint& checkpoint) {
  return checkpoint.kind() == Checkpoint::Kind::kGguf ? config_from_gguf(checkpoint.metadata())
                                                      : config_from_hf(checkpoint.config());
}

Result<std::unique_ptr<Model>> load_model(const ModelSource& source) {
  PLUMB_ASSIGN(const ModelConfig config, read_config(source.checkpoint));
  const std::int64_t n = source.rank.num_ranks;
  if (config.num_kv_heads % n != 0 || config.intermediate_size % n != 0) {
    return Status{Code::kUnsupported, "model: " + std::to_string(config.num_kv_heads) +
                                          " kv heads and feed-forward size " +
                                          std::to_string(config.intermediate_size) +
                                          " cannot be split over " + std::to_string(n) + " ranks"};
  }
  return find_family(config.family)->load(source, config);
}

}  // namespace plumb
