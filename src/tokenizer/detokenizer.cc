// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/detokenizer.h"

#include "base/text.h"
#include "tokenizer/tokenizer.h"

namespace plumb {

void Utf8Stream::push(std::string_view bytes, std::string* out) {
  std::string joined;
  if (!held_.empty()) {
    joined = std::move(held_);
    held_.clear();
    joined.append(bytes);
    bytes = joined;
  }
  const std::size_t whole = complete_utf8_len(bytes);
  const std::string_view ready = bytes.substr(0, whole);
  if (is_valid_utf8(ready)) {
    out->append(ready);
  } else {
    out->append(to_valid_utf8(ready));
  }
  held_.assign(bytes.substr(whole));
}

void Utf8Stream::flush(std::string* out) {
  out->append(to_valid_utf8(held_));
  held_.clear();
}

Detokenizer::Detokenizer(const Tokenizer& tokenizer, const Options& options)
    : tokenizer_(tokenizer),
      skip_special_(options.skip_special),
      strip_space_(options.at_text_start && tokenizer.adds_space_prefix()) {}

void Detokenizer::push(TokenId id, std::string* out) {
  const bool is_special = tokenizer_.is_special(id);
  if (skip_special_ && is_special) {
    return;
  }
  std::string_view bytes = tokenizer_.token_bytes(id);
  if (strip_space_ && !is_special && !bytes.empty()) {
    strip_space_ = false;
    bytes.remove_prefix(bytes.front() == ' ' ? 1 : 0);
  }
  utf8_.push(bytes, out);
}

}  // namespace plumb
