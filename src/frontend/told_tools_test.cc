// SPDX-License-Identifier: Apache-2.0
#include "frontend/told_tools.h"

#include <gtest/gtest.h>
#include <string>

#include "base/json.h"
#include "frontend/message_text.h"

namespace plumb {
namespace {

ChatInput conversation(std::string_view messages, std::string_view tools = "null") {
  ChatInput inputs;
  inputs.messages = parse_json(messages).value().as_array();
  inputs.tools = parse_json(tools).value();
  return inputs;
}

std::string role_at(const ChatInput& inputs, std::size_t i) {
  return inputs.messages.at(i).as_object().find("role")->as_string();
}

std::string text_of(const ChatInput& inputs, std::size_t i) {
  return message_text(inputs.messages.at(i));
}

constexpr std::string_view kTools =
    R"([{"type":"function","function":{"name":"add","parameters":{"type":"object"}}}])";

TEST(ToldTools, stand_behind_the_system_message_or_make_one) {
  ChatInput with = conversation(
      R"([{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}])", kTools);
  tell_tools_in_text(&with);
  EXPECT_EQ(with.messages.size(), 2U);
  EXPECT_TRUE(text_of(with, 0).starts_with("Be brief.\n\n")) << text_of(with, 0);
  EXPECT_NE(text_of(with, 0).find(
                R"({"type":"function","function":{"name":"add","parameters":{"type":"object"}}})"),
            std::string::npos);
  EXPECT_TRUE(with.tools.is_null());
  ChatInput without = conversation(R"([{"role":"user","content":"hi"}])", kTools);
  tell_tools_in_text(&without);
  ASSERT_EQ(without.messages.size(), 2U);
  EXPECT_EQ(role_at(without, 0), "system");
  EXPECT_EQ(text_of(without, 1), "hi");
}

TEST(ToldTools, former_calls_and_results_are_text_in_the_form_of_hermes) {
  ChatInput inputs = conversation(R"([
    {"role":"user","content":"1+2 and 3+4?"},
    {"role":"assistant","content":"Let me see.","tool_calls":[
      {"id":"a","type":"function","function":{"name":"add","arguments":"{\"x\": 1}"}},
      {"id":"b","type":"function","function":{"name":"add","arguments":{"x":3}}},
      {"id":"c","type":"function","function":{"name":"now","arguments":""}}]},
    {"role":"tool","tool_call_id":"a","content":"3"},
    {"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"7"}]},
    {"role":"assistant","content":"3 and 7."}])");
  tell_tools_in_text(&inputs);
  ASSERT_EQ(inputs.messages.size(), 4U);
  EXPECT_EQ(text_of(inputs, 1),
            "Let me see.\n"
            "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"x\": 1}}\n</tool_call>\n"
            "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"x\":3}}\n</tool_call>\n"
            "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>");
  EXPECT_EQ(inputs.messages[1].as_object().find("tool_calls"), nullptr);
  EXPECT_EQ(role_at(inputs, 2), "user");
  EXPECT_EQ(text_of(inputs, 2),
            "<tool_response>\n3\n</tool_response>\n<tool_response>\n7\n</tool_response>");
  EXPECT_EQ(text_of(inputs, 3), "3 and 7.");
}

}  // namespace
}  // namespace plumb
