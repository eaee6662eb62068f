// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tokenizer/jinja_ast.h"
#include "tokenizer/jinja_interpreter.h"
#include "tokenizer/jinja_number.h"

namespace plumb::jinja {

/// Python's binary operators over template values. Errors: kInvalidArgument for operands that do
/// not go together, undefined ones included.
Result<Value> binary(Interpreter& in, BinaryOp op, const Value& a, const Value& b);
Result<bool> compare(Interpreter& in, CompareOp op, const Value& a, const Value& b);
/// Order of two numbers, strings, or sequences of such.
Result<Ordering> order(Interpreter& in, const Value& a, const Value& b, int depth = 0);
Result<bool> contains(Interpreter& in, const Value& container, const Value& item);
/// value[start:stop:step]; kMissing or none where a part is absent.
Result<Value> slice(Interpreter& in, const Value& value, const Value& start, const Value& stop,
                    const Value& step);
/// The value as an index: an integer or boolean, clamped to int64.
bool to_index(const Value& value, std::int64_t* out);

}  // namespace plumb::jinja
