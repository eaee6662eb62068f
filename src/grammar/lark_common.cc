// SPDX-License-Identifier: Apache-2.0
#include "grammar/lark_common.h"

#include <algorithm>
#include <array>
#include <utility>

namespace plumb {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 27> kLarkCommon = {{
    {"CNAME", "[a-zA-Z_][a-zA-Z0-9_]*"},
    {"CPP_COMMENT", R"(\/\/[^\n]*)"},
    {"CR", R"(\r)"},
    {"C_COMMENT", R"(\/\*(?:[^*]|\*+[^*\/])*\*+\/)"},
    {"DECIMAL", R"([0-9]+\.[0-9]*|\.[0-9]+)"},
    {"DIGIT", "[0-9]"},
    {"ESCAPED_STRING", R"("(?:[^"\\\n]|\\[^\n])*")"},
    {"FLOAT", R"([0-9]+[eE][+\-]?[0-9]+|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+\-]?[0-9]+)?)"},
    {"HEXDIGIT", "[0-9a-fA-F]"},
    {"INT", "[0-9]+"},
    {"LCASE_LETTER", "[a-z]"},
    {"LETTER", "[a-zA-Z]"},
    {"LF", R"(\n)"},
    {"NEWLINE", R"((?:\r?\n)+)"},
    {"NUMBER", R"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+\-]?[0-9]+)?)"},
    {"SH_COMMENT", R"(#[^\n]*)"},
    {"SIGNED_FLOAT",
     R"([+\-]?(?:[0-9]+[eE][+\-]?[0-9]+|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+\-]?[0-9]+)?))"},
    {"SIGNED_INT", R"([+\-]?[0-9]+)"},
    {"SIGNED_NUMBER", R"([+\-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+\-]?[0-9]+)?)"},
    {"SQL_COMMENT", R"(--[^\n]*)"},
    {"UCASE_LETTER", "[A-Z]"},
    {"WORD", "[a-zA-Z]+"},
    {"WS", R"([ \t\f\r\n]+)"},
    {"WS_INLINE", R"([ \t]+)"},
    {"_EXP", R"([eE][+\-]?[0-9]+)"},
    {"_STRING_ESC_INNER", R"((?:[^\\\n]|\\[^\n])*)"},
    {"_STRING_INNER", R"([^\n]*)"},
}};

}  // namespace

std::optional<std::string_view> find_lark_common(std::string_view name) {
  const auto found = std::find_if(kLarkCommon.begin(), kLarkCommon.end(),
                                  [name](const auto& entry) { return entry.first == name; });
  return found == kLarkCommon.end() ? std::nullopt : std::optional(found->second);
}

std::string list_lark_common() {
  std::string out;
  for (const auto& [name, pattern] : kLarkCommon) {
    if (!name.starts_with('_')) {
      out += (out.empty() ? "" : ", ") + std::string(name);
    }
  }
  return out;
}

}  // namespace plumb
