// SPDX-License-Identifier: Apache-2.0
#include "server/route_hint.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/nearest_name.h"
#include "base/text.h"

namespace plumb {
namespace {

constexpr std::size_t kMaxShown = 128;
constexpr std::size_t kMaxCompared = 256;
constexpr std::string_view kAnyWord = "{id}";
constexpr std::string_view kPrefixes[] = {"v1", "v2", "api", "openai"};
// Of OpenAI's API.
constexpr std::string_view kNotOffered[] = {"assistants",  "audio",        "batches",     "files",
                                            "fine_tuning", "images",       "moderations", "threads",
                                            "uploads",     "vector_stores"};

using Segments = std::vector<std::string_view>;

// Without empty ones, as of doubled slashes.
Segments segments_of(std::string_view path) {
  Segments segments = split(path, '/');
  std::erase(segments, std::string_view());
  return segments;
}

std::string path_of(std::span<const std::string_view> segments) {
  std::string path;
  for (const std::string_view segment : segments) {
    path += "/" + std::string(segment);
  }
  return path;
}

// The route with its "{id}" as it was written; `written` are as many segments as the end of it.
std::string filled(const Segments& route, std::span<const std::string_view> written) {
  Segments segments = route;
  const std::size_t begin = route.size() - written.size();
  for (std::size_t i = begin; i < route.size(); ++i) {
    segments[i] = route[i] == kAnyWord ? written[i - begin] : route[i];
  }
  return path_of(segments);
}

bool is_prefix(std::string_view segment) {
  const std::string lower = to_lower_ascii(segment);
  return std::find(std::begin(kPrefixes), std::end(kPrefixes), lower) != std::end(kPrefixes);
}

std::size_t num_prefixes(const Segments& segments) {
  const auto end = std::find_if_not(segments.begin(), segments.end(), is_prefix);
  return static_cast<std::size_t>(end - segments.begin());
}

// Whether a route matches these segments; "{id}" is any one.
bool matches(std::span<const std::string_view> route, std::span<const std::string_view> written) {
  return std::equal(route.begin(), route.end(), written.begin(), written.end(),
                    [](std::string_view expected, std::string_view found) {
                      return expected == kAnyWord || expected == to_lower_ascii(found);
                    });
}

// A path that was asked for, in its parts.
struct Written {
  Segments all;
  std::size_t num_prefixes = 0;

  std::span<const std::string_view> bare() const { return std::span(all).subspan(num_prefixes); }
};

// A route that is all of the path but for prefixes in front of it: /v1/v1/messages, /v1/api/chat.
std::string behind_prefixes(const Written& written, std::span<const std::string> routes) {
  const auto all = std::span(written.all);
  for (const std::string& route : routes) {
    const Segments segments = segments_of(route);
    const std::size_t num_bare = segments.size() - num_prefixes(segments);
    if (num_bare == written.bare().size() && num_bare > 0 && segments.size() <= all.size() &&
        matches(segments, all.last(segments.size()))) {
      return filled(segments, all.last(segments.size()));
    }
  }
  return {};
}

// A route with the same words behind other prefixes: /chat/completions.
std::string with_other_prefixes(const Written& written, std::span<const std::string> routes) {
  for (const std::string& route : routes) {
    const Segments segments = segments_of(route);
    const std::size_t begin = num_prefixes(segments);
    if (segments.size() > begin && matches(std::span(segments).subspan(begin), written.bare())) {
      return filled(segments, written.bare());
    }
  }
  return {};
}

// A route that goes on where the path ends: /v1/chat.
std::string continued(const Written& written, std::span<const std::string> routes) {
  if (written.num_prefixes == 0 || written.bare().empty()) {
    return {};
  }
  const std::string begin = path_of(std::span(written.all).subspan(written.num_prefixes - 1)) + "/";
  const auto found = std::find_if(routes.begin(), routes.end(), [&](const std::string& route) {
    return route.starts_with(begin) && route.find('{') == std::string::npos;
  });
  return found == routes.end() ? "" : *found;
}

// A route that is written nearly so.
std::string nearest(const Written& written, std::span<const std::string> routes) {
  std::vector<std::string> names;
  std::vector<std::string> paths;
  for (const std::string& route : routes) {
    const Segments segments = segments_of(route);
    if (route.find('{') == std::string::npos) {
      names.push_back(path_of(std::span(segments).subspan(num_prefixes(segments))));
      paths.push_back(route);
    }
  }
  const std::string name = nearest_name(to_lower_ascii(path_of(written.bare())), names);
  const auto at = std::find(names.begin(), names.end(), name);
  return name.empty() ? "" : paths[static_cast<std::size_t>(at - names.begin())];
}

}  // namespace

std::string unknown_route(std::string_view method, std::string_view path, std::string_view root,
                          std::span<const std::string> routes) {
  const std::string shown(path.substr(0, kMaxShown));
  const std::string list = "see " + std::string(root) + "/openapi.json";
  if (path.starts_with(root)) {
    path.remove_prefix(root.size());
  }
  Written written{segments_of(path.substr(0, kMaxCompared)), 0};
  written.num_prefixes = num_prefixes(written.all);
  const auto bare = written.bare();
  std::string meant = behind_prefixes(written, routes);
  meant = meant.empty() ? continued(written, routes) : meant;
  meant = meant.empty() ? with_other_prefixes(written, routes) : meant;
  if (meant.empty() && !bare.empty() &&
      std::find(std::begin(kNotOffered), std::end(kNotOffered), bare.front()) !=
          std::end(kNotOffered)) {
    return "no route " + std::string(method.substr(0, 16)) + " " + shown + ": /v1/" +
           std::string(bare.front()) + " is not offered by this server; " + list;
  }
  meant = meant.empty() ? nearest(written, routes) : meant;
  return "no route " + std::string(method.substr(0, 16)) + " " + shown +
         (meant.empty() ? "; " + list
                        : "; did you mean " + std::string(root) + meant + "? (" + list + ")");
}

}  // namespace plumb
