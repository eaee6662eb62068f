// SPDX-License-Identifier: Apache-2.0
#include "frontend/text_stream.h"

#include <utility>

namespace plumb {

TextStream::TextStream(const Tokenizer& tokenizer, const TextStreamOptions& options)
    : tokenizer_(tokenizer),
      stops_(options.stops),
      include_stop_str_(options.include_stop_str),
      detokenizer_(tokenizer, {options.skip_special_tokens, options.at_text_start}),
      matcher_(options.stops) {}

TokenText TextStream::describe(const EmittedToken& token) const {
  TokenText out{token.token, std::string(tokenizer_.token_bytes(token.token)), token.logprob, {}};
  for (const TokenLogprob& top : token.top_logprobs) {
    out.top.push_back({top.token, std::string(tokenizer_.token_bytes(top.token)), top.logprob, {}});
  }
  return out;
}

void TextStream::take(const EmittedToken& token, std::string* text) {
  std::string decoded;
  detokenizer_.push(token.token, &decoded);
  decoded_bytes_ += static_cast<std::int64_t>(decoded.size());
  const bool is_open = !detokenizer_.held().empty();
  pending_.push_back({describe(token), decoded_bytes_ + (is_open ? 1 : 0)});
  ++num_tokens_;
  if (matcher_.push(decoded, text) && include_stop_str_) {
    text->append(stops_[static_cast<std::size_t>(matcher_.matched())]);
  }
}

void TextStream::release(std::int64_t emitted, bool everything, ChoiceDelta* delta) {
  while (!pending_.empty() && (everything || pending_.front().text_end <= emitted)) {
    delta->tokens.push_back(std::move(pending_.front().token));
    pending_.pop_front();
  }
}

ChoiceDelta TextStream::consume(const StreamEvent& event) {
  ChoiceDelta delta;
  for (const EmittedToken& token : event.tokens) {
    if (matcher_.matched() != StopMatcher::kNone) {
      return delta;
    }
    const bool ends_here = event.finish == FinishReason::kEos ||
                           (event.finish == FinishReason::kStop && !include_stop_str_);
    const bool is_end = ends_here && &token == &event.tokens.back();
    if (is_end) {  // the token that ended it is counted and has no text
      ++num_tokens_;
      continue;
    }
    take(token, &delta.text);
  }
  const bool is_last = event.finish != FinishReason::kNone;
  if (is_last && matcher_.matched() == StopMatcher::kNone) {
    std::string rest;
    detokenizer_.flush(&rest);
    matcher_.push(rest, &delta.text);
    matcher_.flush(&delta.text);
  }
  emitted_bytes_ += static_cast<std::int64_t>(delta.text.size());
  release(emitted_bytes_, is_last && matcher_.matched() == StopMatcher::kNone, &delta);
  return delta;
}

std::optional<std::string> TextStream::matched_stop() const {
  if (matcher_.matched() == StopMatcher::kNone) {
    return std::nullopt;
  }
  return stops_[static_cast<std::size_t>(matcher_.matched())];
}

}  // namespace plumb
