// SPDX-License-Identifier: Apache-2.0
#include "server/token_routes.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace plumb {
namespace {

Json ids_to_json(const std::vector<TokenId>& ids) {
  JsonArray out;
  for (const TokenId id : ids) {
    out.emplace_back(id);
  }
  return out;
}

Json labels_of(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  JsonArray labels;
  for (const TokenId id : ids) {
    labels.emplace_back(token_label(std::string(tokenizer.token_bytes(id))));
  }
  return labels;
}

// Takes over from the reader of a conversation what it knew of a body, and what of its nested
// objects it did not know.
void absorb_conversation(const JsonObject& body, const std::vector<std::string>& ignored,
                         FieldReader* fields) {
  JsonObject nested;
  for (const std::string& path : ignored) {
    if (body.find(path) == nullptr) {
      nested.set(path, true);
    }
  }
  for (const JsonMember& member : body) {
    if (std::find(ignored.begin(), ignored.end(), member.key) == ignored.end()) {
      fields->find(member.key);
    }
  }
  fields->absorb(FieldReader(nested));
}

// What is tokenised stands in one of three fields.
std::optional<ApiError> check_one_input(FieldReader& fields) {
  std::vector<std::string> given;
  for (const char* name : {"prompt", "content", "messages"}) {
    if (fields.has(name)) {
      given.emplace_back(name);
    }
  }
  if (given.empty()) {
    ApiError error = ApiError::missing("prompt");
    error.message += ", 'content' or 'messages'";
    return error;
  }
  if (given.size() > 1) {
    return ApiError::invalid("invalid_value", given[1],
                             "'" + given[0] + "' and '" + given[1] + "' exclude each other");
  }
  return std::nullopt;
}

}  // namespace

void TokenRoutes::add_routes(BodyPreparation& bodies) const {
  for (const char* path : {"/tokenize", "/v1/tokenize"}) {
    bodies.post_route(path, std::bind_front(&TokenRoutes::prepare_tokenize, this));
  }
  for (const char* path : {"/detokenize", "/v1/detokenize"}) {
    bodies.post_route(path, std::bind_front(&TokenRoutes::prepare_detokenize, this));
  }
  bodies.post_route("/apply-template", std::bind_front(&TokenRoutes::prepare_template, this));
}

std::optional<ApiError> TokenRoutes::check_tokenize_bytes(const char* param,
                                                          std::size_t num_bytes) const {
  if (static_cast<std::int64_t>(num_bytes) <= context_.limits.max_tokenize_bytes) {
    return std::nullopt;
  }
  return ApiError::invalid("invalid_value", param,
                           "'" + std::string(param) + "' has " + std::to_string(num_bytes) +
                               " bytes, expected at most " +
                               std::to_string(context_.limits.max_tokenize_bytes));
}

// A model that generates has other routes for texts, which its own error names.
std::optional<ApiError> TokenRoutes::check_takes_conversations() const {
  if (context_.parts.service.can_generate() || context_.model().has_chat_template()) {
    return std::nullopt;
  }
  return ApiError::unsupported("messages",
                               "this model has no chat template; send texts, as /v1/embeddings and "
                               "/tokenize take them");
}

// llama.cpp's form: {content, add_special, parse_special, with_pieces} -> {tokens}.
std::variant<Json, ApiError> TokenRoutes::tokenize_content(FieldReader& fields) const {
  const std::optional<std::string> content = fields.text("content");
  const bool add_special = fields.boolean("add_special").value_or(false);
  const bool parse_special = fields.boolean("parse_special").value_or(true);
  const bool with_pieces = fields.boolean("with_pieces").value_or(false);
  if (!fields.ok()) {
    return *fields.error();
  }
  if (std::optional<ApiError> error = check_tokenize_bytes("content", content->size())) {
    return *std::move(error);
  }
  const Tokenizer& tokenizer = context_.model().tokenizer();
  const std::vector<TokenId> ids = tokenizer.encode(*content, {add_special, parse_special});
  if (!with_pieces) {
    return Json(JsonObject{{"tokens", ids_to_json(ids)}});
  }
  JsonArray pieces;
  for (const TokenId id : ids) {
    pieces.emplace_back(
        JsonObject{{"id", id}, {"piece", token_label(std::string(tokenizer.token_bytes(id)))}});
  }
  return Json(JsonObject{{"tokens", std::move(pieces)}});
}

std::variant<Json, ApiError> TokenRoutes::tokenize_prompt(FieldReader& fields) const {
  const std::vector<Prompt> prompts = read_prompts(fields, "prompt", context_.limits);
  const bool add_special = fields.boolean("add_special_tokens").value_or(true);
  const bool want_texts = fields.boolean("return_token_strs").value_or(false);
  if (!fields.ok()) {
    return *fields.error();
  }
  std::size_t num_bytes = 0;
  for (const Prompt& prompt : prompts) {
    const auto* text = std::get_if<std::string>(&prompt);
    num_bytes += text != nullptr ? text->size() : 0;
  }
  if (std::optional<ApiError> error = check_tokenize_bytes("prompt", num_bytes)) {
    return *std::move(error);
  }
  const Tokenizer& tokenizer = context_.model().tokenizer();
  JsonArray counts;
  JsonArray tokens;
  JsonArray texts;
  for (const Prompt& prompt : prompts) {
    const auto* text = std::get_if<std::string>(&prompt);
    const std::vector<TokenId> ids = text != nullptr ? tokenizer.encode(*text, {add_special, true})
                                                     : std::get<std::vector<TokenId>>(prompt);
    counts.emplace_back(static_cast<std::int64_t>(ids.size()));
    tokens.push_back(ids_to_json(ids));
    if (want_texts) {
      texts.push_back(labels_of(tokenizer, ids));
    }
  }
  const Json* given = fields.find("prompt");
  const bool is_batch =
      given->is_array() && !given->as_array().empty() && !given->as_array().front().is_number();
  JsonObject out{{"count", is_batch ? Json(counts) : counts.front()},
                 {"max_model_len", context_.model().facts().context_len},
                 {"tokens", is_batch ? Json(tokens) : tokens.front()}};
  if (want_texts) {
    out.append("token_strs", is_batch ? Json(texts) : texts.front());
  }
  return Json(std::move(out));
}

std::variant<Json, ApiError> TokenRoutes::tokenize_messages(const Json& body,
                                                            FieldReader& fields) const {
  const bool want_texts = fields.boolean("return_token_strs").value_or(false);
  if (!fields.ok()) {
    return *fields.error();
  }
  const auto read = read_chat_request(body, context_.model().facts().defaults, context_.limits);
  if (const auto* error = std::get_if<ApiError>(&read)) {
    return *error;
  }
  absorb_conversation(body.as_object(), std::get<ChatRequest>(read).ignored_fields, &fields);
  if (std::optional<ApiError> error = check_takes_conversations()) {
    return *std::move(error);
  }
  const auto prompt = context_.model().chat_prompt(std::get<ChatRequest>(read));
  if (const auto* error = std::get_if<ApiError>(&prompt)) {
    return *error;
  }
  const auto& ids = std::get<std::vector<TokenId>>(prompt);
  JsonObject out{{"count", static_cast<std::int64_t>(ids.size())},
                 {"max_model_len", context_.model().facts().context_len},
                 {"tokens", ids_to_json(ids)}};
  if (want_texts) {
    out.append("token_strs", labels_of(context_.model().tokenizer(), ids));
  }
  return Json(std::move(out));
}

Prepared TokenRoutes::prepare_tokenize(const Json& body, const Asker& /*asker*/) const {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  if (std::optional<ApiError> error = context_.check_model(fields.text("model").value_or(""))) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = check_one_input(fields)) {
    return *std::move(error);
  }
  auto result = fields.has("content")    ? tokenize_content(fields)
                : fields.has("messages") ? tokenize_messages(body, fields)
                                         : tokenize_prompt(fields);
  std::vector<std::string> ignored = fields.ignored();
  if (std::optional<ApiError> error = context_.check_fields(ignored);
      error && std::holds_alternative<Json>(result)) {
    return *std::move(error);
  }
  return answer_with(result, std::move(ignored));
}

Prepared TokenRoutes::prepare_detokenize(const Json& body, const Asker& /*asker*/) const {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  const JsonArray* items = fields.array("tokens", context_.limits.max_token_ids);
  const bool skip_special = fields.boolean("skip_special_tokens").value_or(true);
  const std::string model = fields.text("model").value_or("");
  if (items == nullptr) {
    fields.fail(ApiError::missing("tokens"));
  }
  if (!fields.ok()) {
    return *fields.error();
  }
  if (std::optional<ApiError> error = context_.check_model(model)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = context_.check_fields(fields.ignored())) {
    return *std::move(error);
  }
  const Tokenizer& tokenizer = context_.model().tokenizer();
  std::vector<TokenId> ids;
  for (const Json& item : *items) {
    std::int64_t id = 0;
    if (!item.to_int64(&id) || id < 0 || id >= tokenizer.vocab_size()) {
      return ApiError::invalid("invalid_value", "tokens",
                               "'tokens' holds " + to_text(item).substr(0, 32) +
                                   ", expected ids from 0 to " +
                                   std::to_string(tokenizer.vocab_size() - 1));
    }
    ids.push_back(static_cast<TokenId>(id));
  }
  const std::string text = tokenizer.decode(ids, {skip_special});
  return answer_with(Json(JsonObject{{"text", text}, {"prompt", text}, {"content", text}}),
                     fields.ignored());
}

Prepared TokenRoutes::prepare_template(const Json& body, const Asker& /*asker*/) const {
  const auto read = read_chat_request(body, context_.model().facts().defaults, context_.limits);
  if (const auto* error = std::get_if<ApiError>(&read)) {
    return *error;
  }
  const std::vector<std::string>& ignored = std::get<ChatRequest>(read).ignored_fields;
  if (std::optional<ApiError> error = context_.check_fields(ignored)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = check_takes_conversations()) {
    return *std::move(error);
  }
  auto text = context_.model().chat_text(std::get<ChatRequest>(read));
  if (auto* error = std::get_if<ApiError>(&text)) {
    return std::move(*error);
  }
  return answer_with(Json(JsonObject{{"prompt", std::get<std::string>(std::move(text))}}), ignored);
}

}  // namespace plumb
