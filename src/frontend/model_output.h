// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "api/chat_request.h"
#include "api/error.h"
#include "api/output_parser.h"
#include "api/tool_constraint.h"
#include "base/option_field.h"
#include "base/status.h"
#include "base/token_id.h"
#include "frontend/input_check.h"
#include "frontend/text_stream.h"
#include "tokenizer/tokenizer.h"

namespace plumb {

/// Which formats of tool calls and reasoning are looked for in answers.
struct ParserOptions {
  std::string tool_call_parser = "auto";
  std::string reasoning_parser = "auto";

  static constexpr auto fields() {
    using S = ParserOptions;
    return std::tuple{
        field(&S::tool_call_parser, "tool-call-parser",
              "format of tool calls: auto (by the chat template), none, harmony, deepseek_v4, "
              "deepseek_v32, deepseek_v3, deepseek_v31, kimi_k2, gemma4, mistral_v11, mistral, "
              "glm45, qwen3_coder, hermes, llama4, pythonic, llama3, json"),
        field(&S::reasoning_parser, "reasoning-parser",
              "format of reasoning: auto (by the chat template), none, harmony, gemma4, mistral, "
              "think"),
    };
  }
};

/// Errors: kInvalidArgument for each name that is none; it lists those that there are.
std::vector<Status> check_parsers(const ParserOptions& options);

/// How the answers of one model are read: its formats, and the control tokens in them.
/// Thread: any (immutable).
class ModelOutput {
 public:
  /// Nothing is looked for.
  ModelOutput() = default;

  /// `template_source` may be empty. The tokenizer must outlive it.
  /// Requires check_parsers() finds nothing.
  ModelOutput(const ParserOptions& options, std::string_view template_source,
              const Tokenizer& tokenizer);

  /// nullptr: none is known, or none is wanted.
  const ToolFormat* tools() const { return tools_; }

  const ReasoningFormat* reasoning() const { return reasoning_; }

  /// Why that request cannot be answered here with the tools that it declares, if so.
  std::optional<ApiError> check(const ToolUse& use) const;

  /// The format for a request: calls only if it declares tools and may call them.
  OutputFormat format_for(const ChatRequest& request, bool with_reasoning) const;

  /// Where that prompt leaves the model.
  ReasoningStart start_of(std::span<const TokenId> prompt) const;

  /// What the answer to a request with that prompt has to be; `inputs`: the checks of its tools.
  ConstraintSpec constraint_for(const ChatRequest& request, ReasoningStart start,
                                const std::vector<CheckedInput>& inputs = {}) const;

  /// How it is read.
  OutputOptions options_for(const ChatRequest& request, ReasoningStart start,
                            std::vector<CheckedInput> inputs = {}) const;

  /// The tokens between which reasoning stands; nothing if these are not single tokens.
  struct Marks {
    TokenId begin;
    TokenId end;
  };

  std::optional<Marks> reasoning_tokens() const;

 private:
  bool is_token(std::string_view text) const;

  const ToolFormat* tools_ = nullptr;
  const ReasoningFormat* reasoning_ = nullptr;
  bool is_off_ = false;  // --tool-call-parser none
  const Tokenizer* tokenizer_ = nullptr;
};

}  // namespace plumb
