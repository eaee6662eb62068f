// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "api/error.h"
#include "base/json.h"

namespace plumb {

/// Which part of a list is asked for.
struct ItemPage {
  std::int64_t limit = 20;  ///< 1 to 100
  bool is_ascending = false;
  std::string after;  ///< id of the last item of the page before; empty = from the beginning
};

/// Reads it from the values of a query; empty ones are absent.
std::variant<ItemPage, ApiError> read_item_page(const std::string& limit, const std::string& order,
                                                std::string after);

/// {"object":"list","data":[…],"first_id","last_id","has_more"}. An error if `after` is the id of
/// no item.
std::variant<Json, ApiError> list_items(const JsonArray& items, const ItemPage& page);

}  // namespace plumb
