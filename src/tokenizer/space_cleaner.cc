// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/space_cleaner.h"

#include <algorithm>
#include <array>

namespace plumb {
namespace {

bool starts_contraction(std::string_view text) {
  constexpr std::array<std::string_view, 4> kEndings{"'s", "'m", "'re", "'ve"};
  return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) {
    return text.substr(0, ending.size()) == ending;
  });
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at, from.size()) == from) {
      out.append(to);
      at += from.size();
    } else {
      out.push_back(text[at++]);
    }
  }
  return out;
}

template <class Follows>
std::string drop_space_before(std::string_view text, const Follows& follows) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != ' ' || !follows(text.substr(at + 1))) {
      out.push_back(text[at]);
    }
  }
  return out;
}

}  // namespace

std::string clean_spaces(std::string_view text) {
  constexpr std::string_view kMarks = "?!.,";
  const std::string marks = drop_space_before(text, [&](std::string_view rest) {
    return !rest.empty() && kMarks.find(rest.front()) != std::string_view::npos;
  });
  return drop_space_before(replace_all(marks, " ' ", "'"), starts_contraction);
}

}  // namespace plumb
