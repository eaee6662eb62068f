// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace plumb {

/// A pattern of a tokenizer.json: plain text or a regular expression.
struct JsonPattern {
  std::string text;
  bool is_regex = false;
};

/// Errors: kInvalidArgument naming the field if it is absent or no string.
Result<std::string> string_field(const Json& object, std::string_view name);

/// The fallback if the field is absent or no boolean.
bool bool_field(const Json& object, std::string_view name, bool fallback);

/// A field {"String": …} or {"Regex": …}. Errors: kInvalidArgument.
Result<JsonPattern> pattern_field(const Json& object, std::string_view name);

/// The entries of a component: nothing for null, the members of a (nested) Sequence in order, else
/// the component itself. Errors: kInvalidArgument for anything that is no object.
Result<std::vector<const Json*>> flatten_sequence(const Json& component,
                                                  std::string_view list_name);

}  // namespace plumb
