// SPDX-License-Identifier: Apache-2.0
#include "grammar/grammar_cache.h"

#include <utility>

namespace plumb {

std::shared_ptr<const CompiledGrammar> GrammarCache::find(const GrammarSpec& spec) {
  const Digest256 key = digest_of(spec);
  const MutexLock lock(mutex_);
  const auto it = by_key_.find(key);
  if (it == by_key_.end()) {
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, it->second);
  return it->second->grammar;
}

void GrammarCache::insert(const GrammarSpec& spec, std::shared_ptr<const CompiledGrammar> grammar) {
  const Digest256 key = digest_of(spec);
  const std::int64_t num_bytes = grammar->num_bytes();
  std::list<Entry> dropped;  // freed after the lock
  const MutexLock lock(mutex_);
  if (num_bytes > max_bytes_ || by_key_.contains(key)) {
    return;
  }
  entries_.push_front({key, std::move(grammar), num_bytes});
  by_key_.emplace(key, entries_.begin());
  num_bytes_ += num_bytes;
  while (num_bytes_ > max_bytes_) {
    num_bytes_ -= entries_.back().num_bytes;
    by_key_.erase(entries_.back().key);
    dropped.splice(dropped.end(), entries_, std::prev(entries_.end()));
  }
}

std::int64_t GrammarCache::num_bytes() const {
  const MutexLock lock(mutex_);
  return num_bytes_;
}

std::int64_t GrammarCache::num_grammars() const {
  const MutexLock lock(mutex_);
  return static_cast<std::int64_t>(entries_.size());
}

}  // namespace plumb
