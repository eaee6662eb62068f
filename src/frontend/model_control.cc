// SPDX-License-Identifier: Apache-2.0
#include "frontend/model_control.h"

namespace plumb {

std::vector<std::string> MemoryTags::names() const {
  std::vector<std::string> out;
  if (kv_cache) {
    out.emplace_back("kv_cache");
  }
  if (weights) {
    out.emplace_back("weights");
  }
  if (cuda_graph) {
    out.emplace_back("cuda_graph");
  }
  return out;
}

MemoryTags common_tags(const MemoryTags& tags, const MemoryTags& others) {
  return {tags.kv_cache && others.kv_cache, tags.weights && others.weights,
          tags.cuda_graph && others.cuda_graph};
}

MemoryTags without_tags(const MemoryTags& tags, const MemoryTags& others) {
  return {tags.kv_cache && !others.kv_cache, tags.weights && !others.weights,
          tags.cuda_graph && !others.cuda_graph};
}

MemoryTags joined_tags(const MemoryTags& tags, const MemoryTags& others) {
  return {tags.kv_cache || others.kv_cache, tags.weights || others.weights,
          tags.cuda_graph || others.cuda_graph};
}

}  // namespace plumb
