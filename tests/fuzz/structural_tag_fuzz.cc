// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/token_id.h"
#include "grammar/grammar.h"
#include "grammar/grammar_matcher.h"

namespace {

std::shared_ptr<const plumb::GrammarVocab> make_vocab() {
  std::vector<std::string> tokens = {"</s>", "ab", "\": ", "</", "\xC3\xA9", "<f", ">{"};
  for (int b = 0; b < 128; ++b) {
    tokens.emplace_back(1, static_cast<char>(b));
  }
  return std::make_shared<const plumb::GrammarVocab>(std::move(tokens),
                                                     std::vector<plumb::TokenId>{0});
}

}  // namespace

// The input is a structural tag; whatever it is, compiling ends with a grammar or an error that
// says something, and for a few steps the mask allows the tokens that a fork of the matcher
// accepts.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::shared_ptr<const plumb::GrammarVocab> vocab = make_vocab();
  plumb::CompileBudget budget({.max_states = 5000, .max_expressions = 20'000, .max_rules = 5000},
                              {});
  plumb::GrammarLimits limits;
  limits.matcher = {.max_row_items = 2000, .max_bytes = 1 << 20};
  auto grammar = plumb::compile_structural_tag(
      std::string_view(reinterpret_cast<const char*>(data), size), {}, vocab, [] { return vocab; },
      limits, &budget);
  if (!grammar.ok()) {
    PLUMB_CHECK(!grammar.status().message().empty(), "an error without a message");
    return 0;
  }
  plumb::GrammarMatcher matcher(std::move(grammar).value());
  std::vector<std::uint32_t> mask(static_cast<std::size_t>(vocab->num_mask_words()));
  for (int step = 0; step < 4 && matcher.fill_mask(mask); ++step) {
    plumb::TokenId last = 0;
    for (plumb::TokenId token = 0; token < vocab->vocab_size(); ++token) {
      const bool is_allowed =
          ((mask[static_cast<std::size_t>(token) / 32] >> (token % 32)) & 1) != 0;
      plumb::GrammarMatcher fork = matcher.fork();
      PLUMB_CHECK(fork.accept(token) == is_allowed || !fork.status().ok(),
                  "mask and matcher differ");
      last = is_allowed ? token : last;
    }
    if (!matcher.accept(last)) {
      break;
    }
  }
  return 0;
}
