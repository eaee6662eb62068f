// SPDX-License-Identifier: Apache-2.0
#include "server/completion_routes.h"

#include <functional>
#include <utility>
#include <variant>

#include "api/ids.h"

namespace plumb {

void CompletionRoutes::add_routes(BodyPreparation& bodies) const {
  bodies.post_route("/v1/chat/completions", std::bind_front(&CompletionRoutes::prepare_chat, this));
  bodies.post_route("/v1/completions",
                    std::bind_front(&CompletionRoutes::prepare_completion, this));
}

Prepared CompletionRoutes::prepare_chat(const Json& body, const Asker& /*asker*/) const {
  auto read = read_chat_request(body, context_.model().facts().defaults, context_.limits);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  return texts_.prepare_conversation(
      std::get<ChatRequest>(std::move(read)), new_chat_id,
      [style = context_.options.chat](ResponseEnvelope envelope, const ChatRequest& request,
                                      const std::vector<ChoiceRequest>&) {
        return make_chat_format(std::move(envelope), request, style);
      });
}

Prepared CompletionRoutes::prepare_completion(const Json& body, const Asker& asker) const {
  auto read = read_completion_request(body, context_.model().facts().defaults, context_.limits);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  CompletionRequest& request = std::get<CompletionRequest>(read);
  request.generation.choices_per_prompt = request.best_of;
  std::vector<std::string> texts = context_.model().prompt_texts(request);
  return texts_.prepare_text(
      std::move(request), asker,
      [texts = std::move(texts)](ResponseEnvelope envelope, const CompletionRequest& made) {
        return make_completion_format(std::move(envelope), made, texts);
      });
}

}  // namespace plumb
