// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "tokenizer/jinja_interpreter.h"
#include "tokenizer/jinja_text.h"

namespace plumb::jinja {

/// The attribute of that name which every value of this kind has; null if there is none.
const MethodEntry* find_method(Kind kind, std::string_view name);
const MethodEntry* find_str_method(std::string_view name);

enum class Function : unsigned char {
  kRange,
  kDict,
  kNamespace,
  kJoiner,
  kCycler,
  kRaise,
  kStrftime,
  kLipsum
};

/// The global function of that name; kMissing if there is none.
Value find_global(std::string_view name);
Result<Value> call_function(Interpreter& in, Function function, Args args);

/// `text % value` and text.format(...), with Python's format language.
Result<Value> format_percent(Interpreter& in, const Value& text, const Value& value);
Result<Value> format_braces(Interpreter& in, const Value& text, const Args& args,
                            const Value* mapping);
/// format(value, spec). The result carries the origin of a string value.
Result<Value> format_with_spec(Interpreter& in, const Value& value, std::string_view spec);

/// Splits a string value into its pieces as Python does; sep missing or none splits on white space.
Result<Value> split_string(Interpreter& in, const Value& text, const Value& separator,
                           std::int64_t max_splits, bool from_right);
std::vector<Value> split_lines(const Value& text, bool keep_ends);
Value map_case(Interpreter& in, const Value& text, CaseMap map);
Value replace_all(Interpreter& in, const Value& text, const Value& from, const Value& to,
                  std::int64_t max_count);
Value capitalize(Interpreter& in, const Value& text);
Value repeat_fill(Interpreter& in, const Value& text, std::int64_t left, std::int64_t right,
                  const Value& fill);

}  // namespace plumb::jinja
