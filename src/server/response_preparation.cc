// SPDX-License-Identifier: Apache-2.0
#include "server/response_preparation.h"

#include <algorithm>
#include <map>
#include <utility>

#include "api/ids.h"
#include "frontend/responses_format.h"

namespace plumb {

/// A request with its conversation and what is to be kept.
struct ResponsePreparation::ResponsePlan {
  ResponsesRequest request;
  JsonArray items;  // inherited ones, then those of the request
  std::size_t num_inherited = 0;
  ResponsesConversation conversation;
};

namespace {

// Errors speak of messages, which this API does not have.
ApiError told_of_input(ApiError error) {
  if (error.param == "messages") {
    error.param = "input";
  }
  for (const std::string_view words : {"in the messages", "shorten the messages", "'messages'"}) {
    const std::size_t at = error.message.find(words);
    if (at != std::string::npos) {
      const std::size_t name = error.message.find("messages", at);
      error.message.replace(name, 8, "input");
    }
  }
  return error;
}

bool has_late_instructions(const JsonArray& messages) {
  bool has_other = false;
  std::int64_t num_instructions = 0;
  for (const Json& message : messages) {
    const std::string& role = message.find("role")->as_string();
    const bool is_instruction = role == "system" || role == "developer";
    num_instructions += is_instruction ? 1 : 0;
    if (is_instruction && (has_other || num_instructions > 1)) {
      return true;
    }
    has_other = has_other || !is_instruction;
  }
  return false;
}

ApiError no_previous_response(const std::string& id) {
  return ApiError::invalid("previous_response_not_found", "previous_response_id",
                           "previous response with the id '" + id.substr(0, 128) + "' not found");
}

ApiError still_running(const std::string& id) {
  ApiError error = ApiError::for_http(
      409, "the response '" + id.substr(0, 128) + "' is not whole yet; try again");
  error.code = "response_in_progress";
  error.param = "previous_response_id";
  return error;
}

// Adds the input of a kept response and what it has answered; returns their bytes.
std::int64_t append_items(const StoredResponse& stored, JsonArray* items) {
  const Result<Json> inputs = parse_json(stored.inputs);
  const Result<Json> response = parse_json(stored.response);
  const Json* const output = response.ok() ? response.value().find("output") : nullptr;
  for (const Json* added : {inputs.ok() ? &inputs.value() : nullptr, output}) {
    if (added != nullptr && added->is_array()) {
      items->insert(items->end(), added->as_array().begin(), added->as_array().end());
    }
  }
  return std::ssize(stored.inputs) + (output != nullptr ? std::ssize(to_text(*output)) : 0);
}

}  // namespace

HostedRules ResponsePreparation::hosted_rules() const {
  return {context_.options.responses.hosted_tools == HostedUse::kReject,
          context_.options.responses.hosted_items == HostedUse::kReject};
}

bool ResponsePreparation::is_given_up(const Asker& asker) const {
  return asker.is_unwanted.load() || context_.life.is_stopping();
}

std::optional<ApiError> ResponsePreparation::load_history(const std::string& owner,
                                                          const Asker& asker,
                                                          ResponsePlan* plan) const {
  const std::string& id = plan->request.previous_response_id;
  if (id.empty()) {
    return std::nullopt;
  }
  if (runs_.is_live(owner, id)) {
    return still_running(id);
  }
  if (store_ == nullptr) {
    return no_previous_response(id);
  }
  const Result<std::vector<std::string>> chain = store_->chain(owner, id);
  if (chain.status().code() == Code::kNotFound) {
    return no_previous_response(chain.status().message());
  }
  if (!chain.ok()) {
    return ApiError::from_status(chain.status());
  }
  std::int64_t num_bytes = 0;
  for (const std::string& part : chain.value()) {
    if (is_given_up(asker)) {
      return shutting_down();
    }
    const Result<ResponseStore::Found> found = store_->find(owner, part);
    if (!found.ok()) {
      return ApiError::from_status(found.status());
    }
    if (!found.value().has_value()) {
      return no_previous_response(part);
    }
    num_bytes += append_items(*found.value(), &plan->items);
    if (num_bytes > context_.options.max_body_bytes) {
      return ApiError::invalid(
          "invalid_value", "previous_response_id",
          "the items that 'previous_response_id' goes back to have more than " +
              std::to_string(context_.options.max_body_bytes) +
              " bytes together (--max-body-bytes); send those that still "
              "matter as 'input'");
    }
  }
  plan->num_inherited = plan->items.size();
  return std::nullopt;
}

std::optional<ApiError> ResponsePreparation::resolve_references(const std::string& owner,
                                                                const Asker& asker,
                                                                ResponsePlan* plan) const {
  struct FoundItem {
    Json item;
    std::int64_t num_bytes = 0;
  };

  ResponsesItems& input = plan->request.input;
  std::map<std::string, FoundItem> found;  // each is looked for once
  std::int64_t num_bytes = 0;
  for (std::size_t i = 0; i < input.items.size(); ++i) {
    if (item_type(input.items[i]) != "item_reference") {
      continue;
    }
    if (is_given_up(asker)) {
      return shutting_down();
    }
    const std::string& id = input.items[i].find("id")->as_string();
    auto known = found.find(id);
    if (known == found.end()) {
      const Result<std::string> text = store_ == nullptr
                                           ? Result<std::string>(Status(Code::kNotFound, id))
                                           : store_->find_item(owner, id);
      Result<Json> item = text.ok() ? parse_json(text.value()) : Result<Json>(text.status());
      if (!item.ok() && item.status().code() != Code::kNotFound) {
        return ApiError::from_status(item.status());
      }
      if (!item.ok()) {
        return ApiError::invalid("invalid_value", input.paths[i] + ".id",
                                 "item with the id '" + id.substr(0, 128) + "' not found");
      }
      known = found.emplace(id, FoundItem{std::move(item).value(), std::ssize(text.value())}).first;
    }
    num_bytes += known->second.num_bytes;
    if (num_bytes > context_.options.max_body_bytes) {
      return ApiError::invalid("invalid_value", "input",
                               "the items that 'input' refers to have more than " +
                                   std::to_string(context_.options.max_body_bytes) +
                                   " bytes together (--max-body-bytes)");
    }
    input.items[i] = known->second.item;
  }
  plan->items.insert(plan->items.end(), input.items.begin(), input.items.end());
  return std::nullopt;
}

// Puts instructions where the template takes them, and with truncation lets the oldest items go.
std::optional<ApiError> ResponsePreparation::fit_conversation(ResponsePlan* plan,
                                                              const Unseal& unseal) const {
  const ServedModel& model = context_.model();
  ChatRequest& chat = plan->conversation.chat;
  if (has_late_instructions(chat.messages) &&
      std::holds_alternative<ApiError>(model.chat_text(chat))) {
    move_instructions_to_front(&chat.messages);
  }
  if (!plan->request.truncates) {
    return std::nullopt;
  }
  const std::int64_t context_len = model.facts().context_len;
  const std::int64_t reserve =
      std::clamp<std::int64_t>(chat.generation.sampling.max_tokens, 1, context_len / 2);
  const auto fits = [&](const ChatRequest& request) {
    const auto prompt = model.chat_prompt(request);
    const auto* ids = std::get_if<std::vector<TokenId>>(&prompt);
    return ids != nullptr && std::ssize(*ids) + reserve <= context_len;
  };
  if (fits(chat)) {
    return std::nullopt;
  }
  const std::vector<std::int64_t> order = order_of_leaving(plan->items);
  // The conversation without so many of the oldest.
  const auto without = [&](std::int64_t num_left) {
    JsonArray kept;
    std::size_t num_inherited = 0;
    for (std::size_t i = 0; i < plan->items.size(); ++i) {
      if (order[i] < 0 || order[i] >= num_left) {
        kept.push_back(plan->items[i]);
        num_inherited += i < plan->num_inherited ? 1 : 0;
      }
    }
    auto made =
        make_responses_conversation(plan->request, &kept, num_inherited, hosted_rules(), unseal);
    auto* conversation = std::get_if<ResponsesConversation>(&made);
    if (conversation != nullptr && has_late_instructions(conversation->chat.messages) &&
        std::holds_alternative<ApiError>(model.chat_text(conversation->chat))) {
      move_instructions_to_front(&conversation->chat.messages);
    }
    return made;
  };
  std::int64_t too_few = 0;
  std::int64_t enough = order.empty() ? 0 : *std::max_element(order.begin(), order.end()) + 1;
  while (enough - too_few > 1) {
    const std::int64_t middle = too_few + (enough - too_few) / 2;
    const auto made = without(middle);
    const auto* conversation = std::get_if<ResponsesConversation>(&made);
    (conversation != nullptr && fits(conversation->chat) ? enough : too_few) = middle;
  }
  auto made = without(enough);
  if (auto* error = std::get_if<ApiError>(&made)) {
    return std::move(*error);
  }
  plan->conversation = std::get<ResponsesConversation>(std::move(made));
  return std::nullopt;
}

std::variant<ResponsePreparation::ResponsePlan, ApiError> ResponsePreparation::plan_response(
    const Json& body, const Asker& asker) const {
  auto read = read_responses_request(body, context_.model().facts().defaults, context_.limits,
                                     hosted_rules());
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  ResponsePlan plan;
  plan.request = std::get<ResponsesRequest>(std::move(read));
  if (std::optional<ApiError> error = context_.check_generates()) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = context_.check_model(plan.request.generation.model)) {
    return *std::move(error);
  }
  if (plan.request.background && store_ == nullptr) {
    return ApiError::unsupported("background",
                                 "this server keeps no responses (--response-store off)");
  }
  const std::string owner = owner_of(asker.principal);
  if (std::optional<ApiError> error = load_history(owner, asker, &plan)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = resolve_references(owner, asker, &plan)) {
    return *std::move(error);
  }
  const Unseal unseal = [&seal = seal_, owner](std::string_view sealed) {
    return seal.open(sealed, owner);
  };
  auto made = make_responses_conversation(plan.request, &plan.items, plan.num_inherited,
                                          hosted_rules(), unseal);
  if (auto* error = std::get_if<ApiError>(&made)) {
    return std::move(*error);
  }
  plan.conversation = std::get<ResponsesConversation>(std::move(made));
  if (std::optional<ApiError> error = fit_conversation(&plan, unseal)) {
    return *std::move(error);
  }
  return plan;
}

Prepared ResponsePreparation::prepare_response(const Json& body, const Asker& asker) const {
  auto planned = plan_response(body, asker);
  if (auto* error = std::get_if<ApiError>(&planned)) {
    return std::move(*error);
  }
  auto& plan = std::get<ResponsePlan>(planned);
  const ResponsesRequest& request = plan.request;
  const auto turn = std::make_shared<ResponseTurn>();
  turn->owner = owner_of(asker.principal);
  turn->parent = request.previous_response_id;
  turn->is_kept = request.store && store_ != nullptr;
  if (turn->is_kept) {
    const auto own = plan.items.begin() + static_cast<std::ptrdiff_t>(plan.num_inherited);
    turn->inputs = to_text(JsonArray(own, plan.items.end()));
  }
  turn->is_background = request.background;
  turn->is_streamed = request.generation.stream;
  turn->left_out_tools = plan.conversation.left_out_tools;
  turn->left_out_items = request.input.left_out;
  ResponsesStyle style;
  style.shows_logprobs = request.shows_logprobs;
  style.shows_summary = request.shows_summary && context_.options.responses.reasoning_as_summary;
  if (request.shows_encrypted_reasoning) {
    style.seal = [&seal = seal_, owner = turn->owner](std::string_view text) {
      return seal.close(text, owner);
    };
  }
  TextRequests::MakeChatFormat make_format = [turn, echo = request.echo,
                                              tools = plan.conversation.tools, style,
                                              &clock = context_.parts.clock](
                                                 ResponseEnvelope envelope, const ChatRequest&,
                                                 const std::vector<ChoiceRequest>&) {
    turn->assembler = std::make_shared<ResponsesAssembler>(std::move(envelope), echo, tools, style);
    return std::make_unique<ResponsesFormat>(turn->assembler, clock);
  };
  Launch launch = [&runs = runs_, turn](
                      Transaction transaction, std::unique_ptr<ResponseFormat> format,
                      const GenerationParams& params, std::vector<ChoiceRequest> choices) {
    runs.launch(turn, std::move(transaction), std::move(format), params, std::move(choices));
  };
  Prepared prepared =
      texts_.prepare_conversation(std::move(plan.conversation.chat), new_response_id,
                                  std::move(make_format), std::move(launch));
  if (auto* error = std::get_if<ApiError>(&prepared)) {
    return told_of_input(std::move(*error));
  }
  return prepared;
}

// {"object":"response.input_tokens","input_tokens":n}
Prepared ResponsePreparation::prepare_input_tokens(const Json& body, const Asker& asker) const {
  auto planned = plan_response(body, asker);
  if (auto* error = std::get_if<ApiError>(&planned)) {
    return std::move(*error);
  }
  auto& plan = std::get<ResponsePlan>(planned);
  if (std::optional<ApiError> error =
          context_.check_fields(plan.conversation.chat.ignored_fields)) {
    return *std::move(error);
  }
  auto count = context_.model().count_chat_tokens(plan.conversation.chat);
  if (auto* error = std::get_if<ApiError>(&count)) {
    return told_of_input(std::move(*error));
  }
  return [num_tokens = std::get<std::int64_t>(count),
          ignored = plan.conversation.chat.ignored_fields](Transaction transaction) {
    transaction.add_ignored_fields(ignored);
    transaction.send_json(
        JsonObject{{"object", "response.input_tokens"}, {"input_tokens", num_tokens}});
  };
}

}  // namespace plumb
