// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/call_reader.h"
#include "api/marker_search.h"
#include "api/output_parser.h"

namespace plumb {

/// The parser of every format but harmony: one machine over the table of formats, with a reader for
/// each call. Thread: one.
class AnswerParser final : public OutputParser {
 public:
  explicit AnswerParser(OutputFormat format);

  void push(std::string_view input, std::vector<OutputPiece>* out) override;
  void finish(std::vector<OutputPiece>* out, bool is_cut) override;

  bool is_in_reasoning() const override { return state_ == State::kReasoning; }

  const std::string& malformed() const override { return malformed_; }

 private:
  using Kind = OutputPiece::Kind;

  enum class State : unsigned char {
    kBegin,  ///< of the answer: reasoning may begin
    kReasoning,
    kText,
    kBetween,  ///< before a call, or the end of the section
    kCall,
    kTail,  ///< behind the arguments of a call
    kSkip,  ///< behind what is no call, up to a mark
  };

  bool step();
  bool begin();
  bool reasoning();
  bool text();
  bool text_up_to(const MarkerHit& hit);
  bool between();
  bool call();
  bool tail();
  bool skip();
  void begin_section(bool takes_mark, std::size_t num_bytes);
  bool begin_call(std::size_t num_bytes);
  void end_call(bool is_complete);
  void fail_call();
  void drop_cut_mark();
  bool no_call();

  std::string_view rest() const { return std::string_view(buffer_).substr(at_); }

  MarkerMatch match_any(const std::vector<std::string>& markers, std::size_t* num_bytes) const;
  void take(std::size_t num_bytes);
  void emit(Kind kind, std::string text = "");
  void emit_text(Kind kind, std::string_view input);
  bool take_text(Kind kind, std::size_t num_bytes);
  std::vector<std::string> encode_all(const std::vector<std::string_view>& markers) const;

  OutputFormat format_;
  std::string reasoning_begin_;
  std::string reasoning_end_;
  std::string call_begin_;
  std::string call_sign_;
  std::string call_end_;
  std::vector<std::string> section_begins_;
  std::vector<std::string> section_ends_;
  std::vector<std::string> triggers_;            // of calls: first those of sections
  std::vector<std::string> text_triggers_;       // and of reasoning
  std::vector<std::string> reasoning_triggers_;  // what ends reasoning

  State state_ = State::kBegin;
  std::string buffer_;
  std::size_t at_ = 0;  // what is before is done
  std::int64_t position_ = 0;
  bool is_end_ = false;
  bool is_cut_ = false;  // by the limit
  bool is_at_content_begin_ = true;
  bool may_repeat_begin_ = false;  // of reasoning that the prompt has begun
  bool is_after_call_ = false;     // nothing but white space came since
  bool is_bare_ = false;
  std::int64_t num_section_calls_ = 0;
  std::int64_t num_complete_calls_ = 0;
  std::unique_ptr<CallReader> reader_;
  bool has_started_ = false;
  std::string raw_;  // input of the call
  std::string malformed_;
  std::vector<OutputPiece>* out_ = nullptr;  // of the push() that runs
};

}  // namespace plumb
