// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace plumb::jinja {

enum class TokenKind : unsigned char {
  kText,           ///< template text between tags, white space control applied
  kVariableBegin,  ///< {{
  kVariableEnd,
  kBlockBegin,  ///< {%
  kBlockEnd,
  kName,
  kString,  ///< a literal, escapes resolved
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  int line = 1;
  std::string text;
};

/// Splits a template into tokens with trim_blocks and lstrip_blocks on; comments are dropped and
/// raw blocks become text.
///
/// Errors  kInvalidArgument "template line N: ...": unclosed comment or raw block, unbalanced
///         brackets, a character or an escape that is no token. Cost: linear.
Result<std::vector<Token>> tokenize_template(std::string_view source);

}  // namespace plumb::jinja
