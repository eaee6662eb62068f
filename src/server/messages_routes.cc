// SPDX-License-Identifier: Apache-2.0
#include "server/messages_routes.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "frontend/messages_format.h"

namespace plumb {
namespace {

constexpr std::array kVersions{"2023-06-01", "2026-10-21"};

// Both versions are answered alike, and others as well unless the operator wants it strict.
std::optional<ApiError> version_error(const Headers& headers) {
  const std::optional<std::string_view> version = headers.find("anthropic-version");
  if (!version || std::find(kVersions.begin(), kVersions.end(), *version) != kVersions.end()) {
    return std::nullopt;
  }
  return ApiError::invalid("invalid_value", "anthropic-version",
                           "header 'anthropic-version' is '" + std::string(version->substr(0, 32)) +
                               "', expected '" + kVersions[0] + "' or '" + kVersions[1] + "'");
}

}  // namespace

void MessagesRoutes::add_routes(BodyPreparation& bodies) const {
  const auto add = [this, &bodies](const char* path, Prepare prepare) {
    context_.router.add({"POST", path, RouteClass::kNormal,
                         [this, &bodies, prepare = std::move(prepare)](Transaction transaction,
                                                                       const std::string&) {
                           const std::optional<ApiError> error =
                               context_.options.strict_fields
                                   ? version_error(transaction.request.headers)
                                   : std::nullopt;
                           if (error) {
                             transaction.send_error(*error);
                           } else {
                             bodies.prepare_and_run(std::move(transaction), prepare);
                           }
                         },
                         Dialect::kAnthropic});
  };
  add("/v1/messages", std::bind_front(&MessagesRoutes::prepare_messages, this));
  add("/v1/messages/count_tokens", std::bind_front(&MessagesRoutes::prepare_count_tokens, this));
}

std::variant<MessagesRequest, ApiError> MessagesRoutes::read_messages(const Json& body,
                                                                      bool is_count) const {
  const ServedModel& model = context_.model();
  MessagesOptions options{.keep_billing_line = context_.options.keep_billing_line,
                          .is_count = is_count};
  auto read = read_messages_request(body, model.facts().defaults, context_.limits, options);
  if (const auto* request = std::get_if<MessagesRequest>(&read);
      request != nullptr && request->has_late_system &&
      std::holds_alternative<ApiError>(model.chat_text(request->chat))) {
    options.late_system_as_user = true;
    read = read_messages_request(body, model.facts().defaults, context_.limits, options);
  }
  auto* request = std::get_if<MessagesRequest>(&read);
  if (request == nullptr) {
    return read;
  }
  ChatRequest& chat = request->chat;
  // Clients ask every model to think; one that cannot simply answers.
  if (chat.generation.thinking_budget && !model.output().reasoning_tokens()) {
    chat.generation.thinking_budget.reset();
    chat.ignored_fields.emplace_back("thinking.budget_tokens");
  }
  return read;
}

Prepared MessagesRoutes::prepare_messages(const Json& body, const Asker& /*asker*/) const {
  auto read = read_messages(body, false);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  MessagesRequest& request = std::get<MessagesRequest>(read);
  return texts_.prepare_conversation(
      std::move(request.chat), new_message_id,
      [this, omits_thinking = request.omits_thinking](ResponseEnvelope envelope,
                                                      const ChatRequest& chat,
                                                      const std::vector<ChoiceRequest>& choices) {
        const Request& first = choices.front().request;
        MessagesResponse::Options options;
        options.omits_thinking = omits_thinking;
        options.is_clamped = first.sampling.max_tokens != chat.generation.sampling.max_tokens;
        options.signature_key = signature_key_;
        options.prompt.prompt_tokens = std::ssize(first.prompt);
        return make_messages_format(std::move(envelope), std::move(options));
      });
}

Prepared MessagesRoutes::prepare_count_tokens(const Json& body, const Asker& /*asker*/) const {
  auto read = read_messages(body, true);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  const ChatRequest& chat = std::get<MessagesRequest>(read).chat;
  if (std::optional<ApiError> error = context_.check_generates()) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = context_.check_model(chat.generation.model)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = context_.check_fields(chat.ignored_fields)) {
    return *std::move(error);
  }
  auto count = context_.model().count_chat_tokens(chat);
  if (auto* error = std::get_if<ApiError>(&count)) {
    return std::move(*error);
  }
  return [num_tokens = std::get<std::int64_t>(count),
          ignored = chat.ignored_fields](Transaction transaction) {
    transaction.add_ignored_fields(ignored);
    transaction.send_json(JsonObject{{"input_tokens", num_tokens}});
  };
}

}  // namespace plumb
