// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <tuple>

#include "base/option_field.h"

namespace plumb {

/// The name under which chat completions tell the reasoning.
enum class ReasoningField : unsigned char {
  kReasoningContent,  ///< reasoning_content
  kReasoning,         ///< reasoning
  kBoth,              ///< the same text under both
};

/// How the operator wants chat completions to be told.
struct ChatStyle {
  ReasoningField reasoning_field = ReasoningField::kReasoningContent;
  /// A call of the function that the request names ends with "stop", as OpenAI's does.
  bool named_call_stops = false;

  static constexpr auto fields() {
    using S = ChatStyle;
    using F = ReasoningField;
    return std::tuple{
        choice_field(
            &S::reasoning_field, "reasoning-field",
            "the name under which chat completions tell the reasoning",
            std::array{Choice<F>{"reasoning_content", F::kReasoningContent},
                       Choice<F>{"reasoning", F::kReasoning}, Choice<F>{"both", F::kBoth}}),
        field(&S::named_call_stops, "openai-named-stop",
              "a call that tool_choice names ends with the finish_reason stop, not tool_calls"),
    };
  }
};

}  // namespace plumb
