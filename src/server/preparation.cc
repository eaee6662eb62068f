// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "api/constraint_surrogates.h"
#include "base/text.h"
#include "server/server.h"

namespace plumb {
namespace {

constexpr std::size_t kWorkerBodyBytes = 32 << 10;  // larger bodies are prepared off the loop
constexpr std::int64_t kMaxMixedItems = 100'000;
constexpr std::size_t kOperationBytes = 16 << 10;

bool is_json_type(std::string_view content_type) {
  const std::string type = to_lower_ascii(trim(content_type.substr(0, content_type.find(';'))));
  return type.empty() || type == "application/json";
}

std::optional<ApiError> type_error(const HttpRequest& request) {
  const std::string given(request.headers.find("content-type").value_or(""));
  if (is_json_type(given)) {
    return std::nullopt;
  }
  return ApiError::for_http(
      415, "the content type is '" + given.substr(0, 64) +
               "', expected application/json; add -H 'Content-Type: application/json'");
}

// Clients of Ollama send JSON under any type. Pages of other origins can do so too, without asking
// first as they must for JSON: they have to name it.
bool may_be_untyped(const Transaction& transaction) {
  return transaction.dialect == Dialect::kOllama && !transaction.request.headers.contains("origin");
}

// The object in a small body, which may be left out.
std::variant<Json, ApiError> read_operation_body(const HttpRequest& request) {
  if (std::optional<ApiError> error = type_error(request)) {
    return *std::move(error);
  }
  if (request.body.size() > kOperationBytes) {
    return ApiError::for_http(413, "the body has " + std::to_string(request.body.size()) +
                                       " bytes, expected at most " +
                                       std::to_string(kOperationBytes) + " on this route");
  }
  Result<Json> json = parse_json(request.body.empty() ? "{}" : request.body);
  if (!json.ok()) {
    return ApiError::invalid("invalid_json", "", json.status().message());
  }
  if (!json.value().is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  return std::move(json).value();
}

}  // namespace

void Server::post_route(std::string path, Prepare prepare, Dialect dialect, MayWait may_wait) {
  router_.add({"POST", std::move(path), RouteClass::kNormal,
               [this, prepare, may_wait](Transaction transaction, const std::string&) {
                 prepare_and_run(std::move(transaction), prepare, may_wait);
               },
               dialect});
}

void Server::operation_route(std::string path, RouteClass access, Operation handler) {
  router_.add({"POST", std::move(path), access,
               [this, handler](Transaction transaction, const std::string&) {
                 const auto body = read_operation_body(transaction.request);
                 if (const auto* error = std::get_if<ApiError>(&body)) {
                   transaction.send_error(*error);
                   return;
                 }
                 FieldReader fields(std::get<Json>(body).as_object());
                 (this->*handler)(fields, std::move(transaction));
               }});
}

bool Server::are_fields_fine(FieldReader& fields, Transaction* transaction) const {
  if (std::optional<ApiError> unknown = check_fields(fields.ignored())) {
    fields.fail(*std::move(unknown));
  }
  if (!fields.ok()) {
    transaction->send_error(*fields.error());
    return false;
  }
  transaction->add_ignored_fields(fields.ignored());
  return true;
}

Server::Prepared Server::prepare_body(const std::string& body, Prepare prepare,
                                      const Asker& asker) const {
  if (asker.is_unwanted.load() || is_stopping_.load()) {
    return shutting_down();
  }
  const Result<Json> json = parse_json(body, {.max_mixed_items = kMaxMixedItems});
  if (!json.ok()) {
    return ApiError::invalid("invalid_json", "", json.status().message());
  }
  if (std::optional<ApiError> error = check_constraint_surrogates(body)) {
    return std::move(*error);
  }
  return (this->*prepare)(json.value(), asker);
}

void Server::finish_preparation(Transaction transaction, Prepared prepared) {
  if (auto* error = std::get_if<ApiError>(&prepared)) {
    transaction.send_error(*error);
    return;
  }
  std::get<0>(prepared)(*this, std::move(transaction));
}

void Server::prepare_and_run(Transaction transaction, Prepare prepare, MayWait may_wait) {
  if (const std::optional<ApiError> error = type_error(transaction.request);
      error.has_value() && !may_be_untyped(transaction)) {
    transaction.send_error(*error);
    return;
  }
  if (is_draining_.load()) {
    transaction.send_error(shutting_down());
    return;
  }
  const std::string& body = transaction.request.body;
  const bool waits = may_wait != nullptr && may_wait(body);
  if (waits || body.size() > kWorkerBodyBytes) {
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
  finish_preparation(std::move(transaction), std::move(prepared));
}

// The loop keeps the transaction, so that a shutdown need not wait for the worker to answer it.
void Server::work_off_loop(Transaction transaction, Work work, ThreadPool& workers) {
  const std::uint64_t id = next_call_++;
  const auto is_unwanted = std::make_shared<std::atomic<bool>>(false);
  transaction.writer.on_disconnect([is_unwanted](DisconnectReason) { is_unwanted->store(true); });
  const Principal principal = transaction.principal;
  preparations_.emplace(id, Preparation{std::move(transaction), is_unwanted});
  count_call(1);
  metrics_.preparing.add(1);
  const Status status = workers.submit([this, id, is_unwanted, principal, work = std::move(work)] {
    const auto prepared = std::make_shared<Prepared>(work({*is_unwanted, principal}));
    loop_->post([this, id, prepared] { end_preparation(id, std::move(*prepared)); });
  });
  if (!status.ok()) {
    end_preparation(id, ApiError::overloaded("too many requests wait for preparation", 1));
  }
}

void Server::end_preparation(std::uint64_t id, Prepared prepared) {
  const auto found = preparations_.find(id);
  if (found == preparations_.end()) {
    return;  // it was answered before
  }
  Preparation ended = std::move(found->second);
  preparations_.erase(found);
  if (ended.is_unwanted->load()) {
    ended.transaction.count(kClientLeft);
  } else {
    finish_preparation(std::move(ended.transaction), std::move(prepared));
    for (const AbortTarget& target : ended.aborts) {
      abort_calls(target);
    }
  }
  metrics_.preparing.add(-1);
  count_call(-1);  // after the call that it became is counted
}

// Whoever owns it forgets it then; what the worker makes of it is dropped.
void Server::abandon(Preparation* preparation, const ApiError& error) {
  preparation->is_unwanted->store(true);
  preparation->transaction.send_error(error);
  metrics_.preparing.add(-1);
  count_call(-1);
}

void Server::abandon_preparations() {
  for (auto& [id, preparation] : preparations_) {
    abandon(&preparation, shutting_down());
  }
  preparations_.clear();
}

Server::Prepared Server::answer_with(const std::variant<Json, ApiError>& result,
                                     std::vector<std::string> ignored) {
  if (const auto* error = std::get_if<ApiError>(&result)) {
    return *error;
  }
  return answer_with_text(to_text(std::get<Json>(result)), std::move(ignored));
}

Server::Prepared Server::answer_with_text(std::string json, std::vector<std::string> ignored) {
  return [json = std::move(json), ignored = std::move(ignored)](Server&, Transaction transaction) {
    transaction.add_ignored_fields(ignored);
    transaction.send(200, "application/json", json);
  };
}

ApiError Server::shutting_down() {
  return ApiError::for_http(503, "the server is shutting down");
}

}  // namespace plumb
