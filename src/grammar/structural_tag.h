// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/token_id.h"
#include "grammar/compile_budget.h"
#include "grammar/regex_set.h"

namespace plumb {

/// What begins or ends a part of a structural tag: a text, or one token.
struct TagMark {
  bool is_token = false;
  std::string text;    ///< the text, or the token as the vocabulary writes it
  TokenId token = -1;  ///< the token, if it was named by its id
  std::string path;    ///< of the field

  /// The token as errors name it. Requires is_token.
  std::string name() const {
    return token >= 0 ? std::to_string(token) : "'" + text.substr(0, 64) + "'";
  }

  bool operator==(const TagMark& other) const {
    return is_token == other.is_token && text == other.text && token == other.token;
  }
};

/// How the members of an object are written.
enum class TagStyle : std::uint8_t { kJson, kQwenXml, kGlmXml, kDeepseekXml };

/// A node of a structural tag. Forms with the same meaning are one kind: `optional`, `star` and
/// `plus` are repetitions, a rule of `dispatch` is a tag without an end.
struct TagFormat {
  enum class Kind : std::uint8_t {
    kConstString,        ///< text
    kJsonSchema,         ///< text = the schema; style
    kGrammar,            ///< text; is_lark, in_json_text
    kRegex,              ///< text
    kAnyText,            ///< excludes, max_tokens
    kAnyTokens,          ///< excludes, min..max tokens
    kToken,              ///< begin
    kSequence,           ///< parts
    kOr,                 ///< parts
    kRepeat,             ///< parts[0], min, max
    kTag,                ///< begin, parts[0], ends
    kTriggeredTags,      ///< triggers, parts = tags, excludes, at_least_one, stop_after_first
    kTagsWithSeparator,  ///< text, parts = tags, at_least_one, stop_after_first
  };

  Kind kind = Kind::kConstString;
  std::string path;  ///< "format.elements[1]"
  std::string name;  ///< of a schema: for messages, in place of the path
  std::string text;
  TagStyle style = TagStyle::kJson;
  bool any_order = false;
  bool lenient = false;       ///< of a schema: drops what cannot be enforced
  bool is_lark = false;       ///< otherwise EBNF
  bool in_json_text = false;  ///< its texts stand between the quotes of a JSON string
  std::vector<TagFormat> parts;
  TagMark begin;
  std::vector<TagMark> ends;  ///< empty: nothing marks the end
  std::vector<TagMark> triggers;
  std::vector<TagMark> excludes;
  std::int64_t min = 0;
  std::int64_t max = kUnbounded;
  std::int64_t max_tokens = kUnbounded;
  bool at_least_one = false;
  bool stop_after_first = false;
  bool speaks_of_tokens = false;  ///< it or a part of it
};

/// Reads {"type": "structural_tag", "format": {...}}, or the older {"type": "structural_tag",
/// "structures": [{"begin", "schema", "end"}], "triggers": [...]}.
/// Errors  kInvalidArgument, kUnsupported: name the path of the field; kDeadlineExceeded from the
///         budget.
/// Source  the public documentation of XGrammar, "Structural Tag Usage".
Result<TagFormat> parse_structural_tag(std::string_view json, CompileBudget* budget);

}  // namespace plumb
