// SPDX-License-Identifier: Apache-2.0
#include "grammar/mask_warming.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "grammar/mask_walk.h"
#include "grammar/row_store.h"

namespace plumb {
namespace {

using Mask = CompiledGrammar::Mask;

// Where more tokens may come, one byte of each kind is followed instead of each token.
constexpr int kFewTokens = 32;

MatcherLimits limits_of(const CompiledGrammar& grammar) {
  MatcherLimits limits = grammar.matcher_limits();
  limits.max_work = std::min(limits.max_work, kMaxWarmingWork);
  return limits;
}

class MaskWarming {
 public:
  explicit MaskWarming(const CompiledGrammar& grammar)
      : grammar_(grammar), store_(grammar.tables(), limits_of(grammar)) {}

  std::int64_t run(const std::function<bool()>& is_cancelled) {
    const std::int64_t max_masks = std::min(kMaxWarmed, grammar_.max_masks() / 4);
    reach(store_.start());
    std::int64_t num_made = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (static_cast<std::int64_t>(i) >= max_masks || is_cancelled()) {
        break;
      }
      const RowId row = rows_[i];
      std::shared_ptr<const Mask> mask = grammar_.find_mask(store_.key(row));
      if (mask == nullptr) {
        mask = make(row);
        num_made += mask == nullptr ? 0 : 1;
      }
      if (mask == nullptr) {
        break;
      }
      follow(row, *mask);
    }
    return num_made;
  }

 private:
  void reach(RowId row) {
    if (row >= 0 && seen_.insert(row).second) {
      rows_.push_back(row);
    }
  }

  std::shared_ptr<const Mask> make(RowId row) {
    auto mask =
        std::make_shared<Mask>(static_cast<std::size_t>(grammar_.vocab().num_mask_words()), 0);
    if (!MaskWalk(grammar_.vocab(), &store_).fill(row, *mask)) {
      return nullptr;
    }
    grammar_.keep_mask(store_.key(row), mask);
    return mask;
  }

  void follow(RowId row, const Mask& mask) {
    int num_tokens = 0;
    for (const std::uint32_t word : mask) {
      num_tokens += std::popcount(word);
    }
    if (num_tokens > kFewTokens) {
      follow_bytes(row);
      return;
    }
    for (std::size_t word = 0; word < mask.size(); ++word) {
      for (std::uint32_t rest = mask[word]; rest != 0; rest &= rest - 1) {
        const auto token = static_cast<TokenId>(32 * word) + std::countr_zero(rest);
        follow_text(row, grammar_.vocab().token_bytes(token));
      }
    }
  }

  void follow_bytes(RowId row) {
    const auto& classes = grammar_.tables().byte_class;
    std::vector<bool> done(static_cast<std::size_t>(grammar_.tables().num_classes), false);
    for (std::size_t byte = 0; byte < classes.size(); ++byte) {
      if (!done[classes[byte]]) {
        done[classes[byte]] = true;
        const auto c = static_cast<char>(byte);
        follow_text(row, std::string_view(&c, 1));
      }
    }
  }

  void follow_text(RowId row, std::string_view text) {
    for (const char c : text) {
      row = row < 0 ? row : store_.next(row, static_cast<std::uint8_t>(c));
    }
    if (!text.empty()) {
      reach(row);
    }
  }

  const CompiledGrammar& grammar_;
  RowStore store_;
  std::vector<RowId> rows_;  // in the order of their distance
  std::unordered_set<RowId> seen_;
};

}  // namespace

std::int64_t warm_masks(const CompiledGrammar& grammar, const std::function<bool()>& is_cancelled) {
  return MaskWarming(grammar).run(is_cancelled);
}

}  // namespace plumb
