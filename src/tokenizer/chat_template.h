// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "tokenizer/chat_template_use.h"
#include "tokenizer/jinja_template.h"

namespace plumb {

/// A conversation as an API request gives it.
struct ChatInput {
  JsonArray messages{};  ///< objects with role and content
  Json tools{};          ///< array of tool definitions, or null
  Json documents{};      ///< array, or null
  bool add_generation_prompt = false;
  /// The last message is the start of the answer: the text ends inside it. Overrides
  /// add_generation_prompt.
  bool continue_final_message = false;
  JsonObject template_kwargs{};  ///< further variables; override all others
};

/// A model's chat template with its special tokens: turns conversations into prompts.
///
/// Messages are brought into the form that templates expect: null members are dropped; reasoning is
/// found under reasoning_content, thinking or reasoning; content parts become text, tool-call
/// arguments objects and the developer role system where the template needs that; neighbours of the
/// same role are merged only if the template rejects the conversation otherwise.
///
/// Thread: any.
class ChatTemplate {
 public:
  /// Special tokens by the name that templates use: {"bos_token", "<s>"}.
  using SpecialTokens = std::vector<std::pair<std::string, std::string>>;

  /// Errors: as JinjaTemplate::parse.
  static Result<ChatTemplate> parse(std::string_view source, SpecialTokens special_tokens);

  /// Special tokens and role names count as template text in the segments, whatever else comes from
  /// the input as data.
  ///
  /// Errors  kInvalidArgument: a message is no object, content has parts the template cannot take,
  ///         the final message cannot be continued, or the template raised (its text);
  ///         otherwise as JinjaTemplate::render.
  Result<Rendering> render(const ChatInput& input, const RenderOptions& options = {}) const;

  const ChatTemplateUse& use() const { return use_; }

  /// Whether the template reads a variable, "tools" or "enable_thinking" say.
  bool uses_variable(std::string_view name) const;

 private:
  ChatTemplate(JinjaTemplate jinja, SpecialTokens special_tokens)
      : jinja_(std::move(jinja)), special_tokens_(std::move(special_tokens)) {}

  Result<JsonArray> normalize(const ChatInput& input) const;
  Status normalize_message(JsonObject* message) const;
  Status normalize_content(JsonObject* message) const;
  void normalize_tool_calls(JsonObject* message) const;
  Result<Rendering> render_messages(const JsonArray& messages, const ChatInput& input,
                                    const RenderOptions& options) const;

  JinjaTemplate jinja_;
  SpecialTokens special_tokens_;
  ChatTemplateUse use_;
};

}  // namespace plumb
