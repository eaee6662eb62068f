// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"

namespace plumb {

/// A map bounded in bytes whose values are shared and immutable. It keeps two generations: when the
/// young one holds half of the bytes, the old one goes and the young one takes its place; a hit in
/// the old one makes the entry young again. So an entry that is used stays, and no call costs more
/// than a constant but for the drop of a generation.
/// Thread  any.
template <class Key, class Value, class Hash>
class GenerationCache {
 public:
  using Shared = std::shared_ptr<const Value>;  // users of an entry outlive its eviction

  explicit GenerationCache(std::int64_t max_bytes) : max_bytes_(max_bytes) {}

  /// nullptr if the key is absent.
  Shared find(const Key& key) const {
    Generation dropped;  // frees its entries after the lock
    const MutexLock lock(mutex_);
    if (const auto it = young_.entries.find(key); it != young_.entries.end()) {
      return it->second.value;
    }
    const auto it = old_.entries.find(key);
    if (it == old_.entries.end()) {
      return nullptr;
    }
    const Entry entry = it->second;
    old_.entries.erase(it);
    old_.num_bytes -= entry.num_bytes;
    add(key, entry, &dropped);
    return entry.value;
  }

  /// Keeps what is there if the key is present. An entry above half of the bytes is not kept.
  void insert(const Key& key, Shared value, std::int64_t num_bytes) const {
    if (num_bytes > max_bytes_ / 2) {
      return;
    }
    Generation dropped;
    const MutexLock lock(mutex_);
    add(key, {std::move(value), num_bytes}, &dropped);
  }

  std::int64_t num_bytes() const {
    const MutexLock lock(mutex_);
    return young_.num_bytes + old_.num_bytes;
  }

 private:
  struct Entry {
    Shared value;
    std::int64_t num_bytes = 0;
  };

  struct Generation {
    std::unordered_map<Key, Entry, Hash> entries;
    std::int64_t num_bytes = 0;
  };

  void add(const Key& key, Entry entry, Generation* dropped) const PLUMB_REQUIRES(mutex_) {
    const std::int64_t num_bytes = entry.num_bytes;
    if (young_.num_bytes + num_bytes > max_bytes_ / 2) {
      *dropped = std::move(old_);
      old_ = std::exchange(young_, {});
    }
    if (young_.entries.try_emplace(key, std::move(entry)).second) {
      young_.num_bytes += num_bytes;
    }
  }

  std::int64_t max_bytes_;
  mutable Mutex mutex_;
  mutable Generation young_ PLUMB_GUARDED_BY(mutex_);
  mutable Generation old_ PLUMB_GUARDED_BY(mutex_);
};

}  // namespace plumb
