// SPDX-License-Identifier: Apache-2.0
#include "frontend/model_output.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace plumb {
namespace {

constexpr std::size_t kMaxTail = 64;  // tokens of the prompt's end in which a text is looked for

bool is_special_name(std::string_view name) {
  return name == "auto" || name == "none";
}

}  // namespace

std::vector<Status> check_parsers(const ParserOptions& options) {
  std::vector<Status> out;
  const auto refuse = [&](const char* option, const std::string& name, const std::string& known) {
    out.emplace_back(Code::kInvalidArgument, std::string(option) + ": '" + name.substr(0, 64) +
                                                 "' is no format, expected one of " + known);
  };
  if (!is_special_name(options.tool_call_parser) &&
      find_tool_format(options.tool_call_parser) == nullptr) {
    refuse("--tool-call-parser", options.tool_call_parser, list_tool_formats());
  }
  if (!is_special_name(options.reasoning_parser) &&
      find_reasoning_format(options.reasoning_parser) == nullptr) {
    refuse("--reasoning-parser", options.reasoning_parser, list_reasoning_formats());
  }
  return out;
}

ModelOutput::ModelOutput(const ParserOptions& options, std::string_view template_source,
                         const Tokenizer& tokenizer)
    : is_off_(options.tool_call_parser == "none"), tokenizer_(&tokenizer) {
  const auto has_token = [&tokenizer](std::string_view text) {
    return tokenizer.find_token(text).has_value();
  };
  tools_ = options.tool_call_parser == "auto" ? detect_tool_format(template_source, has_token)
                                              : find_tool_format(options.tool_call_parser);
  reasoning_ = options.reasoning_parser == "auto"
                   ? detect_reasoning_format(template_source, has_token)
                   : find_reasoning_format(options.reasoning_parser);
}

// Tokens of other types are spelled in the text.
bool ModelOutput::is_token(std::string_view text) const {
  const std::optional<TokenId> id = text.empty() ? std::nullopt : tokenizer_->find_token(text);
  return id.has_value() && tokenizer_->token_type(*id) == TokenType::kControl;
}

std::optional<ApiError> ModelOutput::check(const ToolUse& use) const {
  const char* param = use.is_function_form ? "functions" : "tools";
  const bool is_required = use.choice.mode == ToolChoice::Mode::kRequired;
  if (!use.is_on() || tools_ != nullptr || (is_off_ && !is_required)) {
    return std::nullopt;
  }
  if (is_off_) {
    return ApiError::unsupported(
        param,
        "this server leaves calls in the text (--tool-call-parser none), so none can be required");
  }
  if (is_required) {
    return std::nullopt;  // the format for models that have none
  }
  return ApiError::unsupported(
      param,
      "the form of this model's calls is not known; name it with the server's option "
      "--tool-call-parser, or require a call by tool_choice");
}

ConstraintSpec ModelOutput::constraint_for(const ChatRequest& request, ReasoningStart start,
                                           const std::vector<CheckedInput>& inputs) const {
  std::vector<std::string> free_inputs;
  for (const CheckedInput& input : inputs) {
    if (!input.check->is_regular()) {
      free_inputs.push_back(input.tool);
    }
  }
  return constrain_answer(request.generation.constraint, request.tool_use,
                          format_for(request, true), start, free_inputs);
}

OutputFormat ModelOutput::format_for(const ChatRequest& request, bool with_reasoning) const {
  OutputFormat format;
  format.reasoning = with_reasoning ? reasoning_ : nullptr;
  if (request.tool_use.is_on() && !is_off_) {
    const bool is_required = request.tool_use.choice.mode == ToolChoice::Mode::kRequired;
    format.tools = tools_ != nullptr || !is_required ? tools_ : &json_tool_format();
    if (format.tools != nullptr && format.tools->syntax == CallSyntax::kXml) {
      format.declared = request.tool_use.tools;
    }
  }
  std::vector<std::string> marks;
  const auto add = [&](std::span<const std::string_view> tokens) {
    for (const std::string_view token : tokens) {
      if (is_token(token) && std::find(marks.begin(), marks.end(), token) == marks.end()) {
        marks.emplace_back(token);
      }
    }
  };
  if (format.reasoning != nullptr) {
    add(format.reasoning->tokens);
  }
  const bool is_harmony = format.reasoning != nullptr && format.reasoning->end.empty();
  if (format.tools != nullptr || is_harmony) {
    add(format.tools != nullptr ? format.tools->tokens : find_tool_format("harmony")->tokens);
  }
  format.marks = OutputMarks(std::move(marks));
  format.shows_marks = !request.generation.skip_special_tokens;
  return format;
}

ReasoningStart ModelOutput::start_of(std::span<const TokenId> prompt) const {
  if (reasoning_ == nullptr || reasoning_->end.empty()) {
    return ReasoningStart::kOpen;
  }
  const std::optional<TokenId> begin = tokenizer_->find_token(reasoning_->begin);
  const std::optional<TokenId> end = tokenizer_->find_token(reasoning_->end);
  for (auto token = prompt.rbegin(); begin && end && token != prompt.rend(); ++token) {
    if (*token == *begin || *token == *end) {
      return *token == *begin ? ReasoningStart::kInside : ReasoningStart::kClosed;
    }
    if (tokenizer_->is_special(*token)) {
      return ReasoningStart::kOpen;
    }
  }
  if (begin && end) {
    return ReasoningStart::kOpen;
  }
  const std::size_t size = std::min(prompt.size(), kMaxTail);
  const std::vector<TokenId> tail(prompt.end() - static_cast<std::ptrdiff_t>(size), prompt.end());
  const std::string text = tokenizer_->decode(tail, {.skip_special = false});
  const std::string_view trimmed = trim(text);
  return trimmed.ends_with(trim(reasoning_->begin)) ? ReasoningStart::kInside
         : trimmed.ends_with(reasoning_->end)       ? ReasoningStart::kClosed
                                                    : ReasoningStart::kOpen;
}

OutputOptions ModelOutput::options_for(const ChatRequest& request, ReasoningStart start,
                                       std::vector<CheckedInput> inputs) const {
  OutputOptions out;
  out.inputs = std::move(inputs);
  out.format = format_for(request, request.reasoning.separate);
  out.format.starts_in_reasoning = start == ReasoningStart::kInside;
  for (const std::string& mark : out.format.marks.texts()) {
    out.mark_tokens.push_back(*tokenizer_->find_token(mark));
  }
  out.streams_reasoning = request.reasoning.stream;
  out.shows_reasoning = request.reasoning.is_shown;
  const ToolUse& use = request.tool_use;
  out.max_calls = use.choice.is_named || !use.parallel ? 1 : 0;
  out.call_id_prefix = use.call_id_prefix;
  return out;
}

std::optional<ModelOutput::Marks> ModelOutput::reasoning_tokens() const {
  const ReasoningFormat* format =
      reasoning_ != nullptr ? reasoning_ : find_reasoning_format("think");
  const std::optional<TokenId> begin = tokenizer_->find_token(format->begin);
  const std::optional<TokenId> end = tokenizer_->find_token(format->end);
  return begin && end ? std::optional(Marks{*begin, *end}) : std::nullopt;
}

}  // namespace plumb
