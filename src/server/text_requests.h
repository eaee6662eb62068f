// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/chat_request.h"
#include "api/completion_request.h"
#include "frontend/response_format.h"
#include "server/body_preparation.h"
#include "server/call_table.h"
#include "server/route_context.h"

namespace plumb {

/// What every dialect does with a conversation or a text once it has been read: checks, the
/// prompts, and the call that answers.
/// Thread: any; what is returned runs on the loop.
class TextRequests {
 public:
  TextRequests(const RouteContext& context, CallTable& calls) : context_(context), calls_(calls) {}

  /// Makes the response of a checked conversation, once its prompt is there.
  using MakeChatFormat = std::function<std::unique_ptr<ResponseFormat>(
      ResponseEnvelope envelope, const ChatRequest& request,
      const std::vector<ChoiceRequest>& choices)>;
  /// `id` makes the id of the response. Without `launch` it becomes a call.
  Prepared prepare_conversation(ChatRequest request, std::string (*id)(),
                                MakeChatFormat make_format, Launch launch = {}) const;

  /// Makes the response of a checked text completion, once its prompts are there.
  using MakeTextFormat = std::function<std::unique_ptr<ResponseFormat>(
      ResponseEnvelope envelope, const CompletionRequest& request)>;
  Prepared prepare_text(CompletionRequest request, const Asker& asker,
                        MakeTextFormat make_format) const;

  /// Whether the model generates, is the one that was asked for, and all fields are looked at;
  /// `ignored` gets those that are not and may be passed over.
  std::optional<ApiError> check(const GenerationParams& params,
                                std::vector<std::string>* ignored) const;

 private:
  std::optional<ApiError> ignore_priority(const GenerationParams& params,
                                          std::vector<std::string>* ignored) const;
  ResponseEnvelope envelope(std::string id, const GenerationParams& params,
                            const Transaction& transaction) const;

  const RouteContext& context_;
  CallTable& calls_;
};

}  // namespace plumb
