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

TEST(PercentDecoded, resolves_escapes_and_leaves_broken_ones) {
  EXPECT_EQ(percent_decoded("a%20b%2fc%zz%4"), "a b/c%zz%4");
}

}  // namespace
}  // namespace plumb
