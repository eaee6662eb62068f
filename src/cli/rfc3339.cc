// SPDX-License-Identifier: Apache-2.0
#include "cli/rfc3339.h"

#include <cstdint>

#include "base/text.h"

namespace plumb {
namespace {

// Takes `width` digits from the front.
bool take_number(std::string_view* text, std::size_t width, std::int64_t* out) {
  if (text->size() < width || text->front() == '-' || text->front() == '+' ||
      !parse_int64(text->substr(0, width), out)) {
    return false;
  }
  text->remove_prefix(width);
  return true;
}

bool take_char(std::string_view* text, std::string_view any_of) {
  if (text->empty() || any_of.find(text->front()) == std::string_view::npos) {
    return false;
  }
  text->remove_prefix(1);
  return true;
}

// Seconds east of UTC of "Z" or "+hh:mm".
bool take_offset(std::string_view text, std::int64_t* seconds) {
  *seconds = 0;
  if (text == "Z" || text == "z") {
    return true;
  }
  const std::int64_t sign = !text.empty() && text.front() == '-' ? -1 : 1;
  std::int64_t hours = 0;
  std::int64_t minutes = 0;
  const bool is_ok = take_char(&text, "+-") && take_number(&text, 2, &hours) &&
                     take_char(&text, ":") && take_number(&text, 2, &minutes) && text.empty() &&
                     hours < 24 && minutes < 60;
  *seconds = sign * (hours * 3600 + minutes * 60);
  return is_ok;
}

}  // namespace

std::optional<std::chrono::system_clock::time_point> parse_rfc3339(std::string_view text) {
  std::int64_t year = 0;
  std::int64_t month = 0;
  std::int64_t day = 0;
  std::int64_t hour = 0;
  std::int64_t minute = 0;
  std::int64_t second = 0;
  std::int64_t offset = 0;
  const bool is_date = take_number(&text, 4, &year) && take_char(&text, "-") &&
                       take_number(&text, 2, &month) && take_char(&text, "-") &&
                       take_number(&text, 2, &day) && take_char(&text, "Tt ");
  const bool is_time = is_date && take_number(&text, 2, &hour) && take_char(&text, ":") &&
                       take_number(&text, 2, &minute) && take_char(&text, ":") &&
                       take_number(&text, 2, &second);
  if (!is_time) {
    return std::nullopt;
  }
  if (take_char(&text, ".")) {  // parts of a second do not show in any template
    while (take_char(&text, "0123456789")) {
    }
  }
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!take_offset(text, &offset) || !date.ok() || hour > 23 || minute > 59 || second > 60) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date) +
         std::chrono::seconds(hour * 3600 + minute * 60 + second - offset);
}

}  // namespace plumb
