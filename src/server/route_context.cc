// SPDX-License-Identifier: Apache-2.0
#include "server/route_context.h"

#include <chrono>
#include <utility>
#include <variant>

#include "server/request_body.h"

namespace plumb {

void RouteContext::get_route(std::string path, RouteClass access, Handler handler,
                             Dialect dialect) const {
  router.add({"GET", std::move(path), access,
              [handler = std::move(handler)](Transaction transaction, const std::string&) {
                handler(std::move(transaction));
              },
              dialect});
}

void RouteContext::operation_route(std::string path, RouteClass access, Operation handler) const {
  router.add({"POST", std::move(path), access,
              [handler = std::move(handler)](Transaction transaction, const std::string&) {
                const auto body = read_operation_body(transaction.request);
                if (const auto* error = std::get_if<ApiError>(&body)) {
                  transaction.send_error(*error);
                  return;
                }
                FieldReader fields(std::get<Json>(body).as_object());
                handler(fields, std::move(transaction));
              }});
}

bool RouteContext::are_fields_fine(FieldReader& fields, Transaction* transaction) const {
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

std::int64_t RouteContext::unix_seconds() const {
  return std::chrono::duration_cast<std::chrono::seconds>(parts.clock.wall_now().time_since_epoch())
      .count();
}

std::optional<ApiError> RouteContext::check_model(const std::string& name) const {
  if (name.empty() || name == served_name()) {
    return std::nullopt;
  }
  return ApiError::model_not_found(name, served_name());
}

std::optional<ApiError> RouteContext::check_fields(const std::vector<std::string>& ignored) const {
  if (ignored.empty() || !options.strict_fields) {
    return std::nullopt;
  }
  const std::string param = ignored.front().substr(0, 128);
  return ApiError::invalid("unknown_parameter", param, "unknown parameter: '" + param + "'");
}

std::optional<ApiError> RouteContext::check_generates() const {
  if (parts.service.can_generate()) {
    return std::nullopt;
  }
  return ApiError::invalid("model_not_generative", "model",
                           "'" + served_name() +
                               "' is served for embeddings and generates no text; use "
                               "/v1/embeddings, /v1/score or /v1/rerank");
}

ApiError shutting_down() {
  return ApiError::for_http(503, "the server is shutting down");
}

}  // namespace plumb
