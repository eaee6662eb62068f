// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "kvcache/block_digest.h"
#include "request/kv_event.h"

namespace plumb {

/// Collects what happens to cached blocks within a step.
/// Thread: engine.
class KvEventRecorder {
 public:
  /// Blocks with those digests and tokens are cached; `parent` is null where they begin a
  /// namespace.
  void stored(const Digest256* parent, std::span<const Digest256> blocks,
              std::span<const TokenId> tokens, KvMedium medium);
  void removed(std::span<const Digest256> blocks, KvMedium medium);
  /// Nothing is cached any more, anywhere.
  void cleared();

  /// The events since the last call.
  std::vector<KvEvent> take() { return std::exchange(events_, {}); }

 private:
  std::vector<KvEvent> events_;
};

}  // namespace plumb
