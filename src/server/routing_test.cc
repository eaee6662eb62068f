// SPDX-License-Identifier: Apache-2.0
#include "server/routing.h"

#include <gtest/gtest.h>
#include <string>

namespace plumb {
namespace {

HttpRequest request_of(const std::string& method, const std::string& path) {
  HttpRequest request;
  request.method = method;
  request.path = path;
  return request;
}

class RoutingTest : public testing::Test {
 protected:
  RoutingTest() {
    router_.add({"POST", "/api/chat", RouteClass::kNormal, {}, Dialect::kOllama});
    router_.add({"GET", "/health", RouteClass::kPublic, {}});
    options_.root_path = "/llm";
  }

  Router router_;
  ServerOptions options_;
  Routing routing_{router_, options_};
};

TEST_F(RoutingTest, routes_are_below_the_root_path_only) {
  const RouteMatch below = routing_.match(request_of("GET", "/llm/health"));
  ASSERT_NE(below.route, nullptr);
  EXPECT_EQ(below.route->path, "/health");
  EXPECT_EQ(routing_.match(request_of("GET", "/health")).route, nullptr);
}

TEST_F(RoutingTest, a_dialect_is_told_by_header_then_route_then_path) {
  const Route& route = router_.routes().front();
  HttpRequest request = request_of("POST", "/llm/v1/messages/unknown");
  EXPECT_EQ(routing_.dialect_of(request, &route), Dialect::kOllama);
  EXPECT_EQ(routing_.dialect_of(request, nullptr), Dialect::kAnthropic);
  EXPECT_EQ(routing_.dialect_of(request_of("GET", "/llm/api/x"), nullptr), Dialect::kOllama);
  EXPECT_EQ(routing_.dialect_of(request_of("GET", "/v1/messages"), nullptr), Dialect::kOpenAi);
  request.headers.add("anthropic-version", "2023-06-01");
  EXPECT_EQ(routing_.dialect_of(request, &route), Dialect::kAnthropic);
}

TEST_F(RoutingTest, the_error_says_what_there_is_instead) {
  const HttpRequest wrong_method = request_of("GET", "/llm/api/chat");
  const ApiError method = routing_.error(wrong_method, routing_.match(wrong_method));
  EXPECT_EQ(method.http_status, 405);
  EXPECT_EQ(method.message, "method GET is not allowed here, expected POST");
  const ApiError unknown = routing_.error(request_of("GET", "/llm/x"), {});
  EXPECT_EQ(unknown.http_status, 404);
  EXPECT_EQ(unknown.message, "no route GET /llm/x; see /llm/openapi.json");
  const ApiError store = routing_.error(request_of("POST", "/llm/api/push"), {});
  EXPECT_EQ(store.message, "no route /api/push: this server keeps no store of models");
}

}  // namespace
}  // namespace plumb
