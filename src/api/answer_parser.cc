// SPDX-License-Identifier: Apache-2.0
#include "api/answer_parser.h"

#include <algorithm>
#include <utility>

namespace plumb {
namespace {

constexpr std::size_t kMaxDone = 4096;  // bytes of the buffer that are kept although they are done

template <std::size_t N>
std::vector<std::string_view> list(const std::array<std::string_view, N>& marks) {
  std::vector<std::string_view> out;
  std::copy_if(marks.begin(), marks.end(), std::back_inserter(out),
               [](std::string_view mark) { return !mark.empty(); });
  return out;
}

std::size_t without_trailing_spaces(std::string_view text) {
  std::size_t size = text.size();
  while (size > 0 && is_space(text[size - 1])) {
    --size;
  }
  return size;
}

}  // namespace

AnswerParser::AnswerParser(OutputFormat format) : format_(std::move(format)) {
  if (const ReasoningFormat* reasoning = format_.reasoning) {
    reasoning_begin_ = format_.marks.encode(reasoning->begin);
    reasoning_end_ = format_.marks.encode(reasoning->end);
  }
  if (const ToolFormat* tools = format_.tools) {
    call_begin_ = format_.marks.encode(tools->call_begin);
    call_sign_ = format_.marks.encode(tools->call_sign);
    call_end_ = format_.marks.encode(tools->call_end);
    section_begins_ = encode_all(list(tools->section_begins));
    section_ends_ = encode_all(list(tools->section_ends));
    triggers_ = section_begins_;
    for (const std::string& trigger : {call_begin_, call_sign_}) {
      if (!trigger.empty()) {
        triggers_.push_back(trigger);
      }
    }
  }
  text_triggers_ = triggers_;
  // A text alone does not begin to reason in the middle of an answer: it may be about the mark.
  if (format_.reasoning != nullptr && reasoning_begin_ != format_.reasoning->begin) {
    text_triggers_.push_back(reasoning_begin_);
  }
  reasoning_triggers_ = triggers_;
  reasoning_triggers_.push_back(reasoning_end_);
  if (format_.starts_in_reasoning && format_.reasoning != nullptr) {
    state_ = State::kReasoning;
    may_repeat_begin_ = true;
  } else if (format_.reasoning == nullptr) {
    state_ = State::kText;
  }
}

std::vector<std::string> AnswerParser::encode_all(
    const std::vector<std::string_view>& markers) const {
  std::vector<std::string> out;
  out.reserve(markers.size());
  for (const std::string_view marker : markers) {
    out.push_back(format_.marks.encode(marker));
  }
  return out;
}

void AnswerParser::push(std::string_view input, std::vector<OutputPiece>* out) {
  out_ = out;
  buffer_ += input;
  while (step()) {
  }
  if (at_ == buffer_.size() || at_ > kMaxDone) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
}

void AnswerParser::finish(std::vector<OutputPiece>* out, bool is_cut) {
  is_cut_ = is_cut;
  if (is_cut) {
    drop_cut_mark();
  }
  is_end_ = true;
  push("", out);
}

// What still waits may become a mark: behind a complete call it was going to be one.
void AnswerParser::drop_cut_mark() {
  const bool is_behind_call = num_complete_calls_ > 0;
  const bool is_text_mark = state_ == State::kText && is_behind_call &&
                            find_marker(rest(), text_triggers_).begin < rest().size();
  if (state_ == State::kTail || (state_ == State::kBetween && is_behind_call) || is_text_mark) {
    take(rest().size());
    raw_.clear();
  }
}

// One step forward; false if more input is needed.
bool AnswerParser::step() {
  switch (state_) {
    case State::kBegin:
      return begin();
    case State::kReasoning:
      return reasoning();
    case State::kText:
      return text();
    case State::kBetween:
      return between();
    case State::kCall:
      return call();
    case State::kTail:
      return tail();
    case State::kSkip:
      return skip();
  }
  return false;
}

void AnswerParser::take(std::size_t num_bytes) {
  if (state_ >= State::kBetween) {
    raw_ += rest().substr(0, num_bytes);
  }
  at_ += num_bytes;
  position_ += static_cast<std::int64_t>(num_bytes);
}

void AnswerParser::emit(Kind kind, std::string text) {
  out_->push_back({.kind = kind, .text = std::move(text), .input_end = position_});
}

void AnswerParser::emit_text(Kind kind, std::string_view input) {
  std::string text = format_.marks.decode(input, format_.shows_marks);
  if (!text.empty()) {
    emit(kind, std::move(text));
  }
}

bool AnswerParser::take_text(Kind kind, std::size_t num_bytes) {
  const std::string text(rest().substr(0, num_bytes));
  take(num_bytes);
  emit_text(kind, text);
  return true;
}

MarkerMatch AnswerParser::match_any(const std::vector<std::string>& markers,
                                    std::size_t* num_bytes) const {
  MarkerMatch best = MarkerMatch::kNo;
  for (const std::string& marker : markers) {
    const MarkerMatch match = match_marker(rest(), marker, is_end_);
    if (match == MarkerMatch::kYes) {
      *num_bytes = marker.size();
      return match;
    }
    best = match == MarkerMatch::kMore ? match : best;
  }
  return best;
}

bool AnswerParser::begin() {
  const std::size_t blanks = num_leading_spaces(rest());
  if (blanks == rest().size() && !is_end_) {
    return false;
  }
  switch (match_marker(rest().substr(blanks), reasoning_begin_, is_end_)) {
    case MarkerMatch::kMore:
      return false;
    case MarkerMatch::kYes:
      take(blanks + reasoning_begin_.size());
      state_ = State::kReasoning;
      return true;
    default:
      state_ = State::kText;
      return true;
  }
}

bool AnswerParser::reasoning() {
  if (may_repeat_begin_) {
    const std::size_t blanks = num_leading_spaces(rest());
    const MarkerMatch match = match_marker(rest().substr(blanks), reasoning_begin_, is_end_);
    if (match == MarkerMatch::kMore || (blanks == rest().size() && !is_end_)) {
      return false;
    }
    may_repeat_begin_ = false;
    take(match == MarkerMatch::kYes ? blanks + reasoning_begin_.size() : 0);
  }
  MarkerHit hit = find_marker(rest(), reasoning_triggers_);
  if (!hit.is_found && is_end_) {
    hit.begin = rest().size();
  }
  take_text(Kind::kReasoning, hit.begin);
  if (!hit.is_found) {
    return false;
  }
  if (hit.marker + 1 == reasoning_triggers_.size()) {
    take(reasoning_end_.size());
    emit(Kind::kReasoning);
  }
  state_ = State::kText;
  is_at_content_begin_ = true;
  return true;
}

bool AnswerParser::text() {
  if (is_at_content_begin_ && format_.tools != nullptr && !format_.tools->bare.empty()) {
    const std::size_t blanks = num_leading_spaces(rest());
    if (blanks == rest().size() && !is_end_) {
      return false;
    }
    is_at_content_begin_ = false;
    if (blanks < rest().size() &&
        format_.tools->bare.find(rest()[blanks]) != std::string_view::npos) {
      is_bare_ = true;
      begin_section(false, 0);
      return true;
    }
  }
  return text_up_to(find_marker(rest(), text_triggers_));
}

bool AnswerParser::text_up_to(const MarkerHit& hit) {
  const bool has_tools = format_.tools != nullptr;
  std::size_t size = hit.begin;
  if (!hit.is_found && is_end_) {
    size = rest().size();
    if (is_after_call_ && without_trailing_spaces(rest()) == 0) {
      take(size);  // white space behind the last call
      return false;
    }
  } else if (has_tools) {  // white space before a call is no text
    size = without_trailing_spaces(rest().substr(0, size));
  }
  if (size > 0) {
    is_after_call_ = false;
    is_at_content_begin_ = false;
    take_text(Kind::kText, size);
  }
  if (!hit.is_found) {
    return false;
  }
  const std::size_t blanks = hit.begin - size;
  if (hit.marker >= triggers_.size()) {
    take_text(Kind::kText, blanks);
    take(reasoning_begin_.size());
    state_ = State::kReasoning;
    return true;
  }
  take(blanks);
  is_bare_ = false;
  const bool takes_mark = hit.marker < section_begins_.size();
  begin_section(takes_mark, takes_mark ? triggers_[hit.marker].size() : 0);
  return true;
}

void AnswerParser::begin_section(bool takes_mark, std::size_t num_bytes) {
  raw_.clear();
  num_section_calls_ = 0;
  state_ = State::kBetween;
  take(takes_mark ? num_bytes : 0);
}

bool AnswerParser::between() {
  std::size_t skipped = 0;
  while (skipped < rest().size() &&
         (is_space(rest()[skipped]) ||
          format_.tools->between.find(rest()[skipped]) != std::string_view::npos)) {
    ++skipped;
  }
  take(skipped);
  if (rest().empty()) {
    return is_end_ && no_call();
  }
  std::size_t num_bytes = 0;
  const MarkerMatch end = match_any(section_ends_, &num_bytes);
  if (end == MarkerMatch::kYes && num_section_calls_ > 0) {
    take(num_bytes);
    state_ = State::kText;
    return true;
  }
  const MarkerMatch begin = match_marker(rest(), call_begin_, is_end_);
  const MarkerMatch sign = match_marker(rest(), call_sign_, is_end_);
  if (begin == MarkerMatch::kYes) {
    return begin_call(call_begin_.size());
  }
  if (sign == MarkerMatch::kYes) {
    return begin_call(0);
  }
  if (end == MarkerMatch::kMore || begin == MarkerMatch::kMore || sign == MarkerMatch::kMore) {
    return false;
  }
  if (call_begin_.empty() && may_begin_call(*format_.tools, is_bare_, rest().front())) {
    return begin_call(0);
  }
  return no_call();
}

// What came since the last call belongs to none.
bool AnswerParser::no_call() {
  state_ = State::kText;
  if (num_section_calls_ == 0) {
    emit_text(Kind::kText, raw_);
    is_bare_ = false;
  }
  return true;
}

bool AnswerParser::begin_call(std::size_t num_bytes) {
  if (num_section_calls_ > 0) {
    raw_.clear();
  }
  const char first = num_bytes == 0 ? rest().front() : '\0';
  take(num_bytes);
  reader_ = make_call_reader(*format_.tools, format_.marks, format_.declared, is_bare_, first);
  has_started_ = false;
  state_ = State::kCall;
  return true;
}

bool AnswerParser::call() {
  CallPieces pieces;
  take(reader_->read(rest(), is_end_, &pieces));
  if (pieces.has_started) {
    has_started_ = true;
    out_->push_back({.kind = Kind::kCallStart,
                     .text = format_.marks.decode(pieces.name),
                     .id = format_.marks.decode(pieces.id),
                     .input_end = position_});
  }
  if (!pieces.arguments.empty()) {
    emit(Kind::kArguments, format_.marks.decode_in_json(pieces.arguments));
  }
  if (reader_->state() == CallReader::State::kDone) {
    state_ = State::kTail;
    return true;
  }
  if (reader_->state() == CallReader::State::kFailed || is_end_) {
    fail_call();
    return true;
  }
  return false;
}

bool AnswerParser::tail() {
  const std::string arguments_end = format_.marks.encode(format_.tools->arguments_end);
  if (call_end_.empty() && arguments_end.empty()) {
    end_call(true);
    return true;
  }
  const std::size_t blanks = num_leading_spaces(rest());
  if (blanks > 0) {
    take(blanks);
    return true;
  }
  if (rest().empty() && !is_end_) {
    return false;
  }
  for (const std::string& marker : {arguments_end, call_end_}) {
    const MarkerMatch match = match_marker(rest(), marker, is_end_);
    if (match == MarkerMatch::kMore) {
      return false;
    }
    if (match == MarkerMatch::kYes) {
      take(marker.size());
      if (marker == call_end_ || call_end_.empty()) {
        end_call(true);
      }
      return true;
    }
  }
  end_call(true);  // without its mark, but with whole arguments
  return true;
}

void AnswerParser::end_call(bool is_complete) {
  out_->push_back({.kind = Kind::kCallEnd, .is_complete = is_complete, .input_end = position_});
  ++num_section_calls_;
  num_complete_calls_ += is_complete ? 1 : 0;
  is_after_call_ = true;
  is_at_content_begin_ = false;
  reader_.reset();
  state_ = is_complete ? State::kBetween : State::kSkip;
}

void AnswerParser::fail_call() {
  if (has_started_) {
    std::string closing = reader_->close();
    if (!closing.empty()) {
      emit(Kind::kArguments, std::move(closing));
    }
    malformed_ += format_.marks.decode(raw_);
    end_call(false);
    return;
  }
  if (is_cut_ && num_complete_calls_ > 0) {
    take(rest().size());
    malformed_ += format_.marks.decode(raw_);
    reader_.reset();
    state_ = State::kText;
    return;
  }
  if (!call_sign_.empty() && rest().starts_with(call_sign_)) {
    take(call_sign_.size());  // it would be taken for a call again
  }
  reader_.reset();
  state_ = State::kText;
  malformed_ += is_bare_ ? "" : format_.marks.decode(raw_);
  if (num_section_calls_ > 0 && is_bare_) {
    malformed_ += format_.marks.decode(raw_);
  }
  emit_text(Kind::kText, raw_);
  is_bare_ = false;
}

bool AnswerParser::skip() {
  std::vector<std::string> markers = section_ends_;
  for (const std::string& marker : {call_begin_, call_sign_, call_end_}) {
    if (!marker.empty()) {
      markers.push_back(marker);
    }
  }
  const MarkerHit hit = find_marker(rest(), markers);
  const std::size_t size = !hit.is_found && is_end_ ? rest().size() : hit.begin;
  const bool is_call_end = hit.is_found && markers[hit.marker] == call_end_;
  const std::size_t taken = size + (is_call_end ? call_end_.size() : 0);
  malformed_ += format_.marks.decode(rest().substr(0, taken));
  take(taken);
  if (hit.is_found) {
    state_ = State::kBetween;
  }
  return hit.is_found;
}

}  // namespace plumb
