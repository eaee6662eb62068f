// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"
#include "cli/serving.h"
#include "request/request.h"

namespace plumb {

/// What a person may set; absent values are the model's recommendation.
struct ChatSampling {
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<std::int64_t> seed;
  std::int64_t max_tokens = 0;
};

struct ChatStats {
  Usage usage;
  double seconds_to_first = 0;
  double seconds = 0;
};

/// A model that answers a conversation: in this process, or behind a server's address.
/// Thread: one.
class ChatModel {
 public:
  virtual ~ChatModel() = default;
  virtual std::string name() const = 0;
  /// Streams the answer to on_text; ends early, without an error, once `stop` is true.
  virtual Result<ChatStats> answer(const JsonArray& messages, const ChatSampling& sampling,
                                   const std::function<void(std::string_view)>& on_text,
                                   const std::atomic<bool>& stop) = 0;
};

/// Loads a model into this process. Errors kInvalidArgument: it has no chat template; as Serving.
Result<std::unique_ptr<ChatModel>> load_chat_model(const ServingOptions& options);
/// A server's chat endpoint; `url` with or without /v1. The key file may be empty.
/// Errors kUnavailable: no server answers there; kInvalidArgument: it refuses the key.
Result<std::unique_ptr<ChatModel>> connect_chat_model(const std::string& url,
                                                      const std::string& api_key_file);

/// The body of a chat request.
Json chat_body(const JsonArray& messages, const ChatSampling& sampling);

}  // namespace plumb
