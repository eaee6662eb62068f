// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "server/span.h"

namespace plumb {

/// Who sends spans.
struct OtlpResource {
  std::string service_name;
  std::string version;
};

/// An ExportTraceServiceRequest in OTLP's JSON form: ids in hexadecimal, 64-bit integers as text.
/// Source: opentelemetry-proto 1.x, trace/v1.
std::string otlp_json(std::span<const Span> spans, const OtlpResource& resource);

}  // namespace plumb
