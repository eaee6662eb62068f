// SPDX-License-Identifier: Apache-2.0
#include "server/models_catalog.h"

#include <utility>

#include "base/file.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxCatalogBytes = std::int64_t{4} << 20;

Status not_a_catalog(const std::string& path, const std::string& why) {
  return {Code::kInvalidArgument, "--models-catalog " + path + ": " + why};
}

}  // namespace

Result<JsonArray> read_models_catalog(const std::string& path) {
  if (path.empty()) {
    return JsonArray();
  }
  PLUMB_ASSIGN(const std::string text, read_file(path, kMaxCatalogBytes));
  Result<Json> json = parse_json(text);
  if (!json.ok()) {
    return not_a_catalog(path, json.status().message());
  }
  const Json* models = json.value().is_object() ? json.value().find("models") : &json.value();
  if (models == nullptr || !models->is_array()) {
    return not_a_catalog(path, "expected an array, or an object with an array \"models\"");
  }
  for (const Json& model : models->as_array()) {
    if (!model.is_object()) {
      return not_a_catalog(path, "holds " + to_text(model).substr(0, 32) + ", expected objects");
    }
  }
  return models->as_array();
}

}  // namespace plumb
