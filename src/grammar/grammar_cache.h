// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>

#include "base/digest.h"
#include "base/mutex.h"
#include "grammar/grammar.h"

namespace plumb {

/// Compiled grammars by spec; the least recently used go when their bytes exceed the limit.
/// Thread  any.
class GrammarCache {
 public:
  static constexpr std::int64_t kDefaultBytes = std::int64_t{512} << 20;

  explicit GrammarCache(std::int64_t max_bytes = kDefaultBytes) : max_bytes_(max_bytes) {}

  /// nullptr if it is not there.
  std::shared_ptr<const CompiledGrammar> find(const GrammarSpec& spec);

  /// Keeps what is there if the spec is present. A grammar above the limit is not kept.
  void insert(const GrammarSpec& spec, std::shared_ptr<const CompiledGrammar> grammar);

  std::int64_t num_bytes() const;
  std::int64_t num_grammars() const;

 private:
  struct Entry {
    Digest256 key{};
    std::shared_ptr<const CompiledGrammar> grammar;  // requests outlive its eviction
    std::int64_t num_bytes = 0;
  };

  const std::int64_t max_bytes_;
  mutable Mutex mutex_;
  std::list<Entry> entries_ PLUMB_GUARDED_BY(mutex_);  // the latest first
  std::map<Digest256, std::list<Entry>::iterator> by_key_ PLUMB_GUARDED_BY(mutex_);
  std::int64_t num_bytes_ PLUMB_GUARDED_BY(mutex_) = 0;
};

}  // namespace plumb
