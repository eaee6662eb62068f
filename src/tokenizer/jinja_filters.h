// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "tokenizer/jinja_interpreter.h"

namespace plumb::jinja {

struct FilterEntry {
  std::string_view name;
  BuiltinFn fn;
  Signature signature;
};

const FilterEntry* find_filter(std::string_view name);  ///< null if there is none

// The tables behind find_filter, by subject.
const FilterEntry* find_text_filter(std::string_view name);
const FilterEntry* find_sequence_filter(std::string_view name);
const FilterEntry* find_plain_filter(std::string_view name);

/// JSON as Python's json.dumps prints it.
Result<Value> to_json(Interpreter& in, const Value& value, const Args& args);
Result<Value> from_json(Interpreter& in, const Value& value, const Args& args);

}  // namespace plumb::jinja
