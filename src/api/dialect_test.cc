// SPDX-License-Identifier: Apache-2.0
#include "api/dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb {
namespace {

std::string anthropic_type_of(const ApiError& error) {
  return error_body(error, Dialect::kAnthropic, "req_1").find("error")->find("type")->as_string();
}

TEST(ErrorBody, each_dialect_has_its_own_form) {
  const ApiError error = ApiError::missing("messages");
  EXPECT_EQ(to_text(error_body(error, Dialect::kOpenAi, "req_1")), to_text(to_json(error)));
  EXPECT_EQ(to_text(error_body(error, Dialect::kAnthropic, "req_1")),
            R"({"type":"error","error":{"type":"invalid_request_error",)"
            R"("message":"missing required parameter: 'messages'"},"request_id":"req_1"})");
  EXPECT_EQ(to_text(error_body(error, Dialect::kOllama, "req_1")),
            R"({"error":"missing required parameter: 'messages'"})");
}

TEST(ErrorBody, anthropic_types_are_of_the_closed_list) {
  EXPECT_EQ(anthropic_type_of(ApiError::for_http(401, "")), "authentication_error");
  EXPECT_EQ(anthropic_type_of(ApiError::for_http(403, "")), "permission_error");
  EXPECT_EQ(anthropic_type_of(ApiError::model_not_found("a", "b")), "not_found_error");
  EXPECT_EQ(anthropic_type_of(ApiError::for_http(405, "")), "invalid_request_error");
  EXPECT_EQ(anthropic_type_of(ApiError::for_http(409, "")), "conflict_error");
  EXPECT_EQ(anthropic_type_of(ApiError::for_http(413, "")), "request_too_large");
  EXPECT_EQ(anthropic_type_of(ApiError::for_http(415, "")), "invalid_request_error");
  EXPECT_EQ(anthropic_type_of(ApiError::for_http(429, "")), "rate_limit_error");
  EXPECT_EQ(anthropic_type_of(ApiError::for_http(503, "")), "overloaded_error");
  EXPECT_EQ(anthropic_type_of(ApiError::overloaded("", 1)), "overloaded_error");
  EXPECT_EQ(anthropic_type_of(ApiError::from_status({Code::kDeadlineExceeded, ""})),
            "timeout_error");
  EXPECT_EQ(anthropic_type_of(ApiError::from_status({Code::kCancelled, ""})), "api_error");
  EXPECT_EQ(anthropic_type_of(ApiError::from_status({Code::kInternal, ""})), "api_error");
}

TEST(ErrorBody, a_full_queue_is_529_for_anthropic_clients_alone) {
  const ApiError full = ApiError::overloaded("full", 1);
  EXPECT_EQ(http_status_of(full, Dialect::kAnthropic), 529);
  EXPECT_EQ(http_status_of(full, Dialect::kOpenAi), 503);
  EXPECT_EQ(http_status_of(full, Dialect::kOllama), 503);
  EXPECT_EQ(http_status_of(ApiError::for_http(503, "draining"), Dialect::kAnthropic), 503);
}

TEST(ErrorBody, a_long_prompt_has_the_words_that_anthropic_clients_look_for) {
  const Json body = error_body(ApiError::context_length("messages", 8000, 500, 8192),
                               Dialect::kAnthropic, "req_1");
  EXPECT_THAT(body.find("error")->find("message")->as_string(),
              testing::HasSubstr("prompt is too long: 8000 tokens > 8192 maximum"));
}

TEST(ErrorBody, further_members_are_told_to_anthropic_clients_too) {
  ApiError error = ApiError::unsupported("thread", "no");
  error.extra.set("details", JsonObject{{"error_code", "thread_unsupported_request"}});
  const Json body = error_body(error, Dialect::kAnthropic, "req_1");
  EXPECT_EQ(to_text(*body.find("error")->find("details")),
            R"({"error_code":"thread_unsupported_request"})");
}

}  // namespace
}  // namespace plumb
