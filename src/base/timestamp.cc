// SPDX-License-Identifier: Apache-2.0
#include "base/timestamp.h"

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace plumb {
namespace {

constexpr int kNanosecondDigits = 9;

void append_digits(std::string* out, std::int64_t value, int width) {
  const std::string digits = std::to_string(value);
  out->append(static_cast<std::size_t>(std::max(0, width - static_cast<int>(digits.size()))), '0');
  *out += digits;
}

}  // namespace

std::string to_rfc3339(std::chrono::system_clock::time_point at, int fraction_digits) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(at);
  const auto seconds = static_cast<std::time_t>(whole.time_since_epoch().count());
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::string out;
  append_digits(&out, utc.tm_year + 1900, 4);
  out += '-';
  append_digits(&out, utc.tm_mon + 1, 2);
  out += '-';
  append_digits(&out, utc.tm_mday, 2);
  out += 'T';
  append_digits(&out, utc.tm_hour, 2);
  out += ':';
  append_digits(&out, utc.tm_min, 2);
  out += ':';
  append_digits(&out, utc.tm_sec, 2);
  if (fraction_digits > 0) {
    std::string fraction;
    append_digits(&fraction,
                  std::chrono::duration_cast<std::chrono::nanoseconds>(at - whole).count(),
                  kNanosecondDigits);
    out += '.' + fraction.substr(0, static_cast<std::size_t>(fraction_digits));
  }
  return out + 'Z';
}

}  // namespace plumb
