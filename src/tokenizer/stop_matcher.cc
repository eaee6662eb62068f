// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace plumb {
namespace {

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

std::size_t next_char(std::string_view text, std::size_t at) {
  do {
    ++at;
  } while (at < text.size() && is_continuation(text[at]));
  return at;
}

std::size_t chars_before(std::string_view text, std::size_t at, std::size_t num_chars) {
  for (; at > 0 && num_chars > 0; --num_chars) {
    do {
      --at;
    } while (at > 0 && is_continuation(text[at]));
  }
  return at;
}

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops, std::shared_ptr<const StopRegex> regex)
    : stops_(std::move(stops)),
      automaton_(std::vector<std::string_view>(stops_.begin(), stops_.end())),
      regex_(std::move(regex)),
      search_(regex_ ? std::make_unique<StopRegexSearch>(*regex_) : nullptr) {}

StopMatcher::~StopMatcher() = default;
StopMatcher::StopMatcher(StopMatcher&&) noexcept = default;

// Bytes of text up to the end of the first stop string, all of it without one; *num_bytes is then
// the string's length, else 0.
std::size_t StopMatcher::find_string(std::string_view text, std::size_t* num_bytes) {
  *num_bytes = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    state_ = automaton_.next(state_, static_cast<unsigned char>(text[i]));
    const std::int32_t match = automaton_.match(state_);
    if (match != AhoCorasick::kNone) {
      stop_ = stops_[static_cast<std::size_t>(automaton_.pattern(match))];
      *num_bytes = stop_.size();
      return i + 1;
    }
  }
  return text.size();
}

bool StopMatcher::push(std::string_view text, std::string* out) {
  if (has_matched_) {
    return true;
  }
  if (automaton_.empty() && !search_) {
    out->append(text);
    return false;
  }
  std::size_t num_bytes = 0;
  buffer_.append(text.substr(0, find_string(text, &num_bytes)));
  // A match that ends before the stop string wins; what comes after it is not looked at.
  if (search_ && search(false, num_bytes > 0 ? buffer_.size() - 1 : buffer_.size(), out)) {
    return true;
  }
  if (num_bytes > 0) {
    return stop_at(buffer_.size() - num_bytes, buffer_.size(), std::move(stop_), out);
  }
  std::size_t end = buffer_.size() - static_cast<std::size_t>(automaton_.depth(state_));
  if (search_) {
    end = std::min(end, search_from_);
  }
  release(end, out);
  return false;
}

bool StopMatcher::flush(std::string* out) {
  if (has_matched_) {
    return true;
  }
  if (search_ && search(true, buffer_.size(), out)) {
    return true;
  }
  release(buffer_.size(), out);
  state_ = AhoCorasick::kRoot;
  return false;
}

// Looks for a match from search_from_ on that ends at most at `last_end`, and moves search_from_ to
// where one may still begin.
bool StopMatcher::search(bool is_end, std::size_t last_end, std::string* out) {
  using Kind = StopRegexSearch::Found::Kind;
  while (search_from_ < buffer_.size() && status_.ok()) {
    Result<StopRegexSearch::Found> found = search_->find(buffer_, search_from_, is_end);
    if (!found.ok()) {
      status_ = found.status();
      return false;
    }
    const StopRegexSearch::Found& place = found.value();
    if (place.kind == Kind::kMatch && place.end > last_end) {
      return false;
    }
    if (place.kind == Kind::kMatch) {
      return stop_at(place.begin, place.end, regex_->pattern(place.pattern), out);
    }
    search_from_ = place.kind == Kind::kPartial ? place.begin : buffer_.size();
    if (buffer_.size() - search_from_ <= StopRegex::kMaxMatchBytes) {
      break;
    }
    search_from_ = next_char(buffer_, search_from_);
  }
  return false;
}

// Hands out the held text up to `end`, and forgets what no look-behind can see any more.
void StopMatcher::release(std::size_t end, std::string* out) {
  if (end > num_released_) {
    out->append(buffer_, num_released_, end - num_released_);
    num_released_ = end;
  }
  const std::size_t num_gone =
      search_ ? chars_before(buffer_, num_released_, regex_->num_context_chars()) : num_released_;
  buffer_.erase(0, num_gone);
  num_released_ -= num_gone;
  search_from_ -= std::min(search_from_, num_gone);
}

bool StopMatcher::stop_at(std::size_t begin, std::size_t end, std::string stop, std::string* out) {
  has_matched_ = true;
  stop_ = std::move(stop);
  matched_text_ = buffer_.substr(begin, end - begin);
  if (begin > num_released_) {
    out->append(buffer_, num_released_, begin - num_released_);
  }
  buffer_.clear();
  num_released_ = 0;
  return true;
}

}  // namespace plumb
