// SPDX-License-Identifier: Apache-2.0
// Tokens that are counted without an answer, and those that the answers count.
#include "served_scene.h"

namespace plumb {
namespace {

// The same words in the three APIs: what counts them beforehand agrees with what the answers say.
TEST(ServedCounts, a_conversation_counts_alike_in_every_api) {
  ServedScene scene({}, ServedScene::small(), {"hermes", "auto"});

  struct Row {
    const char* chat;
    const char* messages;
    const char* responses;
  };

  const std::vector<Row> rows = {
      {R"("messages":[{"role":"user","content":"Hello"}])",
       R"("messages":[{"role":"user","content":"Hello"}])", R"("input":"Hello")"},
      {R"("messages":[{"role":"system","content":"Be brief"},{"role":"user","content":"Hi"},)"
       R"({"role":"assistant","content":"Yes?"},{"role":"user","content":"Go on"}])",
       R"("system":"Be brief","messages":[{"role":"user","content":"Hi"},)"
       R"({"role":"assistant","content":"Yes?"},{"role":"user","content":"Go on"}])",
       R"("instructions":"Be brief","input":[{"role":"user","content":"Hi"},)"
       R"({"role":"assistant","content":"Yes?"},{"role":"user","content":"Go on"}])"},
      {R"("tools":[{"type":"function","function":{"name":"f","description":"d","parameters":)"
       R"({"type":"object","properties":{"a":{"type":"integer"}}}}}],)"
       R"("tool_choice":"none","messages":[{"role":"user","content":"Hi"},{"role":"assistant",)"
       R"("content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f",)"
       R"("arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"call_1","content":"7"}])",
       R"("tools":[{"name":"f","description":"d","input_schema":)"
       R"({"type":"object","properties":{"a":{"type":"integer"}}}}],)"
       R"("tool_choice":{"type":"none"},"messages":[{"role":"user","content":"Hi"},)"
       R"({"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"f",)"
       R"("input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result",)"
       R"("tool_use_id":"call_1","content":"7"}]}])",
       R"("tools":[{"type":"function","name":"f","description":"d","parameters":)"
       R"({"type":"object","properties":{"a":{"type":"integer"}}}}],)"
       R"("tool_choice":"none","input":[{"role":"user","content":"Hi"},)"
       R"({"type":"function_call","call_id":"call_1","name":"f","arguments":"{\"a\":1}"},)"
       R"({"type":"function_call_output","call_id":"call_1","output":"7"}])"},
  };
  for (const Row& row : rows) {
    const std::string messages =
        std::string(R"({"model":"tiny",)") + row.messages + R"(,"max_tokens":1})";
    const std::string responses = std::string("{") + row.responses + R"(,"max_output_tokens":1})";
    const std::int64_t expected = int_at(
        scene.post("/v1/chat/completions", std::string("{") + row.chat + R"(,"max_tokens":1})"),
        {"usage", "prompt_tokens"});
    EXPECT_GT(expected, 0);
    const Json usage = at(scene.post("/v1/messages", messages), {"usage"});
    EXPECT_EQ(int_at(usage, {"input_tokens"}) + int_at(usage, {"cache_read_input_tokens"}) +
                  int_at(usage, {"cache_creation_input_tokens"}),
              expected)
        << row.messages;
    EXPECT_EQ(int_at(scene.post("/v1/messages/count_tokens", messages), {"input_tokens"}),
              expected);
    EXPECT_EQ(int_at(scene.post("/v1/responses", responses), {"usage", "input_tokens"}), expected)
        << row.responses;
    EXPECT_EQ(int_at(scene.post("/v1/responses/input_tokens", responses), {"input_tokens"}),
              expected);
    EXPECT_EQ(int_at(scene.post("/tokenize", std::string("{") + row.chat + "}"), {"count"}),
              expected);
  }
}

TEST(ServedCounts, what_is_cut_or_would_not_fit_is_counted_as_the_answer_counts_it) {
  ServedScene scene;
  const std::string cut =
      R"({"input":"one two three four five six","truncate_prompt_tokens":5,"max_output_tokens":1})";
  EXPECT_EQ(int_at(scene.post("/v1/responses", cut), {"usage", "input_tokens"}), 5);
  EXPECT_EQ(int_at(scene.post("/v1/responses/input_tokens", cut), {"input_tokens"}), 5);
  std::string words;
  for (int i = 0; i < 200'000; ++i) {
    words += "word ";
  }
  const std::int64_t counted = int_at(
      scene.post("/v1/responses/input_tokens", R"({"input":")" + words + "\"}"), {"input_tokens"});
  EXPECT_EQ(counted, int_at(scene.post("/v1/messages/count_tokens",
                                       R"({"model":"tiny","messages":[{"role":"user","content":")" +
                                           words + "\"}]}"),
                            {"input_tokens"}));
  EXPECT_GT(counted, 200'000);
}

}  // namespace
}  // namespace plumb
