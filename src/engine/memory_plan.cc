// SPDX-License-Identifier: Apache-2.0
#include "engine/memory_plan.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "kvcache/block_pool.h"

namespace plumb {
namespace {

std::string bytes(std::int64_t count) {
  return bytes_to_text(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0)));
}

std::string row(std::string name, const std::string& value, const std::string& remark) {
  name.resize(std::max<std::size_t>(name.size(), 12), ' ');
  std::string padded = value;
  padded.insert(0, padded.size() < 12 ? 12 - padded.size() : 0, ' ');
  return name + padded + (remark.empty() ? "" : "  " + remark) + "\n";
}

// Cached tokens for each token of the window pool beyond what running sequences need.
constexpr std::int64_t kCachedShare = 4;

// Divides the bytes over both pools.
void size_pools(const MemoryNeeds& needs, std::int64_t kv_bytes, MemoryPlan* plan) {
  const auto clamped = [](std::int64_t count) {
    return std::clamp<std::int64_t>(count, 0, std::numeric_limits<std::int32_t>::max());
  };
  const std::int64_t useful = clamped(num_blocks_for(needs.max_useful_tokens, needs.block_size));
  const std::int64_t both = needs.block_bytes + needs.window_block_bytes;
  plan->num_blocks = clamped(kv_bytes / both);
  if (needs.window == 0) {
    return;
  }
  const std::int64_t context = needs.max_useful_tokens / std::max<std::int64_t>(needs.num_seqs, 1);
  const std::int64_t running =
      needs.num_seqs * most_window_blocks(context, needs.window, needs.block_size) +
      num_blocks_for(needs.step_tokens, needs.block_size);
  const std::int64_t left = kv_bytes - running * needs.window_block_bytes;
  const std::int64_t each = needs.block_bytes + needs.window_block_bytes / kCachedShare;
  plan->num_blocks = needs.block_bytes == 0  // then they are numbers only
                         ? useful
                         : std::max(plan->num_blocks, clamped(std::min(left / each, useful)));
  plan->num_window_blocks = std::min(
      plan->num_blocks,
      clamped((kv_bytes - plan->num_blocks * needs.block_bytes) / needs.window_block_bytes));
}

}  // namespace

std::int64_t MemoryPlan::kv_tokens() const {
  const std::int64_t tokens = num_blocks * block_size;
  const bool has_all = num_window_blocks >= most_window_blocks(tokens, window, block_size);
  return has_all ? tokens : num_window_blocks * block_size;
}

Result<MemoryPlan> plan_memory(const MemoryNeeds& needs) {
  std::int64_t kv_bytes = needs.kv_cache_bytes;
  const std::int64_t used = needs.mapped_weight_bytes + needs.workspace_bytes;
  if (kv_bytes > 0 && needs.free_bytes && kv_bytes > *needs.free_bytes - used) {
    return Status{Code::kResourceExhausted,
                  "--kv-cache-bytes: " + bytes(kv_bytes) + ", but of the free memory of " +
                      bytes(*needs.free_bytes) + " the weights and one step leave " +
                      bytes(*needs.free_bytes - used)};
  }
  if (kv_bytes == 0) {
    if (!needs.free_bytes) {
      return Status{Code::kInvalidArgument,
                    "free memory of the device is unknown: set --kv-cache-bytes"};
    }
    const std::int64_t useful = num_blocks_for(needs.max_useful_tokens, needs.block_size) *
                                (needs.block_bytes + needs.window_block_bytes);
    kv_bytes = std::min(useful, *needs.free_bytes - used - needs.reserve_bytes);
  }
  MemoryPlan plan;
  plan.weight_bytes = needs.weight_bytes;
  plan.workspace_bytes = needs.workspace_bytes;
  size_pools(needs, kv_bytes, &plan);
  plan.kv_bytes =
      plan.num_blocks * needs.block_bytes + plan.num_window_blocks * needs.window_block_bytes;
  plan.block_size = needs.block_size;
  plan.block_bytes = needs.block_bytes;
  plan.window = needs.window;
  plan.window_block_bytes = needs.window_block_bytes;
  plan.free_bytes = needs.free_bytes;
  if (plan.kv_tokens() < needs.min_context) {
    return Status{Code::kResourceExhausted,
                  "the KV cache of " + bytes(kv_bytes) + " holds " +
                      std::to_string(plan.kv_tokens()) + " tokens, fewer than --min-context " +
                      std::to_string(needs.min_context) + " (" +
                      bytes(needs.block_bytes + needs.window_block_bytes) + " for " +
                      std::to_string(needs.block_size) + " tokens): " +
                      (needs.kv_cache_bytes > 0
                           ? "raise --kv-cache-bytes, or lower --min-context"
                           : "free memory, or lower --memory-reserve-bytes, --chunk-tokens, "
                             "--max-num-seqs or --min-context; --kv-cache-bytes sets the size")};
  }
  return plan;
}

std::string to_text(const MemoryPlan& plan) {
  std::string text = row("weights", bytes(plan.weight_bytes), "");
  text += row("workspace", bytes(plan.workspace_bytes), "activations and logits of one step");
  text += row("kv cache", bytes(plan.kv_bytes),
              std::to_string(plan.kv_tokens()) + " tokens in " + std::to_string(plan.num_blocks) +
                  " blocks of " + std::to_string(plan.block_size));
  if (plan.window > 0) {
    text += row("  windows", bytes(plan.num_window_blocks * plan.window_block_bytes),
                std::to_string(plan.num_window_blocks) + " blocks for the last " +
                    std::to_string(plan.window) + " tokens of each sequence");
  }
  text += row("total", bytes(plan.weight_bytes + plan.workspace_bytes + plan.kv_bytes), "");
  if (plan.free_bytes) {
    text += row("free before", bytes(*plan.free_bytes), "");
  }
  return text;
}

Json to_json(const MemoryPlan& plan) {
  JsonObject object{{"weight_bytes", plan.weight_bytes}, {"workspace_bytes", plan.workspace_bytes},
                    {"kv_bytes", plan.kv_bytes},         {"kv_tokens", plan.kv_tokens()},
                    {"num_blocks", plan.num_blocks},     {"block_size", plan.block_size},
                    {"block_bytes", plan.block_bytes}};
  if (plan.window > 0) {
    object.set("window", plan.window);
    object.set("num_window_blocks", plan.num_window_blocks);
    object.set("window_block_bytes", plan.window_block_bytes);
  }
  object.set("free_bytes", plan.free_bytes ? Json(*plan.free_bytes) : Json());
  return object;
}

}  // namespace plumb
