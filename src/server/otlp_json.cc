// SPDX-License-Identifier: Apache-2.0
#include "server/otlp_json.h"

#include <utility>

#include "base/json.h"

namespace plumb {
namespace {

constexpr int kStatusError = 2;

Json value_to_json(const SpanAttribute& attribute) {
  if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    return JsonObject{{"stringValue", *text}};
  }
  if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
    return JsonObject{{"intValue", std::to_string(*integer)}};
  }
  return JsonObject{{"doubleValue", std::get<double>(attribute.value)}};
}

Json attributes_to_json(const std::vector<SpanAttribute>& attributes) {
  JsonArray out;
  for (const SpanAttribute& attribute : attributes) {
    out.emplace_back(JsonObject{{"key", attribute.key}, {"value", value_to_json(attribute)}});
  }
  return out;
}

Json span_to_json(const Span& span) {
  JsonObject out{{"traceId", span.trace_id}, {"spanId", span.span_id}};
  if (!span.parent_span_id.empty()) {
    out.append("parentSpanId", span.parent_span_id);
  }
  out.append("name", span.name);
  out.append("kind", static_cast<int>(span.kind));
  out.append("startTimeUnixNano", std::to_string(span.start_ns));
  out.append("endTimeUnixNano", std::to_string(span.end_ns));
  out.append("attributes", attributes_to_json(span.attributes));
  out.append("status", span.is_error ? JsonObject{{"code", kStatusError}} : JsonObject());
  return out;
}

}  // namespace

std::string otlp_json(std::span<const Span> spans, const OtlpResource& resource) {
  JsonArray list;
  for (const Span& span : spans) {
    list.push_back(span_to_json(span));
  }
  Json scope_spans = JsonObject{
      {"scope", JsonObject{{"name", "plumb"}, {"version", resource.version}}},
      {"spans", std::move(list)},
  };
  Json resource_spans = JsonObject{
      {"resource",
       JsonObject{{"attributes", attributes_to_json({{"service.name", resource.service_name},
                                                     {"service.version", resource.version}})}}},
      {"scopeSpans", JsonArray{std::move(scope_spans)}},
  };
  return to_text(JsonObject{{"resourceSpans", JsonArray{std::move(resource_spans)}}});
}

}  // namespace plumb
