// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/json.h"
#include "frontend/embedding_service.h"
#include "server/abort_target.h"
#include "server/route_context.h"
#include "server/transaction.h"

namespace plumb {

/// The requests whose vectors are being computed.
/// Requires  the model gives vectors, where start() is called.
/// Thread    the server's loop.
class EmbeddingCalls {
 public:
  using Vectors = std::vector<std::vector<float>>;
  /// Makes the body of an answer of the vectors of a job, as they were pooled.
  using Answer = std::function<Json(const Transaction& transaction, Vectors vectors)>;

  explicit EmbeddingCalls(const RouteContext& context) : context_(context) {}

  /// Computes the vectors, then answers; a client that leaves before ends its job.
  void start(Transaction transaction, EmbeddingJob job, Answer answer);
  /// Ends those that are meant.
  void abort(const AbortTarget& target);
  /// Answers all: the server ends.
  void abandon_all();

 private:
  struct EmbeddingCall {
    Transaction transaction;
    Embedder::JobId job = 0;
    Answer answer;
  };

  void end(std::uint64_t id, EmbeddingOutcome outcome);
  void drop(std::uint64_t id);
  void refuse(EmbeddingCall* call, const ApiError& error);

  const RouteContext& context_;
  std::uint64_t next_id_ = 0;
  std::map<std::uint64_t, EmbeddingCall> calls_;
};

}  // namespace plumb
