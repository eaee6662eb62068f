// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/token_id.h"
#include "request/request.h"

namespace plumb {

/// What an answer consists of.
enum class AnswerKind : unsigned char { kText, kReasoning, kCall };

/// One token as the API reports it: exact bytes and log probabilities.
struct TokenText {
  TokenId token = -1;
  std::string bytes;
  float logprob = 0.0F;
  std::vector<TokenText> top;           ///< most likely first; one level only
  std::int64_t rank = 0;                ///< of a prompt token: 1 = the most likely
  AnswerKind kind = AnswerKind::kText;  ///< kText if any of its bytes are text of the answer
};

/// New pieces of one tool call.
struct ToolCallDelta {
  std::int64_t index = 0;  ///< of the call in its choice: 0, 1, 2 …
  std::string id;          ///< in the first delta of a call only, like the name, and whole
  std::string name;
  std::string arguments;   ///< a fragment; those of a call together are one JSON object
  bool has_ended = false;  ///< nothing more comes of the call
  bool is_cut = false;     ///< it has ended within its arguments

  bool is_first() const { return !name.empty(); }
};

/// New pieces of one choice, with the tokens that hold them. They came in this order: reasoning,
/// text, calls; what the model wrote in another order comes as several deltas.
struct ChoiceDelta {
  std::int64_t index = 0;
  std::string text;  ///< whole UTF-8 characters, as reasoning
  std::vector<TokenText> tokens;
  std::string reasoning{};
  std::vector<ToolCallDelta> calls{};  ///< in their order, one element for each call

  bool has_pieces() const { return !text.empty() || !reasoning.empty() || !calls.empty(); }
};

/// Adds the pieces of the next delta to those of a former one. False, and nothing is done, if they
/// would no longer be in the order of a delta.
bool merge_delta(ChoiceDelta* delta, ChoiceDelta* next);

/// A part of a whole answer.
struct AnswerPart {
  AnswerKind kind = AnswerKind::kText;
  std::string text;  ///< of a call: its arguments, one JSON object
  std::string id{};  ///< of a call, as its name
  std::string name{};
  bool has_ended = false;  ///< of a call

  bool operator==(const AnswerPart&) const = default;
};

/// Adds a delta to the parts of an answer, which are in the order in which the model wrote them.
void append_delta(const ChoiceDelta& delta, std::vector<AnswerPart>* parts);

/// The texts of all parts of that kind, one behind the other.
std::string text_of(const std::vector<AnswerPart>& parts, AnswerKind kind = AnswerKind::kText);

/// Why and how a choice ended.
struct ChoiceEnd {
  std::int64_t index = 0;
  FinishReason reason = FinishReason::kNone;
  std::string matched_stop;      ///< with kStop by a string
  TokenId matched_token = -1;    ///< with kStop by a token id
  std::string malformed_call{};  ///< what the model wrote of calls that are none
  Usage usage;
  Timings timings;
  std::optional<TokenText> last_token{};  ///< that ended it and has no text
  std::vector<TokenText> cut_tokens{};    ///< of which a stop string left no byte in the text
};

/// Adds the tokens that count and have no text: those that a stop string cut off, and the one that
/// ended the choice.
void append_silent_tokens(const ChoiceEnd& end, std::vector<TokenText>* tokens);

/// "stop", "length" or "tool_calls". Requires not kNone, not kAbort.
std::string_view finish_reason_text(FinishReason reason);

/// Which stop string or token ended the choice; null for another reason.
Json stop_reason(const ChoiceEnd& end);

/// A token as text: its UTF-8, or \xNN per byte when it is no valid UTF-8 alone.
std::string token_label(const std::string& bytes);

/// The token as an answer names it: token_label(), or "token_id:N".
std::string token_name(const TokenText& token, bool as_id);

/// The ids of the tokens.
Json token_ids_to_json(const std::vector<TokenText>& tokens);

/// The ids of all tokens that count: those of the text, then append_silent_tokens().
Json counted_ids_to_json(std::vector<TokenText> tokens, const ChoiceEnd& end);

/// For each token of the prompt an object by token id, {"ID":{"logprob","rank","decoded_token"}};
/// null for the first one.
Json prompt_logprobs_to_json(const std::vector<TokenText>& tokens);

/// The usage of a whole request: the prompt counts once, completions are summed.
Usage sum_usage(const std::vector<ChoiceEnd>& ends, std::int64_t choices_per_prompt);

Json usage_to_json(const Usage& usage);

/// Log probability as the API sends it: minus infinity becomes -9999.0.
Json logprob_to_json(float logprob);

/// How a dialect lists the tokens of an answer with their log probabilities.
struct LogprobStyle {
  bool with_bytes = true;
  bool as_ids = false;          ///< tokens are named "token_id:N"
  bool with_empty_top = true;   ///< top_logprobs is there also where nothing was asked for
  bool with_text = true;        ///< the tokens that the text consists of …
  bool with_reasoning = false;  ///< … and those of the reasoning
};

/// [{"token","logprob","bytes","top_logprobs":[{"token","logprob","bytes"}]}]
JsonArray logprobs_to_json(const std::vector<TokenText>& tokens, const LogprobStyle& style);

}  // namespace plumb
