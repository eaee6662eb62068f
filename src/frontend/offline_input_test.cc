// SPDX-License-Identifier: Apache-2.0
#include "frontend/offline_input.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

Result<OfflineInput> read(std::string_view content) {
  return read_offline_input(content, SamplingDefaults(), ApiLimits());
}

TEST(OfflineInput, both_formats_are_read_and_errors_stay_with_their_line) {
  const Result<OfflineInput> input = read(
      "{\"id\":\"a\",\"prompt\":\"x\",\"max_tokens\":3}\n"
      "\n"
      "{\"id\":7,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}\n"
      "{\"custom_id\":\"c\",\"method\":\"POST\",\"url\":\"/v1/chat/"
      "completions\",\"body\":{\"messages\":[]}}\n"
      "not json\n"
      "{\"prompt\":\"no id\"}\n");
  ASSERT_TRUE(input.ok());
  const std::vector<OfflineItem>& items = input.value().items;
  ASSERT_EQ(items.size(), 5U);
  EXPECT_EQ(items[0].id, "a");
  EXPECT_TRUE(std::holds_alternative<CompletionRequest>(items[0].request));
  EXPECT_EQ(items[1].id, "7");
  EXPECT_TRUE(std::holds_alternative<ChatRequest>(items[1].request));
  EXPECT_EQ(items[2].format, OfflineFormat::kOpenAiBatch);
  EXPECT_EQ(std::get<ApiError>(items[2].request).param, "messages");
  EXPECT_EQ(items[3].id, "line-5");
  EXPECT_EQ(std::get<ApiError>(items[3].request).code, "invalid_json");
  EXPECT_EQ(items[4].id, "line-6");
}

TEST(OfflineInput, a_cut_off_last_line_is_left_out_and_named) {
  const Result<OfflineInput> input = read("{\"prompt\":\"x\"}\n{\"prompt\":\"y");
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(input.value().items.size(), 1U);
  EXPECT_EQ(input.value().torn_line, 2);
  EXPECT_EQ(read("{\"prompt\":\"x\"}").value().items.size(), 1U);
}

TEST(OfflineInput, an_id_that_occurs_twice_names_both_lines) {
  EXPECT_EQ(
      read("{\"id\":\"a\",\"prompt\":\"x\"}\n{\"id\":\"a\",\"prompt\":\"y\"}\n").status().message(),
      "lines 1 and 2 have the same id 'a'");
  EXPECT_FALSE(read("\n\n").ok());
}

TEST(OfflineInput, unknown_fields_are_counted_by_name) {
  const Result<OfflineInput> input = read(
      "{\"id\":\"a\",\"prompt\":\"x\",\"max_token\":3}\n"
      "{\"id\":\"b\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"max_token\":3,\"foo\":"
      "1}\n"
      "{\"custom_id\":\"c\",\"url\":\"/v1/"
      "completions\",\"bar\":1,\"body\":{\"prompt\":\"x\",\"foo\":2}}\n");
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(input.value().ignored_fields,
            (std::map<std::string, std::int64_t>{{"max_token", 2}, {"foo", 2}, {"bar", 1}}));
}

TEST(OfflineInput, a_line_has_either_a_prompt_or_messages) {
  const Result<OfflineInput> input =
      read("{\"id\":\"a\"}\n{\"id\":\"b\",\"prompt\":\"x\",\"messages\":[]}\n");
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(std::get<ApiError>(input.value().items[0].request).message,
            "missing required parameter: 'prompt' or 'messages'");
  EXPECT_EQ(std::get<ApiError>(input.value().items[1].request).message,
            "'prompt' and 'messages' exclude each other");
}

}  // namespace
}  // namespace plumb
