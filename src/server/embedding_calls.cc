// SPDX-License-Identifier: Apache-2.0
#include "server/embedding_calls.h"

#include <memory>
#include <utility>
#include <variant>

#include "server/request_timeout.h"

namespace plumb {

void EmbeddingCalls::start(Transaction transaction, EmbeddingJob job, Answer answer) {
  auto timeout = request_timeout(transaction.request);
  if (const auto* error = std::get_if<ApiError>(&timeout)) {
    transaction.send_error(*error);
    return;
  }
  job.timeout = std::get<0>(timeout);
  const std::uint64_t id = next_id_++;
  const auto callback = [this, id](EmbeddingOutcome outcome) {
    // Shared because a posted function must be copyable; there is one user at a time.
    const auto shared = std::make_shared<EmbeddingOutcome>(std::move(outcome));
    context_.loop.post([this, id, shared] { end(id, std::move(*shared)); });
  };
  const Result<Embedder::JobId> submitted =
      context_.parts.embeddings->submit(std::move(job), callback);
  if (!submitted.ok()) {
    transaction.send_error(ApiError::from_status(submitted.status()));
    return;
  }
  context_.life.count_call(1);
  const auto place =
      calls_
          .emplace(id, EmbeddingCall{std::move(transaction), submitted.value(), std::move(answer)})
          .first;
  // Later, because the call must not end inside its own writer, should the client be gone already.
  place->second.transaction.writer.on_disconnect(
      [this, id](DisconnectReason) { context_.loop.post([this, id] { drop(id); }); });
}

void EmbeddingCalls::drop(std::uint64_t id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) {
    return;
  }
  context_.parts.embeddings->abort(found->second.job);
  found->second.transaction.count(kClientLeft);
  calls_.erase(found);
  context_.life.count_call(-1);
}

void EmbeddingCalls::end(std::uint64_t id, EmbeddingOutcome outcome) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) {
    return;  // the client has left, or the shutdown has answered it
  }
  EmbeddingCall call = std::move(found->second);
  calls_.erase(found);
  if (outcome.ok()) {
    call.transaction.send_json(call.answer(call.transaction, std::move(outcome).value()));
  } else {
    call.transaction.send_error(ApiError::from_status(outcome.status()));
  }
  context_.life.count_call(-1);
}

// Ends its job, and answers it.
void EmbeddingCalls::refuse(EmbeddingCall* call, const ApiError& error) {
  context_.parts.embeddings->abort(call->job);
  call->transaction.send_error(error);
  context_.life.count_call(-1);
}

void EmbeddingCalls::abort(const AbortTarget& target) {
  for (auto place = calls_.begin(); place != calls_.end();) {
    Transaction& transaction = place->second.transaction;
    const bool is_named = target.is_all || transaction.request_id == target.id;
    if (!is_named || !target.may_end_those_of(transaction.principal)) {
      ++place;
      continue;
    }
    EmbeddingCall call = std::move(place->second);
    place = calls_.erase(place);
    refuse(&call, request_aborted());
  }
}

void EmbeddingCalls::abandon_all() {
  for (auto& [id, call] : calls_) {
    refuse(&call, shutting_down());
  }
  calls_.clear();
}

}  // namespace plumb
