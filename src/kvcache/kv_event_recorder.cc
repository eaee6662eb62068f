// SPDX-License-Identifier: Apache-2.0
#include "kvcache/kv_event_recorder.h"

namespace plumb {
namespace {

void append_hashes(std::span<const Digest256> digests, std::vector<BlockHash>* out) {
  for (const Digest256& digest : digests) {
    out->push_back(block_hash(digest));
  }
}

}  // namespace

void KvEventRecorder::stored(const Digest256* parent, std::span<const Digest256> blocks,
                             std::span<const TokenId> tokens, KvMedium medium) {
  KvEvent event;
  event.kind = KvEvent::Kind::kStored;
  event.medium = medium;
  append_hashes(blocks, &event.blocks);
  if (parent != nullptr) {
    event.parent = block_hash(*parent);
  }
  event.tokens.assign(tokens.begin(), tokens.end());
  event.block_size = std::ssize(tokens) / std::ssize(blocks);
  events_.push_back(std::move(event));
}

// Blocks leave one by one: those that leave one after the other make one event.
void KvEventRecorder::removed(std::span<const Digest256> blocks, KvMedium medium) {
  const bool goes_on = !events_.empty() && events_.back().kind == KvEvent::Kind::kRemoved &&
                       events_.back().medium == medium;
  if (!goes_on) {
    KvEvent event;
    event.kind = KvEvent::Kind::kRemoved;
    event.medium = medium;
    events_.push_back(std::move(event));
  }
  append_hashes(blocks, &events_.back().blocks);
}

void KvEventRecorder::cleared() {
  KvEvent event;
  event.kind = KvEvent::Kind::kCleared;
  events_.push_back(std::move(event));
}

}  // namespace plumb
