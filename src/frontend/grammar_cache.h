// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>

#include "base/digest.h"
#include "base/mutex.h"

namespace plumb {

class CompiledGrammar;

/// Compiled grammars by the digest of what they were compiled from; the least recently used leave
/// when together they hold more bytes than allowed.
/// Ownership  shared with the requests that use them: one that has left lives until the last ends.
/// Thread     any.
class GrammarCache {
 public:
  explicit GrammarCache(std::int64_t max_bytes) : max_bytes_(max_bytes) {}

  /// Null if it is not there.
  std::shared_ptr<const CompiledGrammar> find(const Digest256& key);
  /// Keeps it if it is not larger than the whole cache.
  void put(const Digest256& key, std::shared_ptr<const CompiledGrammar> grammar,
           std::int64_t num_bytes);

  std::int64_t num_bytes() const;
  std::int64_t size() const;

 private:
  struct Entry {
    Digest256 key;
    std::shared_ptr<const CompiledGrammar> grammar;
    std::int64_t num_bytes;
  };

  const std::int64_t max_bytes_;
  mutable Mutex mutex_;
  std::list<Entry> entries_ PLUMB_GUARDED_BY(mutex_);  // most recently used first
  std::map<Digest256, std::list<Entry>::iterator> places_ PLUMB_GUARDED_BY(mutex_);
  std::int64_t num_bytes_ PLUMB_GUARDED_BY(mutex_) = 0;
};

}  // namespace plumb
