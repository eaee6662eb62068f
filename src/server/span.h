// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace plumb {

/// One fact about a span. Never text of a prompt or an answer, never a key.
struct SpanAttribute {
  std::string key;
  std::variant<std::string, std::int64_t, double> value;
};

enum class SpanKind : unsigned char { kInternal = 1, kServer = 2 };  ///< the numbers of OTLP

/// One piece of a trace. Units: nanoseconds since 1970.
struct Span {
  std::string trace_id;        ///< 32 hexadecimal digits
  std::string span_id;         ///< 16 of them
  std::string parent_span_id;  ///< empty for the first of a trace
  std::string name;
  SpanKind kind = SpanKind::kInternal;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<SpanAttribute> attributes;
  bool is_error = false;
};

}  // namespace plumb
