// SPDX-License-Identifier: Apache-2.0
#include "server/responses_routes.h"

#include <functional>
#include <utility>

#include "api/responses_list.h"
#include "base/text.h"
#include "net/sse.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxEventNumber = std::int64_t{1} << 40;

ApiError no_response(const std::string& id) {
  return ApiError::not_found("response with the id '" + id.substr(0, 128) + "' not found");
}

ApiError not_in_background(const std::string& id) {
  return ApiError::invalid("invalid_value", "",
                           "only a response that was made in the background can be cancelled, and "
                           "'" +
                               id.substr(0, 128) + "' was not");
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

ResponsesRoutes::ResponsesRoutes(const RouteContext& context, BodyPreparation& bodies,
                                 const TextRequests& texts, CallTable& calls,
                                 ResponseKeeping keeping)
    : context_(context),
      bodies_(bodies),
      seal_(std::move(keeping.seal)),
      runs_(context, calls, keeping.store.get()),
      preparation_(context, texts, runs_, keeping.store.get(), *seal_),
      store_(std::move(keeping.store)) {}

void ResponsesRoutes::add_routes() {
  const auto post = [this](const char* path, auto prepare) {
    bodies_.post_route(path, std::bind_front(prepare, &preparation_), Dialect::kOpenAi,
                       &may_name_stored);
  };
  const auto add = [this](const char* method, const char* path, auto handler) {
    context_.router.add({method, path, RouteClass::kNormal, std::bind_front(handler, this)});
  };
  post("/v1/responses", &ResponsePreparation::prepare_response);
  post("/v1/responses/input_tokens", &ResponsePreparation::prepare_input_tokens);
  // Clients that find no such route do without it.
  context_.router.add({"POST", "/v1/responses/compact", RouteClass::kNormal,
                       [](Transaction transaction, const std::string&) {
                         transaction.send_error(
                             ApiError::not_found("this server does not compact conversations"));
                       }});
  add("GET", "/v1/responses/{id}", &ResponsesRoutes::get_response);
  add("DELETE", "/v1/responses/{id}", &ResponsesRoutes::delete_response);
  add("POST", "/v1/responses/{id}/cancel", &ResponsesRoutes::cancel_response);
  add("GET", "/v1/responses/{id}/input_items", &ResponsesRoutes::list_input_items);
}

void ResponsesRoutes::with_response(Transaction transaction, const std::string& id,
                                    const ReadStored& read) {
  if (store_ == nullptr) {
    transaction.send_error(no_response(id));
    return;
  }
  bodies_.look_up(std::move(transaction), [this, id, read](const Asker& asker) -> Prepared {
    Result<ResponseStore::Found> found = store_->find(owner_of(asker.principal), id);
    if (!found.ok()) {
      return ApiError::from_status(found.status());
    }
    if (!found.value().has_value()) {
      return no_response(id);
    }
    return read(*std::move(found.value()));
  });
}

void ResponsesRoutes::get_response(Transaction transaction, const std::string& id) {
  const std::string stream = query_value(transaction.request.query, "stream");
  if (stream == "true") {
    stream_response(std::move(transaction), id);
    return;
  }
  if (!stream.empty() && stream != "false") {
    transaction.send_error(
        ApiError::invalid("invalid_value", "stream",
                          "'stream' is '" + stream.substr(0, 32) + "', expected true or false"));
    return;
  }
  const BackgroundRun* run = runs_.find_run(owner_of(transaction.principal), id);
  if (run != nullptr && !run->has_ended()) {
    transaction.send_json(run->turn().assembler->response());
    return;
  }
  with_response(std::move(transaction), id, [](StoredResponse stored) {
    if (stored.is_running) {
      tell_interrupted(&stored);
    }
    return answer_with_text(std::move(stored.response));
  });
}

void ResponsesRoutes::stream_response(Transaction transaction, const std::string& id) {
  std::int64_t after = -1;
  const std::string given = query_value(transaction.request.query, "starting_after");
  if (!given.empty() && (!parse_int64(given, &after) || after < -1 || after > kMaxEventNumber)) {
    transaction.send_error(ApiError::invalid(
        "invalid_value", "starting_after",
        "'starting_after' is '" + given.substr(0, 32) + "', expected the number of an event"));
    return;
  }
  if (const BackgroundRun* run = runs_.find_run(owner_of(transaction.principal), id)) {
    runs_.read_events(id, std::move(transaction), run->log(), after + 1);
    return;
  }
  with_response(std::move(transaction), id, [this, id, after](StoredResponse stored) -> Prepared {
    if (stored.has_events) {
      return [this, id, after](Transaction answered) {
        runs_.read_events(id, std::move(answered), nullptr, after + 1);
      };
    }
    if (stored.is_running) {
      tell_interrupted(&stored);
    }
    const Result<Json> response = parse_json(stored.response);
    if (!is_in_background(response)) {
      return ApiError::invalid(
          "invalid_value", "stream",
          "only a response that was made in the background can be streamed again");
    }
    return
        [this, id, event = interrupted_event(response.value(), after + 1)](Transaction answered) {
          runs_.read_events(id, std::move(answered), std::make_shared<EventLog>(event), 0);
        };
  });
}

void ResponsesRoutes::delete_response(Transaction transaction, const std::string& id) {
  const std::string owner = owner_of(transaction.principal);
  const bool is_live = runs_.is_live(owner, id);
  runs_.end(owner, id);
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
    context_.loop.post(
        [answer, erased = is_gone ? Result<bool>(true) : std::move(erased)] { answer(erased); });
  });
}

void ResponsesRoutes::cancel_response(Transaction transaction, const std::string& id) {
  const std::string owner = owner_of(transaction.principal);
  if (BackgroundRun* run = runs_.find_run(owner, id)) {
    run->cancel();
  } else if (runs_.is_live(owner, id)) {
    transaction.send_error(not_in_background(id));
    return;
  }
  // Behind what the cancelled run has put there.
  with_response(std::move(transaction), id, [id](StoredResponse stored) -> Prepared {
    if (!is_in_background(parse_json(stored.response))) {
      return not_in_background(id);
    }
    if (stored.is_running) {
      tell_interrupted(&stored);
    }
    return answer_with_text(std::move(stored.response));
  });
}

void ResponsesRoutes::list_input_items(Transaction transaction, const std::string& id) {
  const std::string& query = transaction.request.query;
  const auto page = read_item_page(query_value(query, "limit"), query_value(query, "order"),
                                   query_value(query, "after"));
  if (const auto* error = std::get_if<ApiError>(&page)) {
    transaction.send_error(*error);
    return;
  }
  with_response(
      std::move(transaction), id, [page = std::get<ItemPage>(page)](const StoredResponse& stored) {
        const Result<Json> inputs = parse_json(stored.inputs);
        const JsonArray none;
        const bool has_items = inputs.ok() && inputs.value().is_array();
        return answer_with(list_items(has_items ? inputs.value().as_array() : none, page));
      });
}

}  // namespace plumb
