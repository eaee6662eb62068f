// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api/completion_request.h"
#include "api/embedding_request.h"
#include "api/error.h"
#include "base/metrics.h"
#include "engine/embedder.h"
#include "frontend/served_model.h"

namespace plumb {

/// Texts in, vectors out, on a running embedder: what the server's routes talk to.
/// Thread: any.
class EmbeddingService {
 public:
  /// Both outlive the service.
  EmbeddingService(const ServedModel& model, Embedder& embedder)
      : model_(model), embedder_(embedder) {}

  /// The tokens of some inputs, cut where the request allows it.
  /// Once *is_unwanted is set, no further input is tokenised and the result is an error.
  /// Errors name `param`: no token, a token out of range, too many tokens.
  std::variant<EmbeddingJob, ApiError> prepare(const std::vector<Prompt>& inputs,
                                               const EmbeddingParams& params, const char* param,
                                               const std::atomic<bool>& is_unwanted) const;

  /// Errors name 'dimensions' if the model has fewer.
  std::optional<ApiError> check_dimensions(const EmbeddingRequest& request) const;

  /// As Embedder::submit() and Embedder::abort().
  Result<Embedder::JobId> submit(EmbeddingJob job, Embedder::Callback callback) {
    return embedder_.submit(std::move(job), std::move(callback));
  }

  void abort(Embedder::JobId id) { embedder_.abort(id); }

  /// Texts that are accepted and have no vector yet.
  std::int64_t num_waiting() const { return embedder_.stats().num_waiting; }

  bool is_healthy() const { return !embedder_.stats().has_failed; }

  /// Sets the gauges of queue and totals.
  void export_metrics(Metrics& metrics) const;

 private:
  std::optional<ApiError> fit(const EmbeddingParams& params, const std::string& param,
                              bool has_marks, std::vector<TokenId>* ids) const;

  const ServedModel& model_;
  Embedder& embedder_;
};

/// Tokens of all inputs.
std::int64_t num_tokens_of(const EmbeddingJob& job);

/// Cuts a pooled vector to what the request wants and gives it length 1 afterwards, unless it is
/// all zeros or the request wants it as it is.
void finish_vector(const EmbeddingRequest& request, std::vector<float>* vector);

/// The cosine of two vectors; 0 if one is all zeros.
double cosine(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace plumb
