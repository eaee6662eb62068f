// SPDX-License-Identifier: Apache-2.0
// From a body of the Responses API to a conversation: off the loop where it may wait for the store.
#include <algorithm>
#include <map>
#include <utility>

#include "api/ids.h"
#include "api/responses_request.h"
#include "base/file.h"
#include "frontend/responses_format.h"
#include "server/server.h"

namespace plumb {

/// A request with its conversation and what is to be kept.
struct Server::ResponsePlan {
  ResponsesRequest request;
  JsonArray items;  // inherited ones, then those of the request
  std::size_t num_inherited = 0;
  ResponsesConversation conversation;
};

namespace {

constexpr std::uint64_t kMaxKeyFileBytes = 64 << 10;
constexpr std::size_t kMinSecretBytes = 16;

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

}  // namespace

Status Server::open_response_store() {
  seal_ = std::make_unique<Seal>();
  if (!options_.responses.reasoning_key_file.empty()) {
    PLUMB_RETURN_IF_ERROR(
        check_private_file(options_.responses.reasoning_key_file).with("--reasoning-key-file"));
    PLUMB_ASSIGN(const std::string secret,
                 read_file(options_.responses.reasoning_key_file, kMaxKeyFileBytes));
    if (secret.size() < kMinSecretBytes) {
      return {Code::kInvalidArgument, "--reasoning-key-file: has " + std::to_string(secret.size()) +
                                          " bytes, expected at least " +
                                          std::to_string(kMinSecretBytes)};
    }
    seal_ = std::make_unique<Seal>(secret);
  }
  if (options_.responses.store == "off") {
    return {};
  }
  const ResponseStoreLimits limits{
      options_.responses.store_entries, options_.responses.store_bytes,
      std::chrono::duration_cast<std::chrono::seconds>(options_.responses.store_ttl)};
  Result<std::unique_ptr<ResponseStore>> store = ResponseStore::open(
      options_.responses.store == "memory" ? "" : options_.responses.store, limits, parts_.clock);
  if (!store.ok()) {
    return store.status().with("--response-store");
  }
  store_ = std::move(store).value();
  return {};
}

HostedRules Server::hosted_rules() const {
  return {options_.responses.hosted_tools == HostedUse::kReject,
          options_.responses.hosted_items == HostedUse::kReject};
}

std::optional<ApiError> Server::load_history(const std::string& owner, const Asker& asker,
                                             ResponsePlan* plan) const {
  const std::string& id = plan->request.previous_response_id;
  if (id.empty()) {
    return std::nullopt;
  }
  if (live_responses_.contains(owner, id)) {
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
    if (asker.is_unwanted.load() || is_stopping_.load()) {
      return shutting_down();
    }
    const Result<ResponseStore::Found> found = store_->find(owner, part);
    if (!found.ok()) {
      return ApiError::from_status(found.status());
    }
    if (!found.value().has_value()) {
      return no_previous_response(part);
    }
    const StoredResponse& stored = *found.value();
    const Result<Json> inputs = parse_json(stored.inputs);
    const Result<Json> response = parse_json(stored.response);
    const Json* output = response.ok() ? response.value().find("output") : nullptr;
    num_bytes += std::ssize(stored.inputs) + (output != nullptr ? std::ssize(to_text(*output)) : 0);
    if (num_bytes > options_.max_body_bytes) {
      return ApiError::invalid(
          "invalid_value", "previous_response_id",
          "the items that 'previous_response_id' goes back to have more than " +
              std::to_string(options_.max_body_bytes) +
              " bytes together (--max-body-bytes); send those that still "
              "matter as 'input'");
    }
    for (const Json* items : {inputs.ok() ? &inputs.value() : nullptr, output}) {
      if (items != nullptr && items->is_array()) {
        plan->items.insert(plan->items.end(), items->as_array().begin(), items->as_array().end());
      }
    }
  }
  plan->num_inherited = plan->items.size();
  return std::nullopt;
}

std::optional<ApiError> Server::resolve_references(const std::string& owner, const Asker& asker,
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
    if (asker.is_unwanted.load() || is_stopping_.load()) {
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
    if (num_bytes > options_.max_body_bytes) {
      return ApiError::invalid("invalid_value", "input",
                               "the items that 'input' refers to have more than " +
                                   std::to_string(options_.max_body_bytes) +
                                   " bytes together (--max-body-bytes)");
    }
    input.items[i] = known->second.item;
  }
  plan->items.insert(plan->items.end(), input.items.begin(), input.items.end());
  return std::nullopt;
}

// Puts instructions where the template takes them, and with truncation lets the oldest items go.
std::optional<ApiError> Server::fit_conversation(ResponsePlan* plan, const Unseal& unseal) const {
  const ServedModel& model = parts_.service.model();
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

std::variant<Server::ResponsePlan, ApiError> Server::plan_response(const Json& body,
                                                                   const Asker& asker) const {
  auto read = read_responses_request(body, parts_.service.model().facts().defaults, limits_,
                                     hosted_rules());
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  ResponsePlan plan;
  plan.request = std::get<ResponsesRequest>(std::move(read));
  if (std::optional<ApiError> error = check_generates()) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = check_model(plan.request.generation.model)) {
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
  const Unseal unseal = [seal = seal_.get(), owner](std::string_view sealed) {
    return seal->open(sealed, owner);
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

Server::Prepared Server::prepare_response(const Json& body, const Asker& asker) const {
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
  style.shows_summary = request.shows_summary && options_.responses.reasoning_as_summary;
  if (request.shows_encrypted_reasoning) {
    style.seal = [seal = seal_.get(), owner = turn->owner](std::string_view text) {
      return seal->close(text, owner);
    };
  }
  MakeChatFormat make_format = [turn, echo = request.echo, tools = plan.conversation.tools, style,
                                &clock = parts_.clock](ResponseEnvelope envelope,
                                                       const ChatRequest&,
                                                       const std::vector<ChoiceRequest>&) {
    turn->assembler = std::make_shared<ResponsesAssembler>(std::move(envelope), echo, tools, style);
    return std::make_unique<ResponsesFormat>(turn->assembler, clock);
  };
  Launch launch = [turn](Server& server, Transaction transaction,
                         std::unique_ptr<ResponseFormat> format, const GenerationParams& params,
                         std::vector<ChoiceRequest> choices) {
    server.launch_response(turn, std::move(transaction), std::move(format), params,
                           std::move(choices));
  };
  Prepared prepared = prepare_conversation(std::move(plan.conversation.chat), new_response_id,
                                           std::move(make_format), std::move(launch));
  if (auto* error = std::get_if<ApiError>(&prepared)) {
    return told_of_input(std::move(*error));
  }
  return prepared;
}

// {"object":"response.input_tokens","input_tokens":n}
Server::Prepared Server::prepare_input_tokens(const Json& body, const Asker& asker) const {
  auto planned = plan_response(body, asker);
  if (auto* error = std::get_if<ApiError>(&planned)) {
    return std::move(*error);
  }
  auto& plan = std::get<ResponsePlan>(planned);
  if (std::optional<ApiError> error = check_fields(plan.conversation.chat.ignored_fields)) {
    return *std::move(error);
  }
  auto count = parts_.service.model().count_chat_tokens(plan.conversation.chat);
  if (auto* error = std::get_if<ApiError>(&count)) {
    return told_of_input(std::move(*error));
  }
  return [num_tokens = std::get<std::int64_t>(count),
          ignored = plan.conversation.chat.ignored_fields](Server&, Transaction transaction) {
    transaction.add_ignored_fields(ignored);
    transaction.send_json(
        JsonObject{{"object", "response.input_tokens"}, {"input_tokens", num_tokens}});
  };
}

}  // namespace plumb
