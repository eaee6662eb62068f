// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace plumb {

/// Where a request stands in a trace. Source: W3C Trace Context, traceparent.
struct TraceContext {
  std::string trace_id;        ///< 32 hexadecimal digits in lower case
  std::string parent_span_id;  ///< 16 of them; empty for the first span of a trace
  bool is_sampled = true;      ///< the caller records this trace
};

/// The caller's place in a trace; nothing if the text breaks the specification in any way.
std::optional<TraceContext> parse_traceparent(std::string_view text);

/// From the one well-formed traceparent of the headers, else a new trace that is sampled.
TraceContext trace_context_of(const Headers& headers);

}  // namespace plumb
