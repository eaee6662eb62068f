// SPDX-License-Identifier: Apache-2.0
#include "grammar/grammar_matcher.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "grammar/mask_walk.h"

namespace plumb {

GrammarMatcher::GrammarMatcher(std::shared_ptr<const CompiledGrammar> grammar)
    : grammar_(std::move(grammar)) {
  reset();
}

GrammarMatcher::~GrammarMatcher() = default;
GrammarMatcher::GrammarMatcher(GrammarMatcher&&) noexcept = default;
GrammarMatcher& GrammarMatcher::operator=(GrammarMatcher&&) noexcept = default;

void GrammarMatcher::reset() {
  store_ = std::make_unique<RowStore>(grammar_->tables(), grammar_->matcher_limits());
  rows_ = {store_->start()};
  is_terminated_ = false;
}

GrammarMatcher GrammarMatcher::fork() const {
  GrammarMatcher copy(grammar_);
  copy.store_ = std::make_unique<RowStore>(*store_);
  copy.rows_ = rows_;
  copy.is_terminated_ = is_terminated_;
  return copy;
}

const Status& GrammarMatcher::status() const {
  return store_->status();
}

bool GrammarMatcher::is_complete() const {
  return rows_.back() >= 0 && store_->is_complete(rows_.back());
}

RowId GrammarMatcher::walk(RowId row, std::string_view bytes) {
  for (const char c : bytes) {
    if (row < 0) {
      break;
    }
    row = store_->next(row, static_cast<std::uint8_t>(c));
  }
  return row;
}

bool GrammarMatcher::accept(TokenId token) {
  if (grammar_->vocab().is_end(token)) {
    if (is_terminated_ || !status().ok() || !is_complete()) {
      return false;
    }
    rows_.push_back(rows_.back());
    is_terminated_ = true;
    return true;
  }
  const std::string_view bytes = grammar_->vocab().token_bytes(token);
  return !bytes.empty() && accept_bytes(bytes);
}

bool GrammarMatcher::accept_bytes(std::string_view bytes) {
  if (is_terminated_ || !status().ok()) {
    return false;
  }
  collect();
  const RowId row = walk(rows_.back(), bytes);
  if (row < 0) {
    return false;
  }
  rows_.push_back(row);
  store_->grant_token();
  return true;
}

bool GrammarMatcher::fill_mask(std::span<std::uint32_t> mask) {
  PLUMB_CHECK(std::ssize(mask) >= grammar_->vocab().num_mask_words(), "fill_mask: mask too short");
  std::fill(mask.begin(), mask.end(), 0);
  if (is_terminated_ || !status().ok()) {
    return false;
  }
  const RowStore::Key key = store_->key(rows_.back());
  std::shared_ptr<const CompiledGrammar::Mask> known = grammar_->find_mask(key);
  if (known == nullptr) {
    collect();
    auto filled = std::make_shared<CompiledGrammar::Mask>(
        static_cast<std::size_t>(grammar_->vocab().num_mask_words()), 0);
    if (!MaskWalk(grammar_->vocab(), store_.get()).fill(rows_.back(), *filled)) {
      return false;
    }
    known = std::move(filled);
    grammar_->keep_mask(key, known);
  }
  std::copy(known->begin(), known->end(), mask.begin());
  return std::any_of(known->begin(), known->end(), [](std::uint32_t word) { return word != 0; });
}

void GrammarMatcher::rollback(std::int64_t num_steps) {
  PLUMB_CHECK(num_steps >= 0 && num_steps <= this->num_steps(), "rollback: too many steps");
  if (num_steps > 0) {
    rows_.resize(rows_.size() - static_cast<std::size_t>(num_steps));
    is_terminated_ = false;  // nothing comes after an end token, so it was the last step
  }
}

std::string GrammarMatcher::jump_forward(std::int64_t max_bytes) {
  std::string forced;
  if (is_terminated_ || !status().ok()) {
    return forced;
  }
  collect();
  RowId row = rows_.back();
  while (row >= 0 && std::ssize(forced) < max_bytes && !store_->is_complete(row)) {
    int byte = Dfa::kNoByte;
    for (const RowStore::Scan& scan : store_->scans(row)) {
      const int only = store_->terminal(scan).only_byte(scan.state);
      byte = byte == Dfa::kNoByte || byte == only ? only : Dfa::kSeveralBytes;
    }
    if (byte < 0) {
      break;
    }
    forced.push_back(static_cast<char>(byte));
    row = store_->next(row, static_cast<std::uint8_t>(byte));
  }
  return forced;
}

std::vector<TokenId> GrammarMatcher::jump_forward_tokens(std::int64_t max_bytes) {
  constexpr std::size_t kMaxDropped = 4;
  const std::string bytes = jump_forward(max_bytes);
  // A character that is forced in part is the model's to write.
  const std::string_view text = std::string_view(bytes).substr(0, complete_utf8_len(bytes));
  std::vector<TokenId> tokens;
  std::vector<std::size_t> begins;  // of the tokens in the text
  std::size_t covered = 0;
  for (const TokenId token : text.empty() ? tokens : grammar_->vocab().encode(text)) {
    const std::string_view token_bytes = grammar_->vocab().token_bytes(token);
    if (token_bytes.empty() || !text.substr(covered).starts_with(token_bytes)) {
      break;
    }
    tokens.push_back(token);
    begins.push_back(covered);
    covered += token_bytes.size();
  }
  const RowId after = walk(rows_.back(), bytes);
  MaskWalk longer(grammar_->vocab(), store_.get());
  const std::size_t first = tokens.size() - std::min(tokens.size(), kMaxDropped);
  for (std::size_t i = first; i < tokens.size(); ++i) {
    if (covered == text.size() && after >= 0 &&
        longer.has_longer_token(std::string_view(bytes).substr(begins[i]), after)) {
      tokens.resize(i);
    }
  }
  return tokens;
}

void GrammarMatcher::collect() {
  std::vector<RowId*> roots;
  if (store_->wants_collection()) {
    for (RowId& row : rows_) {
      roots.push_back(&row);
    }
    store_->collect(roots);
  }
}

}  // namespace plumb
