// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace plumb {

/// Kinds of memory that a served model can do without while nobody uses it.
struct MemoryTags {
  bool kv_cache = false;
  bool weights = false;
  bool cuda_graph = false;  ///< recorded steps; a back end that records none has nothing of it

  bool any() const { return kv_cache || weights || cuda_graph; }

  /// Their names as the API writes them, in that order.
  std::vector<std::string> names() const;

  bool operator==(const MemoryTags&) const = default;
};

/// Those of `tags` that are in `others` too, or are not.
MemoryTags common_tags(const MemoryTags& tags, const MemoryTags& others);
MemoryTags without_tags(const MemoryTags& tags, const MemoryTags& others);
MemoryTags joined_tags(const MemoryTags& tags, const MemoryTags& others);

/// What became of an update of the weights.
struct WeightsUpdate {
  Status status;
  bool is_of_file = false;  ///< an error that another file would not have
};

/// What an operator may do to the memory and the weights of a served model.
///
/// While anything is released requests are refused (kUnavailable), which name the tags. One change
/// at a time: a second one is refused with kUnavailable. Changes wait for files and may take
/// minutes.
/// Thread: any; released() never waits.
class ModelControl {
 public:
  virtual ~ModelControl() = default;

  virtual MemoryTags released() const = 0;

  /// Releases those of the tags that are not released, and returns them.
  /// Errors  kInvalidArgument: requests run or wait, says how many.
  ///         kUnavailable, kUnsupported: what could not be released; then all is as before, but for
  ///         a cache that is empty.
  virtual Result<MemoryTags> release(const MemoryTags& tags) = 0;

  /// Takes back those of the tags that are released, and returns them. Weights are read from their
  /// file again and are the same, or stay released.
  /// Errors  kUnavailable: the file has another content; kResourceExhausted; as loading.
  virtual Result<MemoryTags> resume(const MemoryTags& tags) = 0;

  /// Serves with the weights at that path from now on. No prefix that was computed with the former
  /// ones is found any more; with `flush_cache` they are forgotten at once. After an error the
  /// former weights are in use.
  /// Errors  kInvalidArgument: another architecture, other sizes or another vocabulary, says the
  ///         first difference; requests run or wait; something is released. As loading.
  virtual WeightsUpdate update_weights(const std::string& path, bool flush_cache) = 0;
};

}  // namespace plumb
