// SPDX-License-Identifier: Apache-2.0
#include "server/text_requests.h"

#include <utility>
#include <variant>

#include "api/ids.h"

namespace plumb {

std::optional<ApiError> TextRequests::check(const GenerationParams& params,
                                            std::vector<std::string>* ignored) const {
  if (std::optional<ApiError> error = context_.check_generates()) {
    return error;
  }
  if (std::optional<ApiError> error = context_.check_model(params.model)) {
    return error;
  }
  if (std::optional<ApiError> error = context_.check_fields(*ignored)) {
    return error;
  }
  return ignore_priority(params, ignored);
}

// A priority that nothing looks at is named as unknown fields are, or refused.
std::optional<ApiError> TextRequests::ignore_priority(const GenerationParams& params,
                                                      std::vector<std::string>* ignored) const {
  if (params.priority == 0 || context_.parts.service.uses_priority()) {
    return std::nullopt;
  }
  if (context_.options.strict_fields) {
    return ApiError::invalid("unsupported_parameter", "priority",
                             "'priority' is " + std::to_string(params.priority) +
                                 ", and nothing looks at it under this server's --schedule-policy "
                                 "and --evict-policy; leave it out");
  }
  ignored->push_back("priority");
  return std::nullopt;
}

ResponseEnvelope TextRequests::envelope(std::string id, const GenerationParams& params,
                                        const Transaction& transaction) const {
  const ServedModelFacts& facts = context_.model().facts();
  ResponseEnvelope envelope{std::move(id), context_.unix_seconds(),
                            params.model.empty() ? facts.served_name : params.model,
                            context_.model().weights().fingerprint};
  envelope.received = transaction.received;
  return envelope;
}

Prepared TextRequests::prepare_conversation(ChatRequest request, std::string (*id)(),
                                            MakeChatFormat make_format, Launch launch) const {
  if (std::optional<ApiError> error = check(request.generation, &request.ignored_fields)) {
    return *std::move(error);
  }
  auto choices = context_.model().chat_choices(request, "");
  if (auto* error = std::get_if<ApiError>(&choices)) {
    return std::move(*error);
  }
  request.messages.clear();  // they are in the prompt
  return [this, request = std::move(request), id, make_format = std::move(make_format),
          launch = std::move(launch),
          ready = std::get<std::vector<ChoiceRequest>>(std::move(choices))](
             Transaction transaction) mutable {
    transaction.add_ignored_fields(request.ignored_fields);
    GenerationParams& params = request.generation;
    ResponseEnvelope made = envelope(id(), params, transaction);
    describe_choices(params, ready, ready.size(), &made);
    params.choices_per_prompt = std::ssize(ready);
    std::unique_ptr<ResponseFormat> format = make_format(std::move(made), request, ready);
    calls_.start_call(std::move(transaction), std::move(format), params, std::move(ready), launch);
  };
}

Prepared TextRequests::prepare_text(CompletionRequest request, const Asker& asker,
                                    MakeTextFormat make_format) const {
  if (std::optional<ApiError> error = check(request.generation, &request.ignored_fields)) {
    return *std::move(error);
  }
  auto choices = context_.model().completion_choices(request, "", &asker.is_unwanted);
  if (auto* error = std::get_if<ApiError>(&choices)) {
    return std::move(*error);
  }
  return [this, request = std::move(request), make_format = std::move(make_format),
          ready = std::get<std::vector<ChoiceRequest>>(std::move(choices))](
             Transaction transaction) mutable {
    transaction.add_ignored_fields(request.ignored_fields);
    const GenerationParams& params = request.generation;
    ResponseEnvelope made = envelope(new_completion_id(), params, transaction);
    describe_choices(params, ready, static_cast<std::size_t>(request.best_of), &made);
    std::unique_ptr<ResponseFormat> format = make_format(std::move(made), request);
    calls_.start_call(std::move(transaction), std::move(format), params, std::move(ready));
  };
}

}  // namespace plumb
