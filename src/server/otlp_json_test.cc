// SPDX-License-Identifier: Apache-2.0
#include "server/otlp_json.h"

#include <array>
#include <gtest/gtest.h>

namespace plumb {
namespace {

TEST(OtlpJson, a_span_has_the_form_of_the_protocol) {
  Span root;
  root.trace_id = "5b8efff798038103d269b633813fc60c";
  root.span_id = "eee19b7ec3c1b174";
  root.name = "llm_request";
  root.kind = SpanKind::kServer;
  root.start_ns = 1544712660000000001;
  root.end_ns = 1544712661000000000;
  root.attributes = {{"text", std::string("a\"b")},
                     {"count", std::int64_t{9007199254740993}},
                     {"seconds", 0.5},
                     {"whole", 2.0}};
  Span child = root;
  child.parent_span_id = root.span_id;
  child.span_id = "eee19b7ec3c1b175";
  child.name = "queue";
  child.kind = SpanKind::kInternal;
  child.attributes.clear();
  child.is_error = true;
  EXPECT_EQ(otlp_json(std::array{root, child}, {"my-llm", "1.2.3"}),
            R"({"resourceSpans":[{"resource":{"attributes":[)"
            R"({"key":"service.name","value":{"stringValue":"my-llm"}},)"
            R"({"key":"service.version","value":{"stringValue":"1.2.3"}}]},)"
            R"("scopeSpans":[{"scope":{"name":"plumb","version":"1.2.3"},"spans":[)"
            R"({"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174",)"
            R"("name":"llm_request","kind":2,"startTimeUnixNano":"1544712660000000001",)"
            R"("endTimeUnixNano":"1544712661000000000","attributes":[)"
            R"({"key":"text","value":{"stringValue":"a\"b"}},)"
            R"({"key":"count","value":{"intValue":"9007199254740993"}},)"
            R"({"key":"seconds","value":{"doubleValue":0.5}},)"
            R"({"key":"whole","value":{"doubleValue":2.0}}],"status":{}},)"
            R"({"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b175",)"
            R"("parentSpanId":"eee19b7ec3c1b174","name":"queue","kind":1,)"
            R"("startTimeUnixNano":"1544712660000000001","endTimeUnixNano":"1544712661000000000",)"
            R"("attributes":[],"status":{"code":2}}]}]}]})");
}

}  // namespace
}  // namespace plumb
