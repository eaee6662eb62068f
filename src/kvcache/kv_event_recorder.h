// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "kvcache/block_digest.h"
#include "request/kv_event.h"

namespace plumb {

/// Collects what happens to cached blocks.
/// Thread: of what it records.
class KvEventRecorder {
 public:
  /// Blocks have that many tokens.
  explicit KvEventRecorder(std::int64_t block_size) : block_size_(block_size) {}

  /// Blocks with those digests and tokens are cached; `parent` is null where they begin a
  /// namespace.
  void stored(const Digest256* parent, std::span<const Digest256> blocks,
              std::span<const TokenId> tokens, KvMedium medium);
  void removed(std::span<const Digest256> blocks, KvMedium medium);
  /// A tier has a block. Tiers know blocks by name only: what they contain is told of the device.
  void stored(const BlockHash& block, KvMedium medium);
  void removed(const BlockHash& block, KvMedium medium);
  /// Nothing is cached any more, anywhere.
  void cleared();

  /// Goes on with events that were recorded elsewhere.
  void append(std::vector<KvEvent> events);
  /// Takes back the last event if it tells that blocks left the device; else nothing.
  std::vector<KvEvent> take_device_removal();

  /// The events since the last call.
  std::vector<KvEvent> take() { return std::exchange(events_, {}); }

 private:
  KvEvent& last_of(KvEvent::Kind kind, KvMedium medium);

  std::int64_t block_size_;
  std::vector<KvEvent> events_;
};

}  // namespace plumb
