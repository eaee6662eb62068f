// SPDX-License-Identifier: Apache-2.0
#include "server/routing.h"

#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "server/compat.h"
#include "server/ollama_model.h"
#include "server/route_hint.h"

namespace plumb {

// The path below the root path; empty if it is not below.
std::string_view Routing::path(const HttpRequest& request) const {
  std::string_view path = request.path;
  if (!path.starts_with(options_.root_path)) {
    return {};
  }
  path.remove_prefix(options_.root_path.size());
  return path.empty() ? "/" : path;
}

RouteMatch Routing::match(const HttpRequest& request) const {
  return router_.match(request.method, path(request));
}

Dialect Routing::dialect_of(const HttpRequest& request, const Route* route) const {
  if (request.headers.find("anthropic-version").has_value()) {
    return Dialect::kAnthropic;
  }
  if (route != nullptr) {
    return route->dialect;
  }
  const std::string_view below = path(request);
  if (below.starts_with("/v1/messages")) {
    return Dialect::kAnthropic;
  }
  return below.starts_with("/api/") ? Dialect::kOllama : Dialect::kOpenAi;
}

ApiError Routing::error(const HttpRequest& request, const RouteMatch& match) const {
  if (!match.allowed.empty()) {
    return ApiError::for_http(405, "method " + request.method.substr(0, 16) +
                                       " is not allowed here, expected " +
                                       join(match.allowed, ", "));
  }
  if (std::optional<ApiError> error = ollama_route_error(path(request))) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = compat_route_error(path(request))) {
    return *std::move(error);
  }
  return ApiError::not_found(
      unknown_route(request.method, request.path, options_.root_path, router_.paths()));
}

}  // namespace plumb
