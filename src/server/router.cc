// SPDX-License-Identifier: Apache-2.0
#include "server/router.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace plumb {
namespace {

constexpr std::string_view kParameter = "{id}";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Segment by segment, each decoded after the split, so that %2F is no separator.
bool path_matches(const std::string& pattern, std::string_view path, std::string* parameter) {
  const std::vector<std::string_view> expected = split(pattern, '/');
  const std::vector<std::string_view> found = split(path, '/');
  if (expected.size() != found.size()) {
    return false;
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    std::string segment = percent_decoded(found[i]);
    if (expected[i] == kParameter && !segment.empty()) {
      *parameter = std::move(segment);
    } else if (expected[i] != segment) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::vector<std::string> query_values(std::string_view query, std::string_view name) {
  std::vector<std::string> values;
  for (const std::string_view pair : split(query, '&')) {
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (percent_decoded(pair.substr(0, equals)) == name) {
      values.push_back(percent_decoded(pair.substr(std::min(equals + 1, pair.size()))));
    }
  }
  return values;
}

std::string query_value(std::string_view query, std::string_view name) {
  std::vector<std::string> values = query_values(query, name);
  return values.empty() ? "" : std::move(values.front());
}

std::vector<std::string> Router::paths() const {
  std::vector<std::string> paths;
  for (const Route& route : routes_) {
    if (std::find(paths.begin(), paths.end(), route.path) == paths.end()) {
      paths.push_back(route.path);
    }
  }
  return paths;
}

RouteMatch Router::match(std::string_view method, std::string_view path) const {
  if (path.size() > 1 && path.ends_with('/')) {
    path.remove_suffix(1);
  }
  RouteMatch match;
  for (const Route& route : routes_) {
    std::string parameter;
    if (!path_matches(route.path, path, &parameter)) {
      continue;
    }
    if (route.method == method) {
      match.route = &route;
      match.parameter = std::move(parameter);
      return match;
    }
    if (std::find(match.allowed.begin(), match.allowed.end(), route.method) ==
        match.allowed.end()) {
      match.allowed.push_back(route.method);
    }
  }
  return match;
}

}  // namespace plumb
