// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "grammar/dfa.h"
#include "grammar/regex_parser.h"

// The first byte chooses the mode, the rest is a pattern. Whatever it is, parsing ends with a
// language or an error, and the automaton accepts the empty text if and only if the expression
// does.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view pattern(reinterpret_cast<const char*>(data) + 1, size - 1);
  plumb::RegexSet set;
  plumb::RegexParseOptions options;
  options.anchored = data[0] % 2 == 0;
  options.max_expressions = 20'000;
  const auto regex = plumb::parse_regex(pattern, options, &set);
  if (!regex.ok()) {
    PLUMB_CHECK(regex.status().message().starts_with("regex: "), regex.status().message());
    return 0;
  }
  plumb::CompileBudget budget({.max_states = 500, .max_expressions = 40'000}, {});
  const auto dfa = plumb::Dfa::build(regex.value(), &set, &budget);
  if (dfa.ok() && dfa.value().start() != plumb::Dfa::kDead) {
    PLUMB_CHECK(dfa.value().is_accepting(0) == set.is_nullable(regex.value()),
                "automaton and expression differ");
  }
  return 0;
}
