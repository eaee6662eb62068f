// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "api/error.h"
#include "server/body_preparation.h"
#include "server/route_context.h"

namespace plumb {

/// Why a path of Ollama's API is none here, where more can be said than that.
std::optional<ApiError> ollama_route_error(std::string_view path);

/// The served model as Ollama's API speaks of it: by its own names, and loaded for a time.
/// Thread: check() and keeping() any; the rest the server's loop.
class OllamaModel {
 public:
  explicit OllamaModel(const RouteContext& context) : context_(context) {}

  /// Whether a request that names this model is for the one that is served.
  std::optional<ApiError> check(const std::string& name) const;
  /// The model is used, and is to stay for that time; negative: for ever; none: the default.
  void note_keep_alive(std::optional<std::chrono::nanoseconds> keep_alive);
  /// When Ollama would unload it.
  std::chrono::system_clock::time_point expires_at() const;
  /// What was prepared, noting that the model is used when its turn comes; an error as it is.
  Prepared keeping(Prepared prepared, std::optional<std::chrono::nanoseconds> keep_alive);

 private:
  const RouteContext& context_;
  std::optional<std::chrono::system_clock::time_point> expires_at_;  // absent until it was used
};

}  // namespace plumb
