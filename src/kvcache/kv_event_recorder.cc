// SPDX-License-Identifier: Apache-2.0
#include "kvcache/kv_event_recorder.h"

#include <algorithm>
#include <iterator>

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
  event.block_size = block_size_;
  events_.push_back(std::move(event));
}

// Blocks that come or leave one after the other make one event.
KvEvent& KvEventRecorder::last_of(KvEvent::Kind kind, KvMedium medium) {
  const bool goes_on =
      !events_.empty() && events_.back().kind == kind && events_.back().medium == medium;
  if (!goes_on) {
    KvEvent event;
    event.kind = kind;
    event.medium = medium;
    events_.push_back(std::move(event));
  }
  return events_.back();
}

void KvEventRecorder::removed(std::span<const Digest256> blocks, KvMedium medium) {
  append_hashes(blocks, &last_of(KvEvent::Kind::kRemoved, medium).blocks);
}

void KvEventRecorder::stored(const BlockHash& block, KvMedium medium) {
  KvEvent& event = last_of(KvEvent::Kind::kStored, medium);
  event.block_size = block_size_;
  event.blocks.push_back(block);
}

void KvEventRecorder::removed(const BlockHash& block, KvMedium medium) {
  last_of(KvEvent::Kind::kRemoved, medium).blocks.push_back(block);
}

void KvEventRecorder::append(std::vector<KvEvent> events) {
  std::move(events.begin(), events.end(), std::back_inserter(events_));
}

std::vector<KvEvent> KvEventRecorder::take_device_removal() {
  std::vector<KvEvent> taken;
  if (!events_.empty() && events_.back().kind == KvEvent::Kind::kRemoved &&
      events_.back().medium == KvMedium::kGpu) {
    taken.push_back(std::move(events_.back()));
    events_.pop_back();
  }
  return taken;
}

void KvEventRecorder::cleared() {
  KvEvent event;
  event.kind = KvEvent::Kind::kCleared;
  events_.push_back(std::move(event));
}

}  // namespace plumb
