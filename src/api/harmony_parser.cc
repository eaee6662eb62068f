// SPDX-License-Identifier: Apache-2.0
#include "api/harmony_parser.h"

#include <algorithm>
#include <utility>

#include "api/answer_parser.h"
#include "api/call_reader.h"
#include "api/marker_search.h"

namespace plumb {
namespace {

constexpr std::size_t kMaxHeader = 1024;
constexpr std::string_view kFunctions = "functions.";

}  // namespace

HarmonyParser::HarmonyParser(OutputFormat format) : format_(std::move(format)) {
  start_ = format_.marks.encode("<|start|>");
  message_ = format_.marks.encode("<|message|>");
  channel_ = format_.marks.encode("<|channel|>");
  for (const char* end : {"<|end|>", "<|call|>", "<|return|>", "<|start|>"}) {
    ends_.push_back(format_.marks.encode(end));
  }
}

void HarmonyParser::push(std::string_view input, std::vector<OutputPiece>* out) {
  out_ = out;
  buffer_ += input;
  while (step()) {
  }
  buffer_.erase(0, at_);
  at_ = 0;
}

void HarmonyParser::finish(std::vector<OutputPiece>* out, bool is_cut) {
  if (is_cut && has_complete_call_ && (state_ == State::kBegin || state_ == State::kHeader)) {
    take(rest().size());  // of the header of the next message
  }
  is_end_ = true;
  push("", out);
  if (state_ == State::kContent) {
    end_message();
  }
}

void HarmonyParser::take(std::size_t num_bytes) {
  at_ += num_bytes;
  position_ += static_cast<std::int64_t>(num_bytes);
}

void HarmonyParser::emit(Kind kind, std::string text) {
  out_->push_back({.kind = kind, .text = std::move(text), .input_end = position_});
}

bool HarmonyParser::step() {
  switch (state_) {
    case State::kBegin:
      return begin();
    case State::kHeader:
      return header();
    case State::kContent:
      return content();
    case State::kAfter:
      return after();
  }
  return false;
}

// An answer without a header is text.
bool HarmonyParser::begin() {
  if (rest().empty()) {
    return false;
  }
  bool may_begin = false;
  for (const std::string& mark : {start_, channel_, message_, std::string(" to=")}) {
    const MarkerMatch match = match_marker(rest(), mark, is_end_);
    if (match == MarkerMatch::kYes) {
      state_ = State::kHeader;
      return true;
    }
    may_begin = may_begin || match == MarkerMatch::kMore;
  }
  if (may_begin) {
    return false;
  }
  kind_ = Content::kText;
  state_ = State::kContent;
  return true;
}

bool HarmonyParser::header() {
  const std::size_t most = kMaxHeader + message_.size();
  const MarkerHit hit = find_marker(rest().substr(0, most), {message_});
  if (hit.is_found) {
    const std::string text(rest().substr(0, hit.begin));
    take(hit.begin + message_.size());
    state_ = State::kContent;
    open_message(text);
    return true;
  }
  if (rest().size() < most && !is_end_) {
    return false;
  }
  kind_ = Content::kText;  // no header: nothing is lost
  state_ = State::kContent;
  if (rest().starts_with(start_)) {  // else it would end the text before it began
    take(start_.size());
    add_content(start_);
  }
  return !rest().empty();
}

// What stands behind a mark in a header, up to white space or a control token.
std::string_view HarmonyParser::word_behind(std::string_view header, std::string_view mark) const {
  const std::size_t at = header.find(mark);
  if (at == std::string_view::npos) {
    return {};
  }
  header.remove_prefix(at + mark.size());
  const auto end = std::find_if(header.begin(), header.end(),
                                [](char c) { return is_space(c) || c == '\xFF' || c == '<'; });
  return header.substr(0, static_cast<std::size_t>(end - header.begin()));
}

void HarmonyParser::open_message(std::string_view header) {
  const std::string_view channel = word_behind(header, channel_);
  const std::string_view recipient = word_behind(header, "to=");
  const std::string_view name =
      recipient.starts_with(kFunctions) ? recipient.substr(kFunctions.size()) : std::string_view();
  kind_ =
      channel == "analysis" && format_.reasoning != nullptr ? Content::kReasoning : Content::kText;
  if (format_.tools != nullptr && is_call_name(name)) {
    kind_ = Content::kCall;
    raw_ = header;
    arguments_ = ValueStream(ValueDialect::kJson);
    emit(Kind::kCallStart, std::string(name));
  }
}

bool HarmonyParser::content() {
  const MarkerHit hit = find_marker(rest(), ends_);
  const std::size_t size = !hit.is_found && is_end_ ? rest().size() : hit.begin;
  const std::string text(rest().substr(0, size));
  take(size);
  add_content(text);
  if (!hit.is_found) {
    return false;
  }
  const bool is_start = hit.marker + 1 == ends_.size();
  take(is_start ? 0 : ends_[hit.marker].size());
  end_message();
  return true;
}

void HarmonyParser::add_content(std::string_view text) {
  if (kind_ == Content::kCall) {
    raw_ += text;
    std::string arguments;
    if (arguments_.state() == ValueStream::State::kOpen) {
      arguments_.push(text, &arguments);
    }
    if (!arguments.empty()) {
      emit(Kind::kArguments, format_.marks.decode_in_json(arguments));
    }
    return;
  }
  std::string shown = format_.marks.decode(text, format_.shows_marks);
  if (!shown.empty()) {
    emit(kind_ == Content::kReasoning ? Kind::kReasoning : Kind::kText, std::move(shown));
  }
}

void HarmonyParser::end_message() {
  state_ = State::kAfter;
  if (kind_ == Content::kReasoning) {
    emit(Kind::kReasoning, "");
  }
  if (kind_ != Content::kCall) {
    return;
  }
  const bool is_empty = arguments_.state() == ValueStream::State::kOpen &&
                        raw_.find('{') == std::string::npos && !is_end_;
  const bool is_complete = arguments_.state() == ValueStream::State::kDone || is_empty;
  if (arguments_.state() != ValueStream::State::kDone) {
    emit(Kind::kArguments, arguments_.close());
  }
  has_complete_call_ = has_complete_call_ || is_complete;
  malformed_ += is_complete ? "" : format_.marks.decode(raw_);
  out_->push_back({.kind = Kind::kCallEnd, .is_complete = is_complete, .input_end = position_});
}

// The next message; a model may leave out <|start|>.
bool HarmonyParser::after() {
  const std::size_t blanks = num_leading_spaces(rest());
  take(blanks);
  if (rest().empty()) {
    return false;
  }
  state_ = State::kBegin;
  return true;
}

std::unique_ptr<OutputParser> make_output_parser(OutputFormat format) {
  const bool is_harmony =
      (format.tools != nullptr && format.tools->syntax == CallSyntax::kHarmony) ||
      (format.reasoning != nullptr && format.reasoning->name == "harmony");
  if (is_harmony) {
    return std::make_unique<HarmonyParser>(std::move(format));
  }
  return std::make_unique<AnswerParser>(std::move(format));
}

}  // namespace plumb
