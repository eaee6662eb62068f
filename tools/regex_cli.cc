// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <sstream>
#include <string>

#include "grammar/dfa.h"
#include "grammar/regex_parser.h"

// Tells which texts match a pattern, for tools/regex_diff.py. One line of standard input is
//   fullmatch|search PATTERN TEXT...
// with pattern and texts in hexadecimal after an 'x'; the answer is a line of 0 and 1, or the
// error.
namespace {

std::string from_hex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 1; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return out;
}

bool matches(const plumb::Dfa& dfa, const std::string& text) {
  std::int32_t state = dfa.start();
  for (const char c : text) {
    if (state == plumb::Dfa::kDead) {
      return false;
    }
    state = dfa.next(state, static_cast<std::uint8_t>(c));
  }
  return state != plumb::Dfa::kDead && dfa.is_accepting(state);
}

std::string answer(std::istringstream& words) {
  std::string mode;
  std::string pattern;
  words >> mode >> pattern;
  plumb::RegexSet set;
  plumb::RegexParseOptions options;
  options.anchored = mode == "fullmatch";
  const auto regex = plumb::parse_regex(from_hex(pattern), options, &set);
  if (!regex.ok()) {
    return regex.status().message();
  }
  plumb::CompileBudget budget;
  const auto dfa = plumb::Dfa::build(regex.value(), &set, &budget);
  if (!dfa.ok()) {
    return dfa.status().message();
  }
  std::string out;
  for (std::string text; words >> text;) {
    out += matches(dfa.value(), from_hex(text)) ? '1' : '0';
  }
  return out;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::cout << answer(words) << "\n";
  }
  return 0;
}
