// SPDX-License-Identifier: Apache-2.0
#include "server/ollama_model.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "api/ollama_request.h"

namespace plumb {
namespace {

constexpr std::chrono::minutes kDefaultKeepAlive{5};
constexpr std::chrono::hours kForEver{24 * 365 * 100};

// What there is of Ollama's API only where models are kept in a store.
constexpr std::string_view kStorePaths[] = {"/api/create", "/api/push", "/api/copy", "/api/delete"};
constexpr std::string_view kBlobs = "/api/blobs/";

}  // namespace

std::optional<ApiError> ollama_route_error(std::string_view path) {
  const bool is_of_store =
      std::find(std::begin(kStorePaths), std::end(kStorePaths), path) != std::end(kStorePaths);
  if (is_of_store || path.starts_with(kBlobs)) {
    return ApiError::not_found("no route " + std::string(path.substr(0, 128)) +
                               ": this server keeps no store of models");
  }
  return std::nullopt;
}

std::optional<ApiError> OllamaModel::check(const std::string& name) const {
  if (with_ollama_tag(name) == with_ollama_tag(context_.served_name())) {
    return std::nullopt;
  }
  return ApiError::model_not_found(name, context_.served_name());
}

void OllamaModel::note_keep_alive(std::optional<std::chrono::nanoseconds> keep_alive) {
  const auto now = context_.parts.clock.wall_now();
  const std::chrono::nanoseconds time = keep_alive.value_or(kDefaultKeepAlive);
  // In whole seconds: for ever does not fit a sum of nanoseconds.
  expires_at_ = now + (time.count() < 0 ? std::chrono::seconds(kForEver)
                                        : std::chrono::floor<std::chrono::seconds>(time));
}

std::chrono::system_clock::time_point OllamaModel::expires_at() const {
  return expires_at_.value_or(context_.parts.clock.wall_now() + kDefaultKeepAlive);
}

Prepared OllamaModel::keeping(Prepared prepared,
                              std::optional<std::chrono::nanoseconds> keep_alive) {
  if (std::holds_alternative<ApiError>(prepared)) {
    return prepared;
  }
  return [this, run = std::get<0>(std::move(prepared)), keep_alive](Transaction transaction) {
    note_keep_alive(keep_alive);
    run(std::move(transaction));
  };
}

}  // namespace plumb
