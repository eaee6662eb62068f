// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/stop_matcher.h"

namespace plumb {

StopMatcher::StopMatcher(std::vector<std::string> stops)
    : automaton_(std::vector<std::string_view>(stops.begin(), stops.end())) {}

bool StopMatcher::push(std::string_view text, std::string* out) {
  if (matched_ != kNone) {
    return true;
  }
  if (automaton_.empty()) {
    out->append(text);
    return false;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    state_ = automaton_.next(state_, static_cast<unsigned char>(text[i]));
    const std::int32_t match = automaton_.match(state_);
    if (match == AhoCorasick::kNone) {
      continue;
    }
    matched_ = automaton_.pattern(match);
    held_.append(text.substr(0, i + 1));
    held_.resize(held_.size() - static_cast<std::size_t>(automaton_.depth(match)));
    flush(out);
    return true;
  }
  held_.append(text);
  const std::size_t num_free = held_.size() - static_cast<std::size_t>(automaton_.depth(state_));
  out->append(held_, 0, num_free);
  held_.erase(0, num_free);
  return false;
}

void StopMatcher::flush(std::string* out) {
  out->append(held_);
  held_.clear();
  state_ = AhoCorasick::kRoot;
}

}  // namespace plumb
