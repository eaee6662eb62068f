// SPDX-License-Identifier: Apache-2.0
#include "frontend/text_stream.h"

#include <algorithm>
#include <utility>

#include "api/ids.h"

namespace plumb {

using Kind = OutputPiece::Kind;

TextStream::TextStream(const Tokenizer& tokenizer, const TextStreamOptions& options)
    : tokenizer_(tokenizer),
      options_(options),
      detokenizer_(tokenizer, {options.skip_special_tokens, options.at_text_start}) {
  matcher_.emplace(options_.stops, options_.stop_regex);
  if (options_.output) {
    parser_ = make_output_parser(std::move(options_.output->format));
    options_.output->format = {.tools = options.output->format.tools};
  }
}

TokenText TextStream::describe(const EmittedToken& token) const {
  TokenText out{token.token, std::string(tokenizer_.token_bytes(token.token)), token.logprob, {}};
  for (const TokenLogprob& top : token.top_logprobs) {
    out.top.push_back({top.token, std::string(tokenizer_.token_bytes(top.token)), top.logprob, {}});
  }
  if (parser_ != nullptr) {
    out.kind = AnswerKind::kCall;  // until a piece of it is something else
  }
  return out;
}

void TextStream::take(const EmittedToken& token) {
  std::string input;
  const std::int64_t begin = input_bytes_;
  bool is_mark = false;
  if (options_.output) {
    const std::vector<TokenId>& marks = options_.output->mark_tokens;
    const auto mark = std::find(marks.begin(), marks.end(), token.token);
    is_mark = mark != marks.end();
    if (is_mark) {
      detokenizer_.flush(&input);
      input += OutputMarks::code(static_cast<std::size_t>(mark - marks.begin()));
    }
  }
  if (!is_mark) {
    detokenizer_.push(token.token, &input);
  }
  ++num_tokens_;
  const bool is_open = !detokenizer_.held().empty();
  const std::int64_t end = begin + static_cast<std::int64_t>(input.size());
  pending_.push_back({describe(token), begin, end + (is_open ? 1 : 0)});
  feed(input);
}

void TextStream::feed(const std::string& input) {
  input_bytes_ += static_cast<std::int64_t>(input.size());
  std::vector<OutputPiece> pieces;
  if (parser_ != nullptr) {
    parser_->push(input, &pieces);
  } else if (!input.empty()) {
    pieces.push_back({.kind = Kind::kText, .text = input, .input_end = input_bytes_});
  }
  for (const OutputPiece& piece : pieces) {
    handle(piece);
  }
}

void TextStream::handle(const OutputPiece& piece) {
  if (is_over()) {
    return;
  }
  switch (piece.kind) {
    case Kind::kText:
      flush_reasoning();
      add_text(piece);
      break;
    case Kind::kReasoning:
      end_text();
      add_reasoning(piece);
      break;
    default:
      flush_reasoning();
      end_text();
      add_call(piece);
      break;
  }
  decided_ = piece.input_end;
}

// Tokens with bytes in that part of the input are of that kind: text before reasoning before calls.
void TextStream::label(std::int64_t begin, std::int64_t end, AnswerKind kind) {
  for (Pending& pending : pending_) {
    const bool overlaps = pending.begin < end && pending.end > begin;
    if (overlaps && (kind == AnswerKind::kText || pending.token.kind == AnswerKind::kCall)) {
      pending.token.kind = kind;
    }
  }
}

void TextStream::add(ChoiceDelta delta) {
  if (deltas_.empty() || !merge_delta(&deltas_.back(), &delta)) {
    deltas_.push_back(std::move(delta));
  }
}

void TextStream::add_text(const OutputPiece& piece) {
  if (parser_ != nullptr) {
    label(std::max(decided_, piece.input_end - std::ssize(piece.text)), piece.input_end,
          AnswerKind::kText);
  }
  text_end_ = piece.input_end;
  has_text_ = true;
  const std::int64_t num_bytes = std::ssize(matcher_->held()) + std::ssize(piece.text);
  ChoiceDelta delta;
  if (num_tokens_ <= options_.min_tokens) {
    delta.text = piece.text;
  } else if (matcher_->push(piece.text, &delta.text)) {
    stop_at(num_bytes, &delta);
  }
  add(std::move(delta));
}

// A stop string has matched: of so many bytes up to text_end_, the delta has what is before it.
void TextStream::stop_at(std::int64_t num_bytes, ChoiceDelta* delta) {
  stop_ = matcher_->stop();
  resolved_ = text_end_ - (num_bytes - std::ssize(delta->text));
  if (options_.include_stop_str) {
    resolved_ += std::ssize(matcher_->matched_text());
    delta->text += matcher_->matched_text();
  }
}

// What a stop string might have begun with is text now.
void TextStream::end_text() {
  if (!has_text_) {
    return;
  }
  const std::int64_t num_bytes = std::ssize(matcher_->held());
  ChoiceDelta delta;
  if (matcher_->flush(&delta.text)) {
    stop_at(num_bytes, &delta);
  } else if (matcher_->status().ok()) {
    matcher_.emplace(options_.stops, options_.stop_regex);
  }
  has_text_ = false;
  add(std::move(delta));
}

void TextStream::add_reasoning(const OutputPiece& piece) {
  const std::int64_t size = piece.text.empty() ? piece.input_end : std::ssize(piece.text);
  label(std::max(decided_, piece.input_end - size), piece.input_end, AnswerKind::kReasoning);
  reasoning_ += piece.text;
  if (options_.output->streams_reasoning) {
    flush_reasoning();
  }
}

void TextStream::flush_reasoning() {
  ChoiceDelta delta;
  delta.reasoning = std::exchange(reasoning_, {});
  if (!delta.reasoning.empty() && options_.output->shows_reasoning) {
    add(std::move(delta));
  }
}

std::string TextStream::new_call_id(const std::string& written) const {
  constexpr int kMistralIdChars = 9;
  constexpr int kIdChars = 24;
  if (!written.empty()) {
    return written;
  }
  const ToolFormat* tools = options_.output->format.tools;
  if (tools != nullptr && tools->ids == CallIds::kMistral) {
    return random_alnum(kMistralIdChars);
  }
  return options_.output->call_id_prefix + random_alnum(kIdChars);
}

void TextStream::add_call(const OutputPiece& piece) {
  if (is_over()) {
    return;
  }
  check_input(piece);
  ToolCallDelta call{.index = num_calls_};
  if (piece.kind == Kind::kCallStart) {
    call.id = new_call_id(piece.id);
    call.name = piece.text;
    has_begun_call_ = true;
  } else if (piece.kind == Kind::kArguments) {
    call.arguments = piece.text;
  } else {
    call.has_ended = true;
    call.is_cut = !piece.is_complete;
    ++num_calls_;
    num_complete_calls_ += piece.is_complete ? 1 : 0;
    has_all_calls_ = options_.output->max_calls > 0 && num_calls_ == options_.output->max_calls;
    resolved_ = piece.input_end;
  }
  ChoiceDelta delta;
  delta.calls.push_back(std::move(call));
  add(std::move(delta));
}

// A call that its limit cut is told as such, and no more is asked of it.
void TextStream::check_input(const OutputPiece& piece) {
  const std::vector<CheckedInput>& inputs = options_.output->inputs;
  if (piece.kind == Kind::kCallStart) {
    const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const CheckedInput& input) {
      return input.tool == piece.text;
    });
    checked_input_ = found == inputs.end() ? nullptr : &*found;
    input_reader_ = {};
    input_.clear();
  } else if (checked_input_ != nullptr && piece.kind == Kind::kArguments) {
    input_ += input_reader_.push(piece.text);
  } else if (checked_input_ != nullptr && (piece.is_complete || !is_cut_)) {
    input_ += input_reader_.finish();
    invalid_call_ = checked_input_->check->check(checked_input_->tool, input_);
  }
}

void TextStream::release(bool is_last) {
  if (!is_over()) {
    const std::int64_t held = has_text_ ? std::ssize(matcher_->held()) : 0;
    resolved_ = held > 0 ? text_end_ - held : parser_ != nullptr ? decided_ : input_bytes_;
  }
  const auto is_due = [&](const Pending& next) {
    return is_over() ? next.begin < resolved_ || next.end <= resolved_
                     : is_last || next.end <= resolved_;
  };
  ChoiceDelta delta;
  while (!pending_.empty() && is_due(pending_.front())) {
    num_reasoning_tokens_ += pending_.front().token.kind == AnswerKind::kReasoning ? 1 : 0;
    delta.tokens.push_back(std::move(pending_.front().token));
    pending_.pop_front();
  }
  if (!delta.tokens.empty()) {
    add(std::move(delta));
  }
}

std::vector<TokenText> TextStream::cut_tokens() const {
  std::vector<TokenText> out;
  if (is_over()) {
    for (const Pending& pending : pending_) {
      out.push_back(pending.token);
    }
  }
  return out;
}

void TextStream::finish() {
  std::string rest;
  detokenizer_.flush(&rest);
  if (!is_cut_ || !has_begun_call_) {  // half a character of a call's marks would be text
    feed(rest);
  }
  if (parser_ != nullptr) {
    std::vector<OutputPiece> pieces;
    parser_->finish(&pieces, is_cut_);
    for (const OutputPiece& piece : pieces) {
      handle(piece);
    }
  }
  if (!is_over()) {
    flush_reasoning();
    end_text();
  }
}

std::vector<ChoiceDelta> TextStream::consume(const StreamEvent& event) {
  deltas_.clear();
  is_cut_ = event.finish == FinishReason::kLength || event.finish == FinishReason::kAbort;
  for (const EmittedToken& token : event.tokens) {
    if (is_over()) {
      break;
    }
    const bool ends_here = event.finish == FinishReason::kEos ||
                           (event.finish == FinishReason::kStop && !options_.include_stop_str);
    const bool is_end = ends_here && &token == &event.tokens.back();
    if (is_end) {  // the token that ended it is counted and has no text
      ++num_tokens_;
      last_token_ = describe(token);
      continue;
    }
    take(token);
    release(false);
  }
  const bool is_last = event.finish != FinishReason::kNone;
  if (is_last && !is_over()) {
    finish();
  }
  release(is_last);
  std::erase_if(deltas_, [](const ChoiceDelta& delta) {
    return !delta.has_pieces() && delta.tokens.empty();
  });
  return std::exchange(deltas_, {});
}

}  // namespace plumb
