// SPDX-License-Identifier: Apache-2.0
#include "server/llamacpp_routes.h"

#include <functional>
#include <utility>
#include <variant>

#include "api/llamacpp_request.h"
#include "frontend/llamacpp_format.h"
#include "server/compat.h"

namespace plumb {

void LlamaCppRoutes::add_routes(BodyPreparation& bodies) const {
  if (is_compat(context_.options.compat, kLlamaCppCompat)) {
    bodies.post_route("/completion", std::bind_front(&LlamaCppRoutes::prepare, this));
  }
}

Prepared LlamaCppRoutes::prepare(const Json& body, const Asker& asker) const {
  const ServedModel& model = context_.model();
  auto read = read_llamacpp_request(body, model.facts().defaults, context_.limits);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  LlamaCppRequest& request = std::get<LlamaCppRequest>(read);
  for (std::vector<Prompt>& parts : request.prompts) {
    if (asker.is_unwanted.load()) {
      return ApiError::from_status({Code::kCancelled, "cancelled"});
    }
    auto joined = model.joined_prompt(std::move(parts));
    if (auto* error = std::get_if<ApiError>(&joined)) {
      return std::move(*error);
    }
    request.completion.prompts.push_back(std::get<Prompt>(std::move(joined)));
  }
  if (std::optional<ApiError> error =
          resolve_text_biases(model.tokenizer(), context_.limits, &request)) {
    return *std::move(error);
  }
  LlamaCppSetup setup;
  setup.model = model.facts().served_name;
  setup.settings = llamacpp_settings(request);
  setup.stream = request.completion.generation.stream;
  setup.return_tokens = request.return_tokens;
  setup.include_probs = request.completion.generation.sampling.logprobs;
  setup.is_empty = request.is_empty;
  return texts_.prepare_text(
      std::move(request.completion), asker,
      [setup = std::move(setup)](const ResponseEnvelope& envelope, const CompletionRequest& made) {
        LlamaCppSetup own = setup;
        own.settings.set("seed", envelope.seed.value_or(made.generation.sampling.seed));
        return make_llamacpp_format(std::move(own), made.prompts.size());
      });
}

}  // namespace plumb
