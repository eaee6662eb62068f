// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/field_reader.h"
#include "base/json.h"

namespace plumb {

/// Input items of a Responses request in the form in which they are stored and listed: each has a
/// type, an id and, where its type has one, a status; contents are arrays of parts.
struct ResponsesItems {
  JsonArray items;
  std::vector<std::string> paths;     ///< of each item in the request, for messages
  std::vector<std::string> left_out;  ///< types that only a hosted API knows, each once
};

/// Reads `input`: a text, which is one message of the user, or items. References to stored items
/// stay as they are: {"type":"item_reference","id"}. Errors stay in the reader.
ResponsesItems read_responses_items(FieldReader& fields, std::int64_t max_items);

/// The type of an item in that form; empty if it has none.
std::string_view item_type(const Json& item);

/// The texts of the parts of that type (empty = of any type) in the item's member, one behind the
/// other.
std::string item_text(const Json& item, std::string_view member, std::string_view part_type = "");

}  // namespace plumb
