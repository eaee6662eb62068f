// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "server/trace_context.h"

// Whatever is taken says the same when it is written again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto context = plumb::parse_traceparent(text);
  if (context.has_value()) {
    PLUMB_CHECK(context->trace_id.size() == 32 && context->parent_span_id.size() == 16, "sizes");
    PLUMB_CHECK(text.substr(3, 49) == context->trace_id + "-" + context->parent_span_id,
                "the ids came out changed");
    const std::string again = "00-" + context->trace_id + "-" + context->parent_span_id +
                              (context->is_sampled ? "-01" : "-00");
    const auto same = plumb::parse_traceparent(again);
    PLUMB_CHECK(same.has_value() && same->is_sampled == context->is_sampled, again);
  }
  return 0;
}
