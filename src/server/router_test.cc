// SPDX-License-Identifier: Apache-2.0
#include "server/router.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

TEST(Router, finds_routes_by_method_and_path_and_names_allowed_methods) {
  Router router;
  router.add({"GET", "/v1/models", RouteClass::kNormal, {}});
  router.add({"GET", "/v1/models/{id}", RouteClass::kNormal, {}});
  router.add({"POST", "/v1/models/{id}", RouteClass::kNormal, {}});
  EXPECT_EQ(router.match("GET", "/v1/models/").route->path, "/v1/models");
  EXPECT_EQ(router.match("GET", "/v1/models/org%2Fname:lora").parameter, "org/name:lora");
  EXPECT_EQ(router.match("GET", "/v1/models/a/b").route, nullptr);
  EXPECT_EQ(router.match("GET", "/v1/%6dodels").route->path, "/v1/models");
  EXPECT_EQ(router.match("PUT", "/v1/models/a").allowed, (std::vector<std::string>{"GET", "POST"}));
  EXPECT_TRUE(router.match("GET", "/nope").allowed.empty());
  EXPECT_EQ(router.paths(), (std::vector<std::string>{"/v1/models", "/v1/models/{id}"}));
}

TEST(QueryValues, are_all_of_a_name_in_order_and_decoded) {
  const std::string_view query = "a=1&b%5B%5D=x%20y&a=&c&a=2=3&=4";
  EXPECT_EQ(query_values(query, "a"), (std::vector<std::string>{"1", "", "2=3"}));
  EXPECT_EQ(query_values(query, "b[]"), (std::vector<std::string>{"x y"}));
  EXPECT_EQ(query_values(query, "c"), (std::vector<std::string>{""}));
  EXPECT_EQ(query_value(query, "a"), "1");
  EXPECT_EQ(query_value(query, "d"), "");
  EXPECT_TRUE(query_values("", "a").empty());
}

TEST(PercentDecoded, resolves_escapes_and_leaves_broken_ones) {
  EXPECT_EQ(percent_decoded("a%20b%2fc%zz%4"), "a b/c%zz%4");
}

}  // namespace
}  // namespace plumb
