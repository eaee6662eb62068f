// SPDX-License-Identifier: Apache-2.0
// Routes of the Responses API beside the one that makes a response.
#include <optional>
#include <utility>

#include "api/responses_list.h"
#include "base/text.h"
#include "net/sse.h"
#include "server/server.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxEventNumber = std::int64_t{1} << 40;

ApiError no_response(const std::string& id) {
  return ApiError::not_found("response with the id '" + id.substr(0, 128) + "' not found");
}

// The query as an object of texts; the last of several values counts.
JsonObject query_of(const HttpRequest& request) {
  JsonObject out;
  for (const std::string_view pair : split(request.query, '&')) {
    const std::size_t equals = pair.find('=');
    const std::string name = percent_decoded(pair.substr(0, equals));
    if (!name.empty()) {
      out.set(name, equals == std::string_view::npos ? std::string()
                                                     : percent_decoded(pair.substr(equals + 1)));
    }
  }
  return out;
}

std::string query_text(const JsonObject& query, std::string_view name) {
  const Json* value = query.find(name);
  return value != nullptr ? value->as_string() : "";
}

bool is_in_background(const Result<Json>& response) {
  const Json* background = response.ok() ? response.value().find("background") : nullptr;
  return background != nullptr && *background == Json(true);
}

// The last event of a response whose process ended with its log.
std::string interrupted_event(Json response, std::int64_t number) {
  std::string out;
  append_sse(&out, "response.failed",
             to_text(JsonObject{{"type", "response.failed"},
                                {"sequence_number", number},
                                {"response", std::move(response)}}));
  return out;
}

}  // namespace

void Server::add_response_routes() {
  const auto add = [this](const char* method, const char* path,
                          void (Server::*handler)(Transaction, const std::string&)) {
    router_.add({method, path, RouteClass::kNormal,
                 [this, handler](Transaction transaction, const std::string& id) {
                   (this->*handler)(std::move(transaction), id);
                 }});
  };
  post_route("/v1/responses", &Server::prepare_response, Dialect::kOpenAi, &may_name_stored);
  post_route("/v1/responses/input_tokens", &Server::prepare_input_tokens, Dialect::kOpenAi,
             &may_name_stored);
  // Clients that find no such route do without it.
  router_.add({"POST", "/v1/responses/compact", RouteClass::kNormal,
               [](Transaction transaction, const std::string&) {
                 transaction.send_error(
                     ApiError::not_found("this server does not compact conversations"));
               }});
  add("GET", "/v1/responses/{id}", &Server::get_response);
  add("DELETE", "/v1/responses/{id}", &Server::delete_response);
  add("POST", "/v1/responses/{id}/cancel", &Server::cancel_response);
  add("GET", "/v1/responses/{id}/input_items", &Server::list_input_items);
}

void Server::with_response(Transaction transaction, const std::string& id,
                           std::function<void(Transaction, StoredResponse)> answer) {
  if (store_ == nullptr) {
    transaction.send_error(no_response(id));
    return;
  }
  const std::string owner = owner_of(transaction.principal);
  // Shared because a posted function must be copyable; there is one user at a time.
  const auto waiting = std::make_shared<Transaction>(std::move(transaction));
  store_->find(owner, id, [this, id, waiting, answer](Result<ResponseStore::Found> result) {
    const auto found = std::make_shared<Result<ResponseStore::Found>>(std::move(result));
    loop_->post([id, waiting, answer, found] {
      if (!found->ok()) {
        waiting->send_error(ApiError::from_status(found->status()));
      } else if (!found->value().has_value()) {
        waiting->send_error(no_response(id));
      } else {
        answer(std::move(*waiting), *std::move(found->value()));
      }
    });
  });
}

void Server::get_response(Transaction transaction, const std::string& id) {
  const JsonObject query = query_of(transaction.request);
  if (query_text(query, "stream") == "true") {
    stream_response(std::move(transaction), id);
    return;
  }
  const BackgroundRun* run = find_run(owner_of(transaction.principal), id);
  if (run != nullptr && !run->has_ended()) {
    transaction.send_json(run->turn().assembler->response());
    return;
  }
  with_response(std::move(transaction), id, [](Transaction answered, StoredResponse stored) {
    if (stored.is_running) {
      tell_interrupted(&stored);
    }
    answered.send(200, "application/json", std::move(stored.response));
  });
}

void Server::stream_response(Transaction transaction, const std::string& id) {
  std::int64_t after = -1;
  const JsonObject query = query_of(transaction.request);
  const std::string given = query_text(query, "starting_after");
  if (!given.empty() && (!parse_int64(given, &after) || after < -1 || after > kMaxEventNumber)) {
    transaction.send_error(ApiError::invalid(
        "invalid_value", "starting_after",
        "'starting_after' is '" + given.substr(0, 32) + "', expected the number of an event"));
    return;
  }
  if (const BackgroundRun* run = find_run(owner_of(transaction.principal), id)) {
    read_events(id, std::move(transaction), run->log(), after + 1);
    return;
  }
  with_response(std::move(transaction), id,
                [this, id, after](Transaction answered, StoredResponse stored) {
                  if (stored.is_running) {
                    tell_interrupted(&stored);
                  }
                  const Result<Json> response = parse_json(stored.response);
                  if (stored.events.empty() && is_in_background(response)) {
                    const std::string event = interrupted_event(response.value(), after + 1);
                    read_events(id, std::move(answered), std::make_shared<EventLog>(event), 0);
                    return;
                  }
                  if (stored.events.empty()) {
                    answered.send_error(ApiError::invalid(
                        "invalid_value", "stream",
                        "only a response that was made in the background can be streamed again"));
                    return;
                  }
                  read_events(id, std::move(answered),
                              std::make_shared<EventLog>(std::move(stored.events)), after + 1);
                });
}

void Server::delete_response(Transaction transaction, const std::string& id) {
  const std::string owner = owner_of(transaction.principal);
  const bool is_live = live_responses_.contains(owner, id);
  if (BackgroundRun* run = find_run(owner, id)) {
    run->cancel();
  }
  const auto call = is_live ? response_calls_.find(id) : response_calls_.end();
  if (call != response_calls_.end()) {
    const auto found = calls_.find(call->second);
    if (found != calls_.end()) {
      found->second->fail(
          ApiError::from_status({Code::kCancelled, "the response was deleted while it was made"}));
    }
  }
  const auto waiting = std::make_shared<Transaction>(std::move(transaction));
  const auto answer = [id, waiting](const Result<bool>& erased) {
    if (!erased.ok()) {
      waiting->send_error(ApiError::from_status(erased.status()));
    } else if (!erased.value()) {
      waiting->send_error(no_response(id));
    } else {
      waiting->send_json(JsonObject{{"id", id}, {"object", "response"}, {"deleted", true}});
    }
  };
  if (store_ == nullptr) {
    answer(is_live);
    return;
  }
  store_->erase(owner, id, [this, is_live, answer](Result<bool> erased) {
    const bool is_gone = erased.ok() && (erased.value() || is_live);
    loop_->post(
        [answer, erased = is_gone ? Result<bool>(true) : std::move(erased)] { answer(erased); });
  });
}

void Server::cancel_response(Transaction transaction, const std::string& id) {
  const std::string owner = owner_of(transaction.principal);
  const auto refuse = [id](Transaction refused) {
    refused.send_error(ApiError::invalid(
        "invalid_value", "",
        "only a response that was made in the background can be cancelled, and '" +
            id.substr(0, 128) + "' was not"));
  };
  if (BackgroundRun* run = find_run(owner, id)) {
    run->cancel();
  } else if (live_responses_.contains(owner, id)) {
    refuse(std::move(transaction));
    return;
  }
  // Behind what the cancelled run has put there.
  with_response(std::move(transaction), id, [refuse](Transaction answered, StoredResponse stored) {
    const Result<Json> response = parse_json(stored.response);
    if (!is_in_background(response)) {
      refuse(std::move(answered));
      return;
    }
    if (stored.is_running) {
      tell_interrupted(&stored);
    }
    answered.send(200, "application/json", std::move(stored.response));
  });
}

void Server::list_input_items(Transaction transaction, const std::string& id) {
  const auto page = read_item_page(query_of(transaction.request));
  if (const auto* error = std::get_if<ApiError>(&page)) {
    transaction.send_error(*error);
    return;
  }
  with_response(std::move(transaction), id,
                [page = std::get<ItemPage>(page)](Transaction answered, StoredResponse stored) {
                  const Result<Json> inputs = parse_json(stored.inputs);
                  const JsonArray items = inputs.ok() && inputs.value().is_array()
                                              ? inputs.value().as_array()
                                              : JsonArray();
                  const auto list = list_items(items, page);
                  if (const auto* error = std::get_if<ApiError>(&list)) {
                    answered.send_error(*error);
                  } else {
                    answered.send_json(std::get<Json>(list));
                  }
                });
}

}  // namespace plumb
