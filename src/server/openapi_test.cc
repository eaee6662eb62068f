// SPDX-License-Identifier: Apache-2.0
#include "server/openapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "server/openapi_files.h"

namespace plumb {
namespace {

const std::vector<Route>& some_routes() {
  static const std::vector<Route> routes{
      {"GET", "/v1/models", RouteClass::kNormal, {}},
      {"GET", "/v1/responses/{id}", RouteClass::kNormal, {}},
      {"DELETE", "/v1/responses/{id}", RouteClass::kNormal, {}},
      {"POST", "/v1/messages", RouteClass::kNormal, {}, Dialect::kAnthropic},
      {"GET", "/api/version", RouteClass::kPublic, {}, Dialect::kOllama},
      {"GET", "/healthz", RouteClass::kPublic, {}}};
  return routes;
}

// The value at names that lead to it; null if it is not there.
Json value_at(const Json& json, const std::vector<std::string>& names) {
  const Json* here = &json;
  for (const std::string& name : names) {
    here = here->find(name);
    if (here == nullptr) {
      return {};
    }
  }
  return *here;
}

std::vector<std::string> keys_of(const Json& json) {
  std::vector<std::string> keys;
  for (const JsonMember& member : json.as_object()) {
    keys.push_back(member.key);
  }
  return keys;
}

void collect_references(const Json& json, std::set<std::string>* out) {
  if (json.is_array()) {
    for (const Json& item : json.as_array()) {
      collect_references(item, out);
    }
  }
  if (!json.is_object()) {
    return;
  }
  for (const JsonMember& member : json.as_object()) {
    if (member.key == "$ref") {
      out->insert(member.value.as_string());
    }
    collect_references(member.value, out);
  }
}

// Every operation that the files know, as routes.
// Of everything that is described; a text is the path that is described alike.
std::vector<Route> all_routes() {
  JsonObject paths;
  for (const WebAsset& file : openapi_files()) {
    const Json part = parse_json(file.content).value();
    const Json* own = part.find("paths");
    for (const JsonMember& path : own != nullptr ? own->as_object() : JsonObject()) {
      paths.append(path.key, path.value);
    }
  }
  std::vector<Route> routes;
  for (const JsonMember& path : paths) {
    const Json& item = path.value.is_string() ? *paths.find(path.value.as_string()) : path.value;
    for (const char* method : {"GET", "POST", "PUT", "DELETE"}) {
      if (item.find(to_lower_ascii(method)) != nullptr) {
        routes.push_back({method, path.key, RouteClass::kNormal, {}, Dialect::kAnthropic});
      }
    }
  }
  return routes;
}

TEST(OpenApi, tells_of_the_routes_that_there_are_in_their_order) {
  const Json document = openapi_document(some_routes(), "1.2.3", "");
  EXPECT_EQ(document.find("openapi")->as_string(), "3.1.0");
  EXPECT_EQ(value_at(document, {"info", "version"}), Json("1.2.3"));
  EXPECT_THAT(keys_of(*document.find("paths")),
              testing::ElementsAre("/v1/models", "/v1/responses/{id}", "/v1/messages",
                                   "/api/version", "/healthz"));
  EXPECT_THAT(keys_of(value_at(document, {"paths", "/v1/responses/{id}"})),
              testing::ElementsAre("parameters", "get", "delete"));
}

TEST(OpenApi, an_operation_has_its_id_and_keys_and_errors_from_its_route) {
  const Json document = openapi_document(some_routes(), "1.2.3", "");
  const auto of = [&](const char* path, const char* method, const std::vector<std::string>& names) {
    return value_at(value_at(document, {"paths", path, method}), names);
  };
  EXPECT_EQ(of("/v1/responses/{id}", "delete", {"operationId"}), Json("delete_v1_responses_id"));
  EXPECT_EQ(to_text(of("/v1/models", "get", {"security"})), R"([{"bearer":[]},{"key":[]}])");
  EXPECT_EQ(to_text(of("/healthz", "get", {"security"})), "[]");
  EXPECT_EQ(of("/v1/models", "get", {"responses", "401", "$ref"}),
            Json("#/components/responses/OpenAiError"));
  EXPECT_TRUE(of("/healthz", "get", {"responses", "401"}).is_null());
  EXPECT_EQ(of("/v1/messages", "post", {"responses", "415", "$ref"}),
            Json("#/components/responses/AnthropicError"));
  EXPECT_EQ(of("/api/version", "get", {"responses", "503", "$ref"}),
            Json("#/components/responses/OllamaError"));
  EXPECT_TRUE(of("/api/version", "get", {"responses", "415"}).is_null());
}

TEST(OpenApi, a_path_may_be_another_name_of_one) {
  const Json document = openapi_document(some_routes(), "1.2.3", "");
  EXPECT_EQ(value_at(document, {"paths", "/healthz", "get", "operationId"}), Json("get_healthz"));
  EXPECT_EQ(value_at(document, {"paths", "/healthz", "get", "summary"}),
            Json("Whether the engine gets on"));
}

TEST(OpenApi, paths_are_below_the_root_path) {
  EXPECT_EQ(to_text(*openapi_document({}, "1", "/llm").find("servers")), R"([{"url":"/llm"}])");
  EXPECT_EQ(to_text(*openapi_document({}, "1", "").find("servers")), R"([{"url":"/"}])");
}

TEST(OpenApi, every_reference_is_there_and_everything_is_referred_to) {
  std::vector<Route> routes = all_routes();
  routes.push_back({"GET", "/api/version", RouteClass::kPublic, {}, Dialect::kOllama});
  const Json document = openapi_document(routes, "1", "");
  std::set<std::string> references;
  collect_references(document, &references);
  std::set<std::string> components;
  for (const char* kind : {"parameters", "responses", "schemas"}) {
    for (const std::string& name : keys_of(value_at(document, {"components", kind}))) {
      components.insert(std::string("#/components/") + kind + "/" + name);
    }
  }
  EXPECT_THAT(references, testing::ContainerEq(components));
}

TEST(OpenApi, ids_of_operations_differ) {
  std::set<std::string> ids;
  const Json document = openapi_document(all_routes(), "1", "");
  for (const JsonMember& path : document.find("paths")->as_object()) {
    for (const JsonMember& operation : path.value.as_object()) {
      if (operation.key != "parameters") {
        const std::string id = operation.value.find("operationId")->as_string();
        EXPECT_TRUE(ids.insert(id).second) << id;
      }
    }
  }
  EXPECT_GT(ids.size(), 50U);
}

TEST(OpenApi, the_route_tells_of_itself) {
  Router router;
  router.add({"GET", "/version", RouteClass::kPublic, {}});
  add_openapi_route(router, "1.2.3", "");
  const RouteMatch match = router.match("GET", "/openapi.json");
  ASSERT_NE(match.route, nullptr);
  EXPECT_EQ(match.route->access, RouteClass::kPublic);
  EXPECT_TRUE(static_cast<bool>(match.route->handler));
  EXPECT_THAT(keys_of(*openapi_document(router.routes(), "1", "").find("paths")),
              testing::ElementsAre("/version", "/openapi.json"));
}

}  // namespace
}  // namespace plumb
