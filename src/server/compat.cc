// SPDX-License-Identifier: Apache-2.0
#include "server/compat.h"

#include <algorithm>

namespace plumb {

Status check_compat(const std::vector<std::string>& names) {
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (*name != kLlamaCppCompat) {
      return {Code::kInvalidArgument,
              "--compat: '" + name->substr(0, 64) + "' is not known, expected a list of llamacpp"};
    }
    if (std::find(names.begin(), name, *name) != name) {
      return {Code::kInvalidArgument, "--compat: '" + *name + "' is given twice"};
    }
  }
  return {};
}

bool is_compat(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<ApiError> compat_route_error(std::string_view path) {
  if (path != "/completion" && path != "/completion/") {
    return std::nullopt;
  }
  return ApiError::not_found(
      "no route /completion: llama.cpp's native route is served with --compat llamacpp; "
      "/v1/completions is there without it");
}

}  // namespace plumb
