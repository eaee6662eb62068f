// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/token_id.h"
#include "model/model.h"
#include "ops/backend.h"
#include "tensor/workspace.h"

namespace plumb {

/// Teacher-forced forward pass of one sequence: the logits of every position, without an engine.
///
/// Ownership model and back ends outlive it.
/// Thread    any single one.
class Forward {
 public:
  /// Reserves the cache and the workspace for sequences of up to max_len tokens in chunks of
  /// `chunk` tokens. `meta` measures the workspace; `ops` are what computes. Errors
  /// kResourceExhausted.
  static Result<std::unique_ptr<Forward>> create(const Model& model, Backend& backend,
                                                 const OpTable& ops, Backend& meta,
                                                 std::int64_t max_len, std::int64_t chunk);

  /// Calls on_logits(position, logits [V]) for every position in order.
  /// Requires at most max_len ids, each in the vocabulary.
  Status run(
      std::span<const TokenId> ids,
      const std::function<void(std::int64_t position, std::span<const float> logits)>& on_logits);

  std::int64_t workspace_bytes() const { return workspace_bytes_; }

 private:
  struct HostBatch;
  Forward(const Model& model, Backend& backend, const OpTable& ops, std::int64_t chunk);
  Status reserve(Backend& meta, std::int64_t max_len);

  const Model& model_;
  Backend& backend_;
  const OpTable& ops_;
  std::int64_t chunk_;
  std::int64_t workspace_bytes_ = 0;
  std::unique_ptr<Stream> stream_;
  std::vector<Buffer> storage_;
  std::vector<KvLayerCache> caches_;
  std::unique_ptr<Workspace> workspace_;
  std::vector<std::int32_t> block_table_;
};

}  // namespace plumb
