// SPDX-License-Identifier: Apache-2.0
#include "api/responses_list.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxPageItems = 100;

Json id_of_item(const Json& item) {
  const Json* id = item.find("id");
  return id != nullptr ? *id : Json();
}

}  // namespace

std::variant<ItemPage, ApiError> read_item_page(const std::string& limit, const std::string& order,
                                                std::string after) {
  ItemPage page;
  if (!limit.empty() &&
      (!parse_int64(limit, &page.limit) || page.limit < 1 || page.limit > kMaxPageItems)) {
    return ApiError::invalid(
        "invalid_value", "limit",
        "'limit' is '" + limit.substr(0, 32) + "', expected an integer from 1 to 100");
  }
  if (!order.empty() && order != "asc" && order != "desc") {
    return ApiError::invalid("invalid_value", "order",
                             "'order' is '" + order.substr(0, 32) + "', expected 'asc' or 'desc'");
  }
  page.is_ascending = order == "asc";
  page.after = std::move(after);
  return page;
}

std::variant<Json, ApiError> list_items(const JsonArray& items, const ItemPage& page) {
  JsonArray ordered = items;
  if (!page.is_ascending) {
    std::reverse(ordered.begin(), ordered.end());
  }
  auto first = ordered.begin();
  if (!page.after.empty()) {
    first = std::find_if(ordered.begin(), ordered.end(),
                         [&](const Json& item) { return id_of_item(item) == Json(page.after); });
    if (first == ordered.end()) {
      return ApiError::invalid("invalid_value", "after",
                               "no item with the id '" + page.after.substr(0, 128) + "'");
    }
    ++first;
  }
  const auto size = std::min<std::ptrdiff_t>(std::distance(first, ordered.end()),
                                             static_cast<std::ptrdiff_t>(page.limit));
  const bool has_more = std::distance(first, ordered.end()) > size;
  JsonArray data(first, first + size);
  Json first_id = data.empty() ? Json() : id_of_item(data.front());
  Json last_id = data.empty() ? Json() : id_of_item(data.back());
  return Json(JsonObject{{"object", "list"},
                         {"data", std::move(data)},
                         {"first_id", std::move(first_id)},
                         {"last_id", std::move(last_id)},
                         {"has_more", has_more}});
}

}  // namespace plumb
