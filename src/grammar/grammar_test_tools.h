// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/grammar_vocab.h"
#include "grammar/regex_set.h"

namespace plumb {

/// The 256 bytes and an end of sequence.
inline std::shared_ptr<const GrammarVocab> byte_vocab() {
  std::vector<std::string> tokens;
  for (int b = 0; b < 256; ++b) {
    tokens.emplace_back(1, static_cast<char>(b));
  }
  tokens.emplace_back("</s>");
  return std::make_shared<const GrammarVocab>(std::move(tokens), std::vector<TokenId>{256});
}

/// Membership by derivatives, one byte after the other.
inline bool matches(RegexSet* set, RegexId regex, std::string_view text) {
  for (const char c : text) {
    regex = set->derivative(regex, static_cast<std::uint8_t>(c));
  }
  return set->is_nullable(regex);
}

}  // namespace plumb
