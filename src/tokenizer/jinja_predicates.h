// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "tokenizer/jinja_interpreter.h"

namespace plumb::jinja {

using TestFn = Result<bool> (*)(Interpreter&, const Value& value, const Args& args);

/// A test, as in `value is name(args)`.
struct TestEntry {
  std::string_view name;
  TestFn fn;
  int num_args;
};

const TestEntry* find_test(std::string_view name);  ///< null if there is none
bool is_callable(const Value& value);
bool is_iterable(const Value& value);

}  // namespace plumb::jinja
