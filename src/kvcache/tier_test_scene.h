// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kvcache/block_digest.h"
#include "kvcache/kv_tier.h"

namespace plumb {

inline constexpr std::int64_t kTestBlockBytes = 24;
inline constexpr TierOwner kLight{1};
inline constexpr TierOwner kHeavy{2};

inline BlockHash test_hash(int name) {
  const TokenId token = name;
  return block_hash(chained_digest("test", std::span(&token, 1)));
}

/// Bytes that only this block has.
inline std::vector<std::byte> test_payload(int name) {
  std::vector<std::byte> bytes;
  for (std::int64_t i = 0; i < kTestBlockBytes; ++i) {
    bytes.push_back(static_cast<std::byte>(std::int64_t{name} * 31 + i * 7 + name / 8));
  }
  return bytes;
}

/// Blocks by their names, with the memory behind them.
struct TestBlocks {
  explicit TestBlocks(const std::vector<int>& names) {
    for (const int name : names) {
      payloads.push_back(test_payload(name));
      chain.push_back(test_hash(name));
    }
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      to_put.push_back({chain[i], payloads[i]});
    }
  }

  std::vector<std::vector<std::byte>> payloads;
  std::vector<BlockHash> chain;
  std::vector<TierBlock> to_put;
};

/// Room for so many blocks.
struct TestBuffers {
  explicit TestBuffers(std::size_t count)
      : bytes(count, std::vector<std::byte>(static_cast<std::size_t>(kTestBlockBytes))) {
    spans.assign(bytes.begin(), bytes.end());
  }

  std::vector<std::vector<std::byte>> bytes;
  std::vector<std::span<std::byte>> spans;
};

}  // namespace plumb
