// SPDX-License-Identifier: Apache-2.0
#include "grammar/unicode_classes.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "grammar/code_points.h"
#include "tokenizer/unicode.h"

namespace plumb {
namespace {

constexpr char32_t kLastCased = 0x1FFFF;  // no letter with cases lies beyond

using Name = std::pair<std::string_view, std::string_view>;

constexpr std::array<Name, 38> kLongNames = {{{"Letter", "L"},
                                              {"Cased_Letter", "LC"},
                                              {"Uppercase_Letter", "Lu"},
                                              {"Lowercase_Letter", "Ll"},
                                              {"Titlecase_Letter", "Lt"},
                                              {"Modifier_Letter", "Lm"},
                                              {"Other_Letter", "Lo"},
                                              {"Mark", "M"},
                                              {"Combining_Mark", "M"},
                                              {"Nonspacing_Mark", "Mn"},
                                              {"Spacing_Mark", "Mc"},
                                              {"Enclosing_Mark", "Me"},
                                              {"Number", "N"},
                                              {"Decimal_Number", "Nd"},
                                              {"digit", "Nd"},
                                              {"Letter_Number", "Nl"},
                                              {"Other_Number", "No"},
                                              {"Punctuation", "P"},
                                              {"Connector_Punctuation", "Pc"},
                                              {"Dash_Punctuation", "Pd"},
                                              {"Open_Punctuation", "Ps"},
                                              {"Close_Punctuation", "Pe"},
                                              {"Initial_Punctuation", "Pi"},
                                              {"Final_Punctuation", "Pf"},
                                              {"Other_Punctuation", "Po"},
                                              {"Symbol", "S"},
                                              {"Math_Symbol", "Sm"},
                                              {"Currency_Symbol", "Sc"},
                                              {"Modifier_Symbol", "Sk"},
                                              {"Other_Symbol", "So"},
                                              {"Separator", "Z"},
                                              {"Space_Separator", "Zs"},
                                              {"Line_Separator", "Zl"},
                                              {"Paragraph_Separator", "Zp"},
                                              {"Other", "C"},
                                              {"Control", "Cc"},
                                              {"Format", "Cf"},
                                              {"Unassigned", "Cn"}}};

constexpr std::array<std::string_view, 38> kCategories = {
    "L",  "LC", "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd",
    "Nl", "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc",
    "Sk", "So", "Z",  "Zs", "Zl", "Zp", "C",  "Cc", "Cf", "Cs", "Co", "Cn"};

bool belongs(std::string_view category, std::string_view wanted) {
  if (wanted == "LC") {
    return category == "Lu" || category == "Ll" || category == "Lt";
  }
  return category.starts_with(wanted);
}

void append(std::vector<CodePointRange>* ranges, char32_t c) {
  if (!ranges->empty() && ranges->back().last + 1 == c) {
    ranges->back().last = c;
  } else {
    ranges->push_back({c, c});
  }
}

// The characters that differ in case only, by what they fold to; groups of one left out.
using CaseGroups = std::map<char32_t, std::vector<char32_t>>;

CaseGroups find_case_groups() {
  CaseGroups groups;
  for (char32_t c = 0; c <= kLastCased; ++c) {
    groups[fold_case(c)].push_back(c);
  }
  std::erase_if(groups, [](const auto& group) { return group.second.size() < 2; });
  return groups;
}

}  // namespace

std::optional<std::vector<CodePointRange>> category_ranges(std::string_view name) {
  for (const std::string_view prefix : {"General_Category=", "gc="}) {
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
    }
  }
  if (name == "Any") {
    return std::vector<CodePointRange>{{0, kMaxCodePoint}};
  }
  if (name == "ASCII") {
    return std::vector<CodePointRange>{{0, 0x7F}};
  }
  for (const Name& long_name : kLongNames) {
    if (name == long_name.first) {
      name = long_name.second;
      break;
    }
  }
  if (std::find(kCategories.begin(), kCategories.end(), name) == kCategories.end()) {
    return std::nullopt;
  }
  std::vector<CodePointRange> ranges;
  for (char32_t c = 0; c <= kMaxCodePoint; ++c) {
    if (belongs(unicode_category(c), name)) {
      append(&ranges, c);
    }
  }
  return ranges;
}

std::vector<CodePointRange> with_other_cases(std::vector<CodePointRange> ranges) {
  static const CaseGroups groups = find_case_groups();
  const std::size_t num_written = ranges.size();
  for (const auto& [folded, group] : groups) {
    const bool is_hit = std::any_of(group.begin(), group.end(), [&](char32_t c) {
      return std::any_of(ranges.begin(), ranges.begin() + static_cast<std::ptrdiff_t>(num_written),
                         [&](const CodePointRange& r) { return r.first <= c && c <= r.last; });
    });
    for (std::size_t i = 0; is_hit && i < group.size(); ++i) {
      ranges.push_back({group[i], group[i]});
    }
  }
  return ranges;
}

}  // namespace plumb
