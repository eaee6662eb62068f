// SPDX-License-Identifier: Apache-2.0
#include "grammar/forced_tokens.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

#include "tokenizer/tokenizer.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxReconsidered = 4;
constexpr std::int64_t kMaxForcedBytes = 256;

// Leaves the tokens that together are a prefix of the text, each of which adds some of it.
void keep_spelling(const GrammarVocab& vocab, std::string_view text, std::vector<TokenId>* tokens) {
  std::size_t num_kept = 0;
  for (const TokenId token : *tokens) {
    const std::string_view bytes = vocab.token_bytes(token);
    if (bytes.empty() || !text.starts_with(bytes)) {
      break;
    }
    text.remove_prefix(bytes.size());
    ++num_kept;
  }
  tokens->resize(num_kept);
}

// Whether the grammar allows a token that begins with `text` and is longer.
bool is_spanned(GrammarMatcher* matcher, std::string_view text, std::vector<std::uint32_t>* mask) {
  const GrammarVocab& vocab = matcher->grammar().vocab();
  matcher->fill_mask(*mask);
  for (std::size_t i = 0; i < mask->size(); ++i) {
    for (std::uint32_t word = (*mask)[i]; word != 0; word &= word - 1) {
      const auto token = static_cast<TokenId>(i * 32) + std::countr_zero(word);
      const std::string_view bytes = vocab.token_bytes(token);
      if (bytes.size() > text.size() && bytes.starts_with(text)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

std::vector<TokenId> forced_tokens(GrammarMatcher* matcher, std::int64_t max_tokens) {
  const GrammarVocab& vocab = matcher->grammar().vocab();
  if (vocab.tokenizer() == nullptr) {
    return {};
  }
  const std::string text = matcher->jump_forward(kMaxForcedBytes);
  if (text.empty()) {
    return {};
  }
  std::vector<TokenId> tokens = vocab.tokenizer()->encode(text, {.add_special = false});
  keep_spelling(vocab, text, &tokens);
  std::int64_t num_accepted = 0;
  std::size_t num_bytes = 0;
  for (const TokenId token : tokens) {
    if (!matcher->accept(token)) {
      break;
    }
    ++num_accepted;
    num_bytes += vocab.token_bytes(token).size();
  }
  tokens.resize(static_cast<std::size_t>(num_accepted));
  // Back from the end, one token at a time; the earliest place from which a token spans it counts.
  std::vector<std::uint32_t> mask(static_cast<std::size_t>(vocab.num_mask_words()));
  std::int64_t num_kept = num_accepted;
  for (std::int64_t i = num_accepted - 1;
       i >= std::max<std::int64_t>(num_accepted - kMaxReconsidered, 0); --i) {
    matcher->rollback(1);
    num_bytes -= vocab.token_bytes(tokens[static_cast<std::size_t>(i)]).size();
    if (is_spanned(matcher, std::string_view(text).substr(num_bytes), &mask)) {
      num_kept = i;
    }
  }
  matcher->rollback(std::max<std::int64_t>(num_accepted - kMaxReconsidered, 0));
  tokens.resize(static_cast<std::size_t>(std::min(num_kept, max_tokens)));
  return tokens;
}

}  // namespace plumb
