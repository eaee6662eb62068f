// SPDX-License-Identifier: Apache-2.0
#include "frontend/text_stream.h"

#include <utility>

namespace plumb {

TextStream::TextStream(const Tokenizer& tokenizer, const TextStreamOptions& options)
    : tokenizer_(tokenizer),
      min_tokens_(options.min_tokens),
      include_stop_str_(options.include_stop_str),
      detokenizer_(tokenizer, {options.skip_special_tokens, options.at_text_start}),
      matcher_(options.stops, options.stop_regex) {}

TokenText TextStream::describe(const EmittedToken& token) const {
  TokenText out{token.token, std::string(tokenizer_.token_bytes(token.token)), token.logprob, {}};
  for (const TokenLogprob& top : token.top_logprobs) {
    out.top.push_back({top.token, std::string(tokenizer_.token_bytes(top.token)), top.logprob, {}});
  }
  return out;
}

void TextStream::take(const EmittedToken& token, std::string* text) {
  std::string decoded;
  const std::int64_t begin = decoded_bytes_;
  detokenizer_.push(token.token, &decoded);
  decoded_bytes_ += static_cast<std::int64_t>(decoded.size());
  const bool is_open = !detokenizer_.held().empty();
  pending_.push_back({describe(token), begin, decoded_bytes_ + (is_open ? 1 : 0)});
  if (++num_tokens_ <= min_tokens_) {
    text->append(decoded);
  } else if (matcher_.push(decoded, text) && include_stop_str_) {
    text->append(matcher_.matched_text());
  }
}

void TextStream::release(bool is_last, ChoiceDelta* delta) {
  const bool is_cut = matcher_.has_matched();
  const auto is_due = [&](const Pending& next) {
    return is_cut ? next.text_begin < emitted_bytes_ || next.text_end <= emitted_bytes_
                  : is_last || next.text_end <= emitted_bytes_;
  };
  while (!pending_.empty() && is_due(pending_.front())) {
    delta->tokens.push_back(std::move(pending_.front().token));
    pending_.pop_front();
  }
}

ChoiceDelta TextStream::consume(const StreamEvent& event) {
  ChoiceDelta delta;
  for (const EmittedToken& token : event.tokens) {
    if (matcher_.has_matched()) {
      break;
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
  if (is_last && !matcher_.has_matched()) {
    std::string rest;
    detokenizer_.flush(&rest);
    if ((matcher_.push(rest, &delta.text) || matcher_.flush(&delta.text)) && include_stop_str_) {
      delta.text.append(matcher_.matched_text());
    }
  }
  emitted_bytes_ += static_cast<std::int64_t>(delta.text.size());
  release(is_last, &delta);
  return delta;
}

std::optional<std::string> TextStream::matched_stop() const {
  return matcher_.has_matched() ? std::optional(matcher_.stop()) : std::nullopt;
}

}  // namespace plumb
