// SPDX-License-Identifier: Apache-2.0
#include "server/body_preparation.h"

#include <utility>

#include "server/request_body.h"

namespace plumb {
namespace {

constexpr std::size_t kWorkerBodyBytes = 32 << 10;  // larger bodies are prepared off the loop
constexpr std::int64_t kMaxQueuedBodies = 256;      // of each pool
constexpr int kNumLookups = 4;
// Ids that came for one body while it was prepared; who sends more has one request with many ids.
constexpr std::size_t kMaxNotedAborts = 64;

// Grammars of tools are compiled as the request is prepared, which may take a while. Letters may be
// written as escapes.
bool may_hold_grammar(std::string_view body) {
  return body.find("\"grammar\"") != std::string_view::npos ||
         body.find("\\u00") != std::string_view::npos;
}

// Clients of Ollama send JSON under any type. Pages of other origins can do so too, without asking
// first as they must for JSON: they have to name it.
bool may_be_untyped(const Transaction& transaction) {
  return transaction.dialect == Dialect::kOllama && !transaction.request.headers.contains("origin");
}

void run_prepared(Transaction transaction, Prepared prepared) {
  if (auto* error = std::get_if<ApiError>(&prepared)) {
    transaction.send_error(*error);
    return;
  }
  std::get<0>(prepared)(std::move(transaction));
}

}  // namespace

BodyPreparation::BodyPreparation(const RouteContext& context,
                                 std::function<void(const AbortTarget& target)> abort_calls)
    : context_(context),
      abort_calls_(std::move(abort_calls)),
      workers_(std::make_unique<ThreadPool>("prepare", 1, kMaxQueuedBodies)),
      lookups_(std::make_unique<ThreadPool>("lookup", kNumLookups, kMaxQueuedBodies)) {}

void BodyPreparation::join() {
  workers_.reset();
  lookups_.reset();
}

void BodyPreparation::post_route(std::string path, Prepare prepare, Dialect dialect,
                                 MayWait may_wait) {
  context_.router.add(
      {"POST", std::move(path), RouteClass::kNormal,
       [this, prepare = std::move(prepare), may_wait](Transaction transaction, const std::string&) {
         prepare_and_run(std::move(transaction), prepare, may_wait);
       },
       dialect});
}

Prepared BodyPreparation::prepare_body(const std::string& body, const Prepare& prepare,
                                       const Asker& asker) const {
  if (asker.is_unwanted.load() || context_.life.is_stopping()) {
    return shutting_down();
  }
  const auto json = read_json_body(body);
  if (const auto* error = std::get_if<ApiError>(&json)) {
    return *error;
  }
  return prepare(std::get<Json>(json), asker);
}

void BodyPreparation::prepare_and_run(Transaction transaction, const Prepare& prepare,
                                      MayWait may_wait) {
  if (const std::optional<ApiError> error = content_type_error(transaction.request);
      error.has_value() && !may_be_untyped(transaction)) {
    transaction.send_error(*error);
    return;
  }
  if (context_.life.is_draining()) {
    transaction.send_error(shutting_down());
    return;
  }
  const std::string& body = transaction.request.body;
  const bool waits = may_wait != nullptr && may_wait(body);
  if (waits || body.size() > kWorkerBodyBytes || may_hold_grammar(body)) {
    // Shared because a queued task must be copyable; there is one user at a time.
    const auto taken = std::make_shared<std::string>(std::move(transaction.request.body));
    work_off_loop(
        std::move(transaction),
        [this, taken, prepare](const Asker& asker) { return prepare_body(*taken, prepare, asker); },
        waits ? *lookups_ : *workers_);
    return;
  }
  const std::atomic<bool> is_unwanted{false};
  Prepared prepared =
      prepare_body(transaction.request.body, prepare, {is_unwanted, transaction.principal});
  run_prepared(std::move(transaction), std::move(prepared));
}

void BodyPreparation::look_up(Transaction transaction, Work work) {
  work_off_loop(std::move(transaction), std::move(work), *lookups_);
}

void BodyPreparation::work_off_loop(Transaction transaction, Work work, ThreadPool& workers) {
  const std::uint64_t id = next_id_++;
  const auto is_unwanted = std::make_shared<std::atomic<bool>>(false);
  transaction.writer.on_disconnect([is_unwanted](DisconnectReason) { is_unwanted->store(true); });
  const Principal principal = transaction.principal;
  preparations_.emplace(id, Preparation{std::move(transaction), is_unwanted});
  context_.life.count_call(1);
  context_.metrics.preparing.add(1);
  const Status status = workers.submit([this, id, is_unwanted, principal, work = std::move(work)] {
    const auto prepared = std::make_shared<Prepared>(work({*is_unwanted, principal}));
    context_.loop.post([this, id, prepared] { end(id, std::move(*prepared)); });
  });
  if (!status.ok()) {
    end(id, ApiError::overloaded("too many requests wait for preparation", 1));
  }
}

void BodyPreparation::end(std::uint64_t id, Prepared prepared) {
  const auto found = preparations_.find(id);
  if (found == preparations_.end()) {
    return;  // it was answered before
  }
  Preparation ended = std::move(found->second);
  preparations_.erase(found);
  if (ended.is_unwanted->load()) {
    ended.transaction.count(kClientLeft);
  } else {
    run_prepared(std::move(ended.transaction), std::move(prepared));
    for (const AbortTarget& target : ended.aborts) {
      abort_calls_(target);
    }
  }
  context_.metrics.preparing.add(-1);
  context_.life.count_call(-1);  // after the call that it became is counted
}

void BodyPreparation::abort(const AbortTarget& target) {
  for (auto at = preparations_.begin(); at != preparations_.end();) {
    Preparation& preparation = at->second;
    if (!target.may_end_those_of(preparation.transaction.principal)) {
      ++at;
    } else if (target.is_all || preparation.transaction.request_id == target.id) {
      abandon(&preparation, request_aborted());
      at = preparations_.erase(at);
    } else {
      if (preparation.aborts.size() < kMaxNotedAborts) {
        preparation.aborts.push_back(target);
      }
      ++at;
    }
  }
}

// Whoever owns it forgets it then; what the worker makes of it is dropped.
void BodyPreparation::abandon(Preparation* preparation, const ApiError& error) {
  preparation->is_unwanted->store(true);
  preparation->transaction.send_error(error);
  context_.metrics.preparing.add(-1);
  context_.life.count_call(-1);
}

void BodyPreparation::abandon_all() {
  for (auto& [id, preparation] : preparations_) {
    abandon(&preparation, shutting_down());
  }
  preparations_.clear();
}

Prepared answer_with(const std::variant<Json, ApiError>& result, std::vector<std::string> ignored) {
  if (const auto* error = std::get_if<ApiError>(&result)) {
    return *error;
  }
  return answer_with_text(to_text(std::get<Json>(result)), std::move(ignored));
}

Prepared answer_with_text(std::string json, std::vector<std::string> ignored) {
  return [json = std::move(json), ignored = std::move(ignored)](Transaction transaction) {
    transaction.add_ignored_fields(ignored);
    transaction.send(200, "application/json", json);
  };
}

}  // namespace plumb
