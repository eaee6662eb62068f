// SPDX-License-Identifier: Apache-2.0
#include "grammar/uri_reference.h"

#include <algorithm>
#include <charconv>

namespace plumb {

namespace {

/// The parts of a URI with their delimiters: "http:", "//host", "/path", "?query".
struct Parts {
  std::string scheme;
  std::string authority;
  std::string path;
  std::string query;
};

Parts split(std::string_view uri) {
  Parts parts;
  uri = uri.substr(0, uri.find('#'));
  const std::size_t colon = uri.find(':');
  if (colon != std::string_view::npos && colon > 0 && colon < uri.find_first_of("/?")) {
    parts.scheme = uri.substr(0, colon + 1);
    uri.remove_prefix(colon + 1);
  }
  if (uri.starts_with("//")) {
    const std::size_t end = std::min(uri.find_first_of("/?", 2), uri.size());
    parts.authority = uri.substr(0, end);
    uri.remove_prefix(end);
  }
  const std::size_t query = std::min(uri.find('?'), uri.size());
  parts.path = uri.substr(0, query);
  parts.query = uri.substr(query);
  return parts;
}

/// Resolves the segments "." and "..".
std::string without_dots(std::string_view path) {
  std::string out;
  const auto drop_last = [&out] {
    out.erase(out.rfind('/') == std::string::npos ? 0 : out.rfind('/'));
  };
  while (!path.empty()) {
    if (path.starts_with("../")) {
      path.remove_prefix(3);
    } else if (path.starts_with("./") || path.starts_with("/./")) {
      path.remove_prefix(2);
    } else if (path.starts_with("/../")) {
      path.remove_prefix(3);
      drop_last();
    } else if (path == "/.") {
      path = "/";
    } else if (path == "/..") {
      path = "/";
      drop_last();
    } else if (path == "." || path == "..") {
      path = {};
    } else {
      const std::size_t end = std::min(path.find('/', 1), path.size());
      out += path.substr(0, end);
      path.remove_prefix(end);
    }
  }
  return out;
}

std::string merged_path(const Parts& base, const std::string& path) {
  if (!base.authority.empty() && base.path.empty()) {
    return "/" + path;
  }
  const std::size_t slash = base.path.rfind('/');
  return (slash == std::string::npos ? "" : base.path.substr(0, slash + 1)) + path;
}

}  // namespace

std::string resolve_uri(std::string_view base, std::string_view reference) {
  const Parts from = split(base);
  Parts to = split(reference);
  if (to.scheme.empty()) {
    to.scheme = from.scheme;
    if (to.authority.empty()) {
      to.authority = from.authority;
      if (to.path.empty()) {
        to.path = from.path;
        if (to.query.empty()) {
          to.query = from.query;
        }
        return to.scheme + to.authority + to.path + to.query;
      }
      if (!to.path.starts_with('/')) {
        to.path = merged_path(from, to.path);
      }
    }
  }
  return to.scheme + to.authority + without_dots(to.path) + to.query;
}

std::string uri_fragment(std::string_view reference) {
  const std::size_t hash = reference.find('#');
  std::string out;
  if (hash == std::string_view::npos) {
    return out;
  }
  const std::string_view text = reference.substr(hash + 1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size()) {
      const char* digits = text.data() + i + 1;
      const auto [end, error] = std::from_chars(digits, digits + 2, value, 16);
      if (error == std::errc{} && end == digits + 2) {
        out += static_cast<char>(value);
        i += 2;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

}  // namespace plumb
