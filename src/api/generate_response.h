// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/choice.h"
#include "base/json.h"

namespace plumb {

/// What is told of one answer of a native request.
struct GenerateSetup {
  std::string rid;
  std::string weight_version = "default";
  std::int64_t prompt_tokens = 0;
  bool include_logprobs = false;
  bool include_top = false;
  bool text_in_logprobs = false;
  std::optional<std::int64_t> logprob_start{};  ///< of the prompt's tokens; absent = none of them
  bool is_empty = false;                        ///< the token that was computed is not shown
};

/// An answer, or what a stream has of it.
struct GenerateOutput {
  std::string text;
  std::vector<TokenText> tokens;
  std::vector<TokenText> prompt;  ///< with log probabilities, if they were asked for
  std::int64_t num_tokens = 0;    ///< all that there are so far
};

/// The object of an answer: {"text","output_ids","meta_info"}. `end` is null before the last one;
/// `seconds` since the request came.
Json generate_object(const GenerateSetup& setup, const GenerateOutput& output, const ChoiceEnd* end,
                     double seconds);

/// The objects of an answer that grows, each with all that there is so far: what was added stays as
/// text, so that an object costs a copy of it.
class GenerateText {
 public:
  explicit GenerateText(GenerateSetup setup);

  /// The prompt's tokens, all at once.
  void add_prompt(const std::vector<TokenText>& tokens);
  /// What is new: whole UTF-8 characters, and tokens. Cost: linear in it.
  void add(std::string_view text, const std::vector<TokenText>& tokens);
  /// The text of generate_object() for what was added, of `num_tokens` that there are so far; with
  /// "index" at its end if the answer is one of several.
  std::string object(std::int64_t num_tokens, const ChoiceEnd* end, double seconds,
                     std::optional<std::int64_t> index) const;

 private:
  GenerateSetup setup_;
  std::string text_;  // escaped, without its quotes
  std::string input_logprobs_ = "[]";
  std::string input_tops_ = "[]";
  std::string ids_;  // the items of lists, without brackets
  std::string logprobs_;
  std::string tops_;
};

}  // namespace plumb
