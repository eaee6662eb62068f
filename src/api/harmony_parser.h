// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/output_parser.h"
#include "api/value_stream.h"

namespace plumb {

/// The parser of gpt-oss: messages with a channel and perhaps a recipient. The channel analysis is
/// reasoning, a message to functions.f a call, all else text.
///
/// The prompt ends with <|start|>assistant, so an answer begins inside a header.
/// Thread  one.
/// Source  the public documentation of the format, "OpenAI harmony response format".
class HarmonyParser final : public OutputParser {
 public:
  explicit HarmonyParser(OutputFormat format);

  void push(std::string_view input, std::vector<OutputPiece>* out) override;
  void finish(std::vector<OutputPiece>* out, bool is_cut) override;

  bool is_in_reasoning() const override {
    return state_ == State::kContent && kind_ == Content::kReasoning;
  }

  const std::string& malformed() const override { return malformed_; }

 private:
  using Kind = OutputPiece::Kind;
  enum class State : unsigned char { kBegin, kHeader, kContent, kAfter };
  enum class Content : unsigned char { kText, kReasoning, kCall };

  bool step();
  bool begin();
  bool header();
  bool content();
  bool after();
  void open_message(std::string_view header);
  void add_content(std::string_view text);
  void end_message();
  std::string_view word_behind(std::string_view header, std::string_view mark) const;

  std::string_view rest() const { return std::string_view(buffer_).substr(at_); }

  void take(std::size_t num_bytes);
  void emit(Kind kind, std::string text);

  OutputFormat format_;
  std::string start_;
  std::string message_;
  std::string channel_;
  std::vector<std::string> ends_;  // of a message: the last one begins the next
  State state_ = State::kBegin;
  Content kind_ = Content::kText;
  std::string buffer_;
  std::size_t at_ = 0;
  std::int64_t position_ = 0;
  bool is_end_ = false;
  bool has_complete_call_ = false;
  ValueStream arguments_{ValueDialect::kJson};
  std::string raw_;  // of a call
  std::string malformed_;
  std::vector<OutputPiece>* out_ = nullptr;
};

}  // namespace plumb
