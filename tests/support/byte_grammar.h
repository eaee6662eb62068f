// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/rng.h"
#include "grammar/compiled_grammar.h"
#include "grammar/grammar_matcher.h"
#include "grammar/json_number_set.h"
#include "grammar/json_schema.h"

namespace plumb {

/// A grammar over a vocabulary of single bytes: what tests ask about texts.
class ByteGrammar {
 public:
  static constexpr TokenId kEnd = 256;

  static Result<ByteGrammar> from_schema(std::string_view schema,
                                         const JsonSchemaOptions& options = {}) {
    CompileBudget budget;
    PLUMB_ASSIGN(JsonSchemaGrammar grammar, compile_json_schema(schema, options, &budget));
    return from_cfg(std::move(grammar.cfg), &budget);
  }

  static Result<ByteGrammar> from_cfg(Cfg cfg, CompileBudget* budget) {
    std::vector<std::string> bytes;
    bytes.reserve(257);
    for (int byte = 0; byte < 256; ++byte) {
      bytes.emplace_back(1, static_cast<char>(byte));
    }
    bytes.emplace_back();
    std::shared_ptr<const GrammarVocab> vocab =
        std::make_unique<const GrammarVocab>(std::move(bytes), std::vector<TokenId>{kEnd});
    PLUMB_ASSIGN(std::unique_ptr<const CompiledGrammar> compiled,
                 CompiledGrammar::compile(std::move(cfg), std::move(vocab), {}, budget));
    return ByteGrammar(std::move(compiled));
  }

  bool accepts(std::string_view text) const {
    GrammarMatcher matcher(grammar_);
    return matcher.accept_bytes(text) && matcher.is_complete();
  }

  /// A random text of the grammar. After soft_bytes it closes what it can; empty if it has no end
  /// within four times as many. A dead end gives a text of "DEAD END" and what led to it.
  std::string sample(Rng* rng, std::int64_t soft_bytes) const {
    GrammarMatcher matcher(grammar_);
    std::vector<std::uint32_t> mask(9);
    std::string text;
    while (static_cast<std::int64_t>(text.size()) < 4 * soft_bytes) {
      if (!matcher.fill_mask(mask)) {
        return "DEAD END after " + text;
      }
      const bool in_haste = static_cast<std::int64_t>(text.size()) >= soft_bytes;
      const TokenId token = choose(mask, in_haste, rng);
      if (token == kEnd) {
        return text;
      }
      if (!matcher.accept(token)) {
        return "DEAD END after " + text;
      }
      text += static_cast<char>(token);
    }
    return {};
  }

 private:
  explicit ByteGrammar(std::shared_ptr<const CompiledGrammar> grammar)
      : grammar_(std::move(grammar)) {}

  static bool allows(const std::vector<std::uint32_t>& mask, TokenId token) {
    const auto bit = static_cast<std::size_t>(token);
    return ((mask[bit / 32] >> (bit % 32)) & 1U) != 0;
  }

  static TokenId choose(const std::vector<std::uint32_t>& mask, bool in_haste, Rng* rng) {
    constexpr std::string_view kClosers = "}]\"";
    if (allows(mask, kEnd) && (in_haste || rng->uniform() < 0.3)) {
      return kEnd;
    }
    if (in_haste || rng->uniform() < 0.15) {
      // '"' ends strings but begins members; '}' ends objects but goes on in strings.
      const auto first = static_cast<std::size_t>(rng->below(3));
      for (std::size_t i = 0; i < kClosers.size(); ++i) {
        const auto closer = static_cast<std::uint8_t>(kClosers[(first + i) % kClosers.size()]);
        if (allows(mask, closer)) {
          return closer;
        }
      }
    }
    // Half of the draws stay in readable bytes, where the rules are.
    const bool readable = rng->uniform() < 0.5;
    std::vector<TokenId> allowed;
    for (TokenId token = 0; token <= kEnd; ++token) {
      if (allows(mask, token) && (!readable || (token >= 0x20 && token < 0x7F))) {
        allowed.push_back(token);
      }
    }
    if (allowed.empty()) {
      return readable ? choose(mask, in_haste, rng) : kEnd;
    }
    return allowed[static_cast<std::size_t>(rng->below(static_cast<std::int64_t>(allowed.size())))];
  }

  std::shared_ptr<const CompiledGrammar> grammar_;
};

/// Every head with every tail, at most `limit`.
inline std::vector<std::string> joined_spellings(const std::vector<std::string>& heads,
                                                 std::string_view between,
                                                 const std::vector<std::string>& tails,
                                                 std::size_t limit) {
  std::vector<std::string> out;
  for (const std::string& head : heads) {
    for (const std::string& tail : tails) {
      if (out.size() < limit) {
        out.emplace_back(head).append(between).append(tail);
      }
    }
  }
  return out;
}

/// The parts one after the other between brackets, in their order.
inline std::vector<std::string> bracketed_spellings(
    std::string open, const std::vector<std::vector<std::string>>& parts, const std::string& close,
    std::size_t limit) {
  std::vector<std::string> texts{std::move(open)};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    texts = joined_spellings(texts, i == 0 ? "" : ",", parts[i], limit);
  }
  return joined_spellings(texts, "", {close}, limit);
}

/// Compact texts of a value with its members in every order, at most `limit` for each order;
/// numbers as grammars of schemas write them.
inline std::vector<std::string> json_spellings(const Json& value, std::size_t limit) {
  if (value.is_number()) {
    const Result<Decimal> number = parse_decimal(to_text(value));
    return {number.ok() ? number.value().text() : to_text(value)};
  }
  std::vector<std::vector<std::string>> parts;
  if (value.is_array()) {
    for (const Json& item : value.as_array()) {
      parts.push_back(json_spellings(item, limit));
    }
    return bracketed_spellings("[", parts, "]", limit);
  }
  if (!value.is_object()) {
    return {to_text(value)};
  }
  for (const JsonMember& member : value.as_object()) {
    parts.push_back(joined_spellings({to_text(Json(member.key))}, ":",
                                     json_spellings(member.value, limit), limit));
  }
  std::sort(parts.begin(), parts.end());
  std::vector<std::string> all;
  do {
    const std::vector<std::string> texts = bracketed_spellings("{", parts, "}", limit);
    all.insert(all.end(), texts.begin(), texts.end());
  } while (all.size() < limit && std::next_permutation(parts.begin(), parts.end()));
  return all;
}

}  // namespace plumb
