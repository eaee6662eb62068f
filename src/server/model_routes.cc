// SPDX-License-Identifier: Apache-2.0
#include "server/model_routes.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string_view>

#include "base/text.h"
#include "base/timestamp.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxPage = 1000;

// Whether the page of the one model that a query asks for has it: it is on none behind or before
// itself.
std::variant<bool, ApiError> is_on_page(std::string_view query, const std::string& served) {
  for (const std::string& limit : query_values(query, "limit")) {
    std::int64_t value = 0;
    if (!parse_int64(limit, &value) || value < 1 || value > kMaxPage) {
      return ApiError::invalid("invalid_value", "limit",
                               "'limit' is '" + limit.substr(0, 32) +
                                   "', expected an integer from 1 to " + std::to_string(kMaxPage));
    }
  }
  for (const char* key : {"after_id", "before_id"}) {
    const std::vector<std::string> ids = query_values(query, key);
    if (std::find(ids.begin(), ids.end(), served) != ids.end()) {
      return false;
    }
  }
  const std::vector<std::string> stages = query_values(query, "lifecycle[]");
  return stages.empty() || std::find(stages.begin(), stages.end(), "active") != stages.end();
}

}  // namespace

void ModelRoutes::add_routes() const {
  context_.get_route("/v1/models", RouteClass::kNormal,
                     std::bind_front(&ModelRoutes::models, this));
  context_.router.add({"GET", "/v1/models/{id}", RouteClass::kNormal,
                       std::bind_front(&ModelRoutes::one_model, this)});
}

// The members of both APIs: their clients pass over what is the other's.
Json ModelRoutes::model_row() const {
  const ServedModelFacts& facts = context_.model().facts();
  const std::chrono::system_clock::time_point created{std::chrono::seconds(facts.created)};
  return JsonObject{
      {"id", facts.served_name},
      {"object", "model"},
      {"created", facts.created},
      {"owned_by", "plumb"},
      {"root", facts.served_name},
      {"parent", nullptr},
      {"max_model_len", facts.context_len},
      {"meta", JsonObject{{"n_vocab", context_.model().tokenizer().vocab_size()},
                          {"n_ctx_train", facts.trained_context_len},
                          {"n_params", facts.num_parameters},
                          {"size", facts.weight_bytes}}},
      {"type", "model"},
      {"display_name", facts.served_name},
      {"created_at", to_rfc3339(created, 0)},
      {"lifecycle", "active"},
      {"max_input_tokens", facts.context_len},
      {"max_tokens", facts.context_len},
  };
}

void ModelRoutes::models(Transaction transaction) const {
  const std::string& served = context_.served_name();
  const auto has_row = is_on_page(transaction.request.query, served);
  if (const auto* error = std::get_if<ApiError>(&has_row)) {
    transaction.send_error(*error);
    return;
  }
  const bool is_there = std::get<bool>(has_row);
  JsonObject list{{"object", "list"},
                  {"data", is_there ? JsonArray{model_row()} : JsonArray()},
                  {"has_more", false},
                  {"first_id", is_there ? Json(served) : Json()},
                  {"last_id", is_there ? Json(served) : Json()}};
  if (!context_.options.models_catalog.empty()) {
    list.set("models", catalog_);
  }
  transaction.send_json(std::move(list));
}

void ModelRoutes::one_model(Transaction transaction, const std::string& id) const {
  const std::string& served = context_.served_name();
  if (id == served) {
    transaction.send_json(model_row());
  } else {
    transaction.send_error(ApiError::model_not_found(id, served));
  }
}

}  // namespace plumb
