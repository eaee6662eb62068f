// SPDX-License-Identifier: Apache-2.0
#include "frontend/grammar_cache.h"

#include <utility>

namespace plumb {

std::shared_ptr<const CompiledGrammar> GrammarCache::find(const Digest256& key) {
  const MutexLock lock(mutex_);
  const auto place = places_.find(key);
  if (place == places_.end()) {
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, place->second);
  return entries_.front().grammar;
}

void GrammarCache::put(const Digest256& key, std::shared_ptr<const CompiledGrammar> grammar,
                       std::int64_t num_bytes) {
  const MutexLock lock(mutex_);
  if (num_bytes > max_bytes_ || places_.find(key) != places_.end()) {
    return;
  }
  entries_.push_front({key, std::move(grammar), num_bytes});
  places_.emplace(key, entries_.begin());
  num_bytes_ += num_bytes;
  while (num_bytes_ > max_bytes_) {
    num_bytes_ -= entries_.back().num_bytes;
    places_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

std::int64_t GrammarCache::num_bytes() const {
  const MutexLock lock(mutex_);
  return num_bytes_;
}

std::int64_t GrammarCache::size() const {
  const MutexLock lock(mutex_);
  return static_cast<std::int64_t>(entries_.size());
}

}  // namespace plumb
