// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/choice.h"
#include "api/custom_input.h"
#include "api/error.h"
#include "api/output_parser.h"
#include "frontend/input_check.h"
#include "request/request.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/stop_matcher.h"
#include "tokenizer/stop_regex.h"
#include "tokenizer/tokenizer.h"

namespace plumb {

/// How reasoning and tool calls in an answer are found and told.
struct OutputOptions {
  OutputFormat format;
  std::vector<TokenId> mark_tokens;  ///< that of each of the format's marks
  bool streams_reasoning = true;     ///< otherwise it comes in one piece when it is over
  bool shows_reasoning = true;
  std::int64_t max_calls = 0;  ///< the answer ends with that many; 0 = any number
  std::string call_id_prefix = "call_";
  std::vector<CheckedInput> inputs{};  ///< of custom tools that ask for something
};

struct TextStreamOptions {
  std::vector<std::string> stops;
  std::shared_ptr<const StopRegex> stop_regex;  ///< compiled once for all choices; may be null
  std::int64_t min_tokens = 0;                  ///< the text of that many tokens is not tested
  bool include_stop_str = false;
  bool skip_special_tokens = true;
  bool at_text_start = false;             ///< the prompt is empty: the first token begins a text
  std::optional<OutputOptions> output{};  ///< none: all is text
};

/// Turns the token events of one sequence into the pieces of an answer: detokenises, finds
/// reasoning and tool calls, looks for stop strings in the text, and releases each token together
/// with what it ended. A token of which a stop string cuts off a part belongs to the text when any
/// of its bytes do, so that every byte has its token.
///
/// Stop strings end texts: reasoning and arguments are not searched, and none reaches over them.
/// Thread: any single one. Cost: amortised O(bytes).
class TextStream {
 public:
  /// The tokenizer must outlive it.
  TextStream(const Tokenizer& tokenizer, const TextStreamOptions& options);

  /// Takes an event; returns the pieces and tokens that are certain now, in their order. Once it
  /// is_over(), later tokens are dropped.
  std::vector<ChoiceDelta> consume(const StreamEvent& event);

  /// A stop string has matched, there were as many calls as wanted, or one is not what its tool
  /// asks for: nothing more is taken.
  bool is_over() const { return stop_.has_value() || has_all_calls_ || invalid_call_.has_value(); }

  /// The stop string or expression that ended the text, if one has matched.
  const std::optional<std::string>& matched_stop() const { return stop_; }

  /// Not ok once a stop expression took too long; the text must not go on.
  const Status& status() const { return matcher_->status(); }

  /// Set once the whole input of a custom tool is not what the tool asks for: no answer then, and
  /// its call has been the last delta.
  const std::optional<ApiError>& invalid_call() const { return invalid_call_; }

  /// Tokens taken, up to the one that completed a stop string.
  std::int64_t num_tokens() const { return num_tokens_; }

  /// The token that ended the text and has none itself.
  const std::optional<TokenText>& last_token() const { return last_token_; }

  /// Once it is_over(): the tokens taken of which a stop string left no byte in the text.
  std::vector<TokenText> cut_tokens() const;

  /// Of the tokens released, those of reasoning.
  std::int64_t num_reasoning_tokens() const { return num_reasoning_tokens_; }

  /// Calls that the model wrote to their end.
  std::int64_t num_complete_calls() const { return num_complete_calls_; }

  /// What the model wrote of calls that are none.
  std::string malformed_call() const { return parser_ == nullptr ? "" : parser_->malformed(); }

 private:
  struct Pending {
    TokenText token;
    std::int64_t begin;  // bytes of input before the token
    std::int64_t end;    // bytes of input after which the token is complete
  };

  void take(const EmittedToken& token);
  TokenText describe(const EmittedToken& token) const;
  void feed(const std::string& input);
  void handle(const OutputPiece& piece);
  void add_text(const OutputPiece& piece);
  void add_reasoning(const OutputPiece& piece);
  void add_call(const OutputPiece& piece);
  void check_input(const OutputPiece& piece);
  std::string new_call_id(const std::string& written) const;
  void end_text();
  void flush_reasoning();
  void finish();
  void stop_at(std::int64_t num_bytes, ChoiceDelta* delta);
  void label(std::int64_t begin, std::int64_t end, AnswerKind kind);
  void add(ChoiceDelta delta);
  void release(bool is_last);

  const Tokenizer& tokenizer_;
  TextStreamOptions options_;
  Detokenizer detokenizer_;
  std::unique_ptr<OutputParser> parser_;  // null: all is text
  std::optional<StopMatcher> matcher_;    // of the text since reasoning or a call
  bool has_text_ = false;                 // it has seen some
  std::optional<std::string> stop_;
  std::deque<Pending> pending_;
  std::vector<ChoiceDelta> deltas_;  // of the event that is taken
  std::string reasoning_;            // that waits for its end
  std::optional<TokenText> last_token_;
  std::int64_t num_tokens_ = 0;
  std::int64_t num_reasoning_tokens_ = 0;
  bool has_begun_call_ = false;
  std::int64_t num_calls_ = 0;
  std::int64_t num_complete_calls_ = 0;
  bool has_all_calls_ = false;
  bool is_cut_ = false;                          // the event that is taken ends it at its limit
  const CheckedInput* checked_input_ = nullptr;  // of the call that is open, if it has one
  CustomInputReader input_reader_;               // of that call
  std::string input_;                            // of that call
  std::optional<ApiError> invalid_call_;
  // Positions in the input, which is the answer as it is spelled.
  std::int64_t input_bytes_ = 0;
  std::int64_t decided_ = 0;   // what the parser has told
  std::int64_t text_end_ = 0;  // of the last text that it told
  std::int64_t resolved_ = 0;  // what is out
};

}  // namespace plumb
