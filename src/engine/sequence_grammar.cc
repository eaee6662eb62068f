// SPDX-License-Identifier: Apache-2.0
#include "engine/sequence_grammar.h"

#include <algorithm>
#include <string>
#include <utility>

namespace plumb {
namespace {

std::uint32_t& word_of(std::span<std::uint32_t> mask, TokenId token) {
  return mask[static_cast<std::size_t>(token) / 32];
}

std::uint32_t bit_of(TokenId token) {
  return std::uint32_t{1} << (static_cast<std::uint32_t>(token) % 32);
}

// A grammar that a text outgrows is the request's fault: sent again, it would fail again.
Status refusal(const Status& status) {
  return status.ok() ? status : Status{Code::kInvalidArgument, status.message()};
}

}  // namespace

SequenceGrammar::SequenceGrammar(std::shared_ptr<const CompiledGrammar> grammar)
    : matcher_(std::move(grammar)) {}

// Which tokens end a sequence is the request's business, not the vocabulary's.
void SequenceGrammar::clear_ends(std::span<std::uint32_t> mask) const {
  for (const TokenId token : matcher_.grammar().vocab().end_tokens()) {
    word_of(mask, token) &= ~bit_of(token);
  }
}

Status SequenceGrammar::fill_mask(std::span<const TokenId> ends, std::span<std::uint32_t> mask) {
  std::fill(mask.begin(), mask.end(), 0);
  const bool has_any = matcher_.fill_mask(mask);
  PLUMB_RETURN_IF_ERROR(refusal(matcher_.status()));
  clear_ends(mask);
  if (matcher_.is_complete()) {
    for (const TokenId token : ends) {
      word_of(mask, token) |= bit_of(token);
    }
    return {};
  }
  return has_any ? Status()
                 : Status{Code::kInvalidArgument,
                          "the vocabulary has no token for what the grammar wants next"};
}

Status SequenceGrammar::accept(TokenId token) {
  if (matcher_.accept(token)) {
    return {};
  }
  PLUMB_RETURN_IF_ERROR(refusal(matcher_.status()));
  return {Code::kInternal, "the grammar does not take token " + std::to_string(token)};
}

bool SequenceGrammar::is_finished(std::span<std::uint32_t> mask) {
  if (!matcher_.is_complete()) {
    return false;
  }
  std::fill(mask.begin(), mask.end(), 0);
  matcher_.fill_mask(mask);
  clear_ends(mask);
  return std::all_of(mask.begin(), mask.end(), [](std::uint32_t word) { return word == 0; });
}

std::vector<TokenId> SequenceGrammar::forced(std::int64_t max_tokens) {
  std::vector<TokenId> tokens = matcher_.jump_forward_tokens();
  tokens.resize(static_cast<std::size_t>(std::min(std::ssize(tokens), max_tokens)));
  return tokens;
}

}  // namespace plumb
