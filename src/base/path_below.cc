// SPDX-License-Identifier: Apache-2.0
#include "base/path_below.h"

#include <array>
#include <climits>
#include <cstdlib>
#include <optional>

namespace plumb {
namespace {

std::optional<std::string> resolved_path(const std::string& path) {
  std::array<char, PATH_MAX> buffer{};
  if (path.find('\0') != std::string::npos || ::realpath(path.c_str(), buffer.data()) == nullptr) {
    return std::nullopt;
  }
  return std::string(buffer.data());
}

}  // namespace

Result<std::string> path_below(const std::string& root, const std::string& path) {
  std::optional<std::string> folder = resolved_path(root);
  if (!folder) {
    return Status{Code::kNotFound, root + ": no such folder"};
  }
  if (!folder->ends_with('/')) {
    *folder += '/';
  }
  const std::optional<std::string> found =
      resolved_path(path.starts_with('/') ? path : *folder + path);
  if (path.empty() || !found || !found->starts_with(*folder)) {
    return Status{Code::kInvalidArgument,
                  "'" + path.substr(0, 256) + "' is nothing in the folder that is allowed"};
  }
  return *found;
}

}  // namespace plumb
