// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/token_id.h"
#include "request/request.h"

namespace plumb {

/// One token as the API reports it: exact bytes and log probabilities.
struct TokenText {
  TokenId token = -1;
  std::string bytes;
  float logprob = 0.0F;
  std::vector<TokenText> top;  ///< most likely first; one level only
  std::int64_t rank = 0;       ///< of a prompt token: 1 = the most likely
};

/// New text of one choice, with the tokens whose text it holds.
struct ChoiceDelta {
  std::int64_t index = 0;
  std::string text;  ///< whole UTF-8 characters
  std::vector<TokenText> tokens;
};

/// Why and how a choice ended.
struct ChoiceEnd {
  std::int64_t index = 0;
  FinishReason reason = FinishReason::kNone;
  std::string matched_stop;    ///< with kStop by a string
  TokenId matched_token = -1;  ///< with kStop by a token id
  Usage usage;
  Timings timings;
};

/// "stop" or "length". Requires not kNone, not kAbort.
std::string_view finish_reason_text(FinishReason reason);

/// Which stop string or token ended the choice; null for another reason.
Json stop_reason(const ChoiceEnd& end);

/// A token as text: its UTF-8, or \xNN per byte when it is no valid UTF-8 alone.
std::string token_label(const std::string& bytes);

/// The token as an answer names it: token_label(), or "token_id:N".
std::string token_name(const TokenText& token, bool as_id);

/// The ids of the tokens.
Json token_ids_to_json(const std::vector<TokenText>& tokens);

/// For each token of the prompt an object by token id, {"ID":{"logprob","rank","decoded_token"}};
/// null for the first one.
Json prompt_logprobs_to_json(const std::vector<TokenText>& tokens);

/// The usage of a whole request: the prompt counts once, completions are summed.
Usage sum_usage(const std::vector<ChoiceEnd>& ends, std::int64_t choices_per_prompt);

Json usage_to_json(const Usage& usage);

/// Log probability as the API sends it: minus infinity becomes -9999.0.
Json logprob_to_json(float logprob);

}  // namespace plumb
