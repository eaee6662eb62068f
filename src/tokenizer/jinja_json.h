// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "tokenizer/jinja_value.h"

namespace plumb::jinja {

/// Which strings of the input count as template text although they come from outside.
struct Trust {
  const std::vector<std::string>* roles = nullptr;  ///< exact values of members named "role"
};

/// A JSON value as a template value. Strings are not copied: json must outlive the heap.
Result<Value> value_from_json(const Json& json, bool data, const Trust& trust, Heap& heap);

}  // namespace plumb::jinja
