// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "api/dialect.h"
#include "api/error.h"
#include "net/http.h"
#include "server/router.h"
#include "server/server_options.h"

namespace plumb {

/// The way from a request to its route below the root path, and what is said where there is none.
/// Both outlive it. Thread: any, once the router is built.
class Routing {
 public:
  Routing(const Router& router, const ServerOptions& options)
      : router_(router), options_(options) {}

  RouteMatch match(const HttpRequest& request) const;
  /// How an error is told. `route` is null where the request has none. Clients of Anthropic say so
  /// in a header, and understand nothing else.
  Dialect dialect_of(const HttpRequest& request, const Route* route) const;
  /// Why there is no handler: the path is unknown, or the method is none of the path's.
  ApiError error(const HttpRequest& request, const RouteMatch& match) const;

 private:
  std::string_view path(const HttpRequest& request) const;

  const Router& router_;
  const ServerOptions& options_;
};

}  // namespace plumb
