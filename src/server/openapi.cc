// SPDX-License-Identifier: Apache-2.0
#include "server/openapi.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "server/openapi_files.h"

namespace plumb {
namespace {

// What any route may answer, one that asks for a key, and one that reads a body.
constexpr int kErrors[] = {400, 408, 413, 414, 431, 500, 501, 503};
constexpr int kKeyErrors[] = {401, 403, 429};
constexpr int kBodyErrors[] = {415, 504};

// Adds the members of objects, one level below: paths, and each kind of components.
void merge(const JsonObject& part, JsonObject* whole) {
  for (const JsonMember& member : part) {
    Json* there = whole->find(member.key);
    if (there == nullptr) {
      whole->append(member.key, member.value);
      continue;
    }
    PLUMB_CHECK(there->is_object() && member.value.is_object(), member.key);
    if (member.key == "components") {
      merge(member.value.as_object(), &there->as_object());
      continue;
    }
    for (const JsonMember& inner : member.value.as_object()) {
      PLUMB_CHECK(there->find(inner.key) == nullptr, inner.key + " is in two files");
      there->as_object().append(inner.key, inner.value);
    }
  }
}

JsonObject merged_files() {
  JsonObject whole;
  for (const WebAsset& file : openapi_files()) {
    const Result<Json> part = parse_json(file.content, {.duplicates = JsonDuplicates::kReject});
    PLUMB_CHECK(part.ok() && part.value().is_object(), std::string(file.name));
    merge(part.value().as_object(), &whole);
  }
  return whole;
}

// "/v1/models/{id}" of GET: get_v1_models_id
std::string operation_id(const Route& route) {
  std::string id = to_lower_ascii(route.method);
  bool is_apart = true;
  for (const char c : route.path) {
    const bool is_kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    id += is_kept && is_apart ? "_" : "";
    if (is_kept) {
      id += c;
    }
    is_apart = !is_kept;
  }
  return id;
}

const char* error_name(Dialect dialect) {
  switch (dialect) {
    case Dialect::kAnthropic:
      return "AnthropicError";
    case Dialect::kOllama:
      return "OllamaError";
    default:
      return "OpenAiError";
  }
}

void add_errors(std::span<const int> statuses, Dialect dialect, JsonObject* responses) {
  const std::string reference = std::string("#/components/responses/") + error_name(dialect);
  for (const int status : statuses) {
    const std::string key = std::to_string(status);
    if (responses->find(key) == nullptr) {
      responses->append(key, JsonObject{{"$ref", reference}});
    }
  }
}

Json operation_of(const JsonObject& written, const Route& route) {
  JsonObject operation = written;
  const bool asks_for_key = route.access != RouteClass::kPublic;
  operation.append("operationId", operation_id(route));
  operation.append("security", asks_for_key ? JsonArray{JsonObject{{"bearer", JsonArray()}},
                                                        JsonObject{{"key", JsonArray()}}}
                                            : JsonArray());
  Json* responses = operation.find("responses");
  PLUMB_CHECK(responses != nullptr && responses->is_object(), route.path);
  add_errors(kErrors, route.dialect, &responses->as_object());
  if (asks_for_key) {
    add_errors(kKeyErrors, route.dialect, &responses->as_object());
  }
  if (written.find("requestBody") != nullptr) {
    add_errors(kBodyErrors, route.dialect, &responses->as_object());
  }
  return operation;
}

// What the files say of a path; null if nothing.
const Json* written_path(const JsonObject& written, const std::string& path) {
  const Json* item = written.find(path);
  return item != nullptr && item->is_string() ? written.find(item->as_string()) : item;
}

JsonObject paths_of(std::span<const Route> routes, const JsonObject& written) {
  JsonObject paths;
  for (const Route& route : routes) {
    const Json* item = written_path(written, route.path);
    const Json* operation = item != nullptr ? item->find(to_lower_ascii(route.method)) : nullptr;
    PLUMB_CHECK(operation != nullptr, route.method + " " + route.path + " is described nowhere");
    if (paths.find(route.path) == nullptr) {
      const Json* parameters = item->find("parameters");
      paths.append(route.path,
                   parameters != nullptr ? JsonObject{{"parameters", *parameters}} : JsonObject());
    }
    paths.find(route.path)
        ->as_object()
        .append(to_lower_ascii(route.method), operation_of(operation->as_object(), route));
  }
  return paths;
}

}  // namespace

Json openapi_document(std::span<const Route> routes, const std::string& version,
                      const std::string& root_path) {
  JsonObject document = merged_files();
  document.find("info")->as_object().append("version", version);
  document.append("servers", JsonArray{JsonObject{{"url", root_path.empty() ? "/" : root_path}}});
  JsonObject paths = paths_of(routes, document.find("paths")->as_object());
  document.set("paths", std::move(paths));
  return document;
}

void add_openapi_route(Router& router, const std::string& version, const std::string& root_path) {
  std::vector<Route> routes = router.routes();
  Route& route = routes.emplace_back(Route{"GET", "/openapi.json", RouteClass::kPublic, {}});
  route.handler = [text = to_text(openapi_document(routes, version, root_path))](
                      Transaction transaction, const std::string&) {
    transaction.send(200, "application/json", text);
  };
  router.add(std::move(route));
}

}  // namespace plumb
