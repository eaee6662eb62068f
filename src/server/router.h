// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/auth.h"
#include "server/transaction.h"

namespace plumb {

/// One route: what it answers to and who may ask.
struct Route {
  std::string method;
  std::string path;  ///< a last segment "{id}" matches any one segment
  RouteClass access = RouteClass::kNormal;
  std::function<void(Transaction transaction, const std::string& parameter)> handler;
  Dialect dialect = Dialect::kOpenAi;
};

/// What the router found for a path and method.
struct RouteMatch {
  const Route* route = nullptr;      ///< null: see allowed
  std::string parameter;             ///< of "{id}", percent-decoded
  std::vector<std::string> allowed;  ///< methods that the path knows; empty = unknown path
};

/// The list of routes. A trailing slash of a path is tolerated.
/// Thread: any after building.
class Router {
 public:
  void add(Route route) { routes_.push_back(std::move(route)); }

  RouteMatch match(std::string_view method, std::string_view path) const;

  /// In the order of addition.
  const std::vector<Route>& routes() const { return routes_; }

  /// Every path once, in the order of addition.
  std::vector<std::string> paths() const;

 private:
  std::vector<Route> routes_;
};

/// The values of a name in a query string, in order, percent-decoded as the names are.
std::vector<std::string> query_values(std::string_view query, std::string_view name);
/// The first of them; empty if there is none.
std::string query_value(std::string_view query, std::string_view name);

/// "%2F" and friends resolved; malformed escapes stay as they are.
std::string percent_decoded(std::string_view text);

}  // namespace plumb
