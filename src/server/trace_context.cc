// SPDX-License-Identifier: Apache-2.0
#include "server/trace_context.h"

#include <algorithm>

#include "api/ids.h"

namespace plumb {
namespace {

// version "-" trace id "-" span id "-" flags; what a later version appends begins with "-".
constexpr std::size_t kVersionEnd = 2;
constexpr std::size_t kTraceEnd = 35;
constexpr std::size_t kSpanEnd = 52;
constexpr std::size_t kLength = 55;

bool is_lower_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_zero(std::string_view hex) {
  return hex.find_first_not_of('0') == std::string_view::npos;
}

// Whether the last of two hexadecimal digits is odd.
bool has_lowest_bit(std::string_view hex) {
  const char low = hex.back();
  return ((low <= '9' ? low - '0' : low - 'a' + 10) & 1) != 0;
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view text) {
  if (text.size() < kLength || text[kVersionEnd] != '-' || text[kTraceEnd] != '-' ||
      text[kSpanEnd] != '-') {
    return std::nullopt;
  }
  const std::string_view version = text.substr(0, kVersionEnd);
  const std::string_view trace = text.substr(kVersionEnd + 1, kTraceEnd - kVersionEnd - 1);
  const std::string_view span = text.substr(kTraceEnd + 1, kSpanEnd - kTraceEnd - 1);
  const std::string_view flags = text.substr(kSpanEnd + 1, kLength - kSpanEnd - 1);
  const bool ends_well = text.size() == kLength || (version != "00" && text[kLength] == '-');
  if (!is_lower_hex(version) || version == "ff" || !is_lower_hex(trace) || is_zero(trace) ||
      !is_lower_hex(span) || is_zero(span) || !is_lower_hex(flags) || !ends_well) {
    return std::nullopt;
  }
  return TraceContext{std::string(trace), std::string(span), has_lowest_bit(flags)};
}

TraceContext trace_context_of(const Headers& headers) {
  const auto num_given = std::count_if(headers.begin(), headers.end(), [](const HeaderField& f) {
    return equals_ignore_case(f.name, "traceparent");
  });
  if (num_given == 1) {
    if (auto given = parse_traceparent(*headers.find("traceparent"))) {
      return *std::move(given);
    }
  }
  return {random_hex(32), "", true};
}

}  // namespace plumb
