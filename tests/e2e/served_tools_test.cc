// SPDX-License-Identifier: Apache-2.0
#include "served_scene.h"

namespace plumb {
namespace {

constexpr const char* kChat = "/v1/chat/completions";

constexpr const char* kTools =
    R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object",)"
    R"("properties":{"city":{"enum":["Rome","Oslo"]},"days":{"type":"integer","minimum":1,"maximum":9}},)"
    R"("required":["city","days"],"additionalProperties":false}}},)"
    R"({"type":"function","function":{"name":"g"}}])";

std::string chat(const std::string& members) {
  return R"({"messages":[{"role":"user","content":"Hello"}],"max_tokens":200,"temperature":1.5,)" +
         std::string(kTools) + "," + members + "}";
}

// The arguments of a call of f hold to its schema.
void expect_arguments(const Json& call) {
  EXPECT_EQ(text_at(call, {"type"}), "function");
  const std::string id = text_at(call, {"id"});
  EXPECT_TRUE(id.starts_with("call_") ? id.size() == 29U : id.size() == 9U) << id;  // as Mistral's
  const Result<Json> arguments = parse_json(text_at(call, {"function", "arguments"}));
  ASSERT_TRUE(arguments.ok() && arguments.value().is_object()) << to_text(call);
  if (text_at(call, {"function", "name"}) == "f") {
    const std::string city = text_at(arguments.value(), {"city"});
    EXPECT_TRUE(city == "Rome" || city == "Oslo") << city;
    EXPECT_GE(int_at(arguments.value(), {"days"}), 1);
    EXPECT_LE(int_at(arguments.value(), {"days"}), 9);
    EXPECT_EQ(arguments.value().as_object().size(), 2U);
  }
}

class ServedTools : public testing::TestWithParam<const char*> {
 protected:
  ServedTools() : scene_({}, ServedScene::small(), {GetParam(), "auto"}) {}

  ServedScene scene_;
};

TEST_P(ServedTools, required_calls_have_arguments_under_their_schemas) {
  for (int seed = 0; seed < 6; ++seed) {
    const Json whole =
        scene_.post(kChat, chat(R"("parallel_tool_calls":false,"tool_choice":"required","seed":)" +
                                std::to_string(seed)));
    const Json choice = at(whole, {"choices", 0});
    if (text_at(choice, {"finish_reason"}) == "length") {
      continue;
    }
    EXPECT_EQ(text_at(choice, {"finish_reason"}), "tool_calls");
    EXPECT_TRUE(at(choice, {"message", "content"}).is_null());
    const JsonArray calls = array_at(choice, {"message", "tool_calls"});
    ASSERT_EQ(calls.size(), 1U) << to_text(whole);
    expect_arguments(calls[0]);
  }
}

TEST(ServedToolsStyle, a_named_call_ends_with_stop_where_the_operator_wants_that) {
  ServerOptions options;
  options.chat.named_call_stops = true;
  ServedScene scene(options, ServedScene::small(), {"hermes", "auto"});
  const auto reason = [&](const char* choice) {
    for (int seed = 0;; ++seed) {
      const Json whole =
          scene.post(kChat, chat(std::string(R"("parallel_tool_calls":false,"tool_choice":)") +
                                 choice + R"(,"seed":)" + std::to_string(seed)));
      const std::string told = text_at(whole, {"choices", 0, "finish_reason"});
      if (told != "length" || seed == 20) {
        return told;
      }
    }
  };
  EXPECT_EQ(reason(R"({"type":"function","function":{"name":"f"}})"), "stop");
  EXPECT_EQ(reason(R"("required")"), "tool_calls");
}

TEST_P(ServedTools, a_stream_of_a_named_call_adds_up_to_the_whole_answer) {
  const std::string named = R"("seed":3,"tool_choice":{"type":"function","function":{"name":"f"}})";
  const Json whole = scene_.post(kChat, chat(named));
  const std::vector<std::string> events = scene_.stream(
      kChat, chat(named + R"(,"stream":true,"stream_options":{"include_usage":true})"));
  ASSERT_GE(events.size(), 5U);
  EXPECT_EQ(events.back(), "[DONE]");
  std::string arguments;
  std::string name;
  std::string finish;
  int num_roles = 0;
  for (std::size_t i = 0; i + 1 < events.size(); ++i) {
    const Json chunk = parse_json(events[i]).value();
    const Json delta = at(chunk, {"choices", 0, "delta"});
    num_roles += delta.find("role") != nullptr ? 1 : 0;
    for (const Json& call : array_at(delta, {"tool_calls"})) {
      EXPECT_EQ(int_at(call, {"index"}), 0);
      if (call.find("id") != nullptr) {
        EXPECT_EQ(name, "");
        EXPECT_EQ(text_at(call, {"function", "arguments"}), "");
        name += text_at(call, {"function", "name"});
      } else {
        EXPECT_EQ(call.as_object().size(), 2U);
        arguments += text_at(call, {"function", "arguments"});
      }
    }
    if (at(chunk, {"choices", 0, "finish_reason"}).is_string()) {
      finish = text_at(chunk, {"choices", 0, "finish_reason"});
    }
  }
  EXPECT_EQ(num_roles, 1);
  EXPECT_EQ(name, "f");
  EXPECT_EQ(finish, "tool_calls");
  const Json call = at(whole, {"choices", 0, "message", "tool_calls", 0});
  expect_arguments(call);
  EXPECT_EQ(arguments, text_at(call, {"function", "arguments"}));
}

TEST_P(ServedTools, an_answer_that_the_limit_cuts_behind_a_call_has_no_text) {
  int num_cut = 0;
  for (int max_tokens = 20; max_tokens < 140; ++max_tokens) {
    const Json whole = scene_.post(
        kChat, R"({"messages":[{"role":"user","content":"Hello"}],"tools":[{"type":"function",)"
               R"("function":{"name":"f","parameters":{"type":"object","properties":{},)"
               R"("additionalProperties":false}}}],"tool_choice":"required","temperature":1.5,)"
               R"("seed":5,"max_tokens":)" +
                   std::to_string(max_tokens) + "}");
    const Json message = at(whole, {"choices", 0, "message"});
    if (message.find("tool_calls") != nullptr) {
      EXPECT_TRUE(at(message, {"content"}).is_null()) << max_tokens << to_text(whole);
      num_cut += text_at(whole, {"choices", 0, "finish_reason"}) == "length" ? 1 : 0;
    }
  }
  EXPECT_GT(num_cut, 0);
}

TEST_P(ServedTools, the_older_form_is_answered_in_kind) {
  const Json whole = scene_.post(
      kChat,
      R"({"messages":[{"role":"user","content":"x"}],"max_tokens":200,"functions":[{"name":"g",)"
      R"("parameters":{"type":"object","properties":{},"additionalProperties":false}}],)"
      R"("function_call":{"name":"g"}})");
  EXPECT_EQ(text_at(whole, {"choices", 0, "finish_reason"}), "function_call");
  EXPECT_EQ(text_at(whole, {"choices", 0, "message", "function_call", "name"}), "g");
}

INSTANTIATE_TEST_SUITE_P(Formats, ServedTools,
                         testing::Values("auto", "hermes", "qwen3_coder", "mistral_v11",
                                         "deepseek_v31", "llama3"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(ServedParsing, where_the_template_knows_no_tools_the_system_message_tells_of_them) {
  ServedScene scene;
  const Json told = scene.post(kChat, chat(R"("tool_choice":"auto")"));
  const Json untold = scene.post(kChat, chat(R"("tool_choice":"none")"));
  EXPECT_GT(int_at(told, {"usage", "prompt_tokens"}),
            int_at(untold, {"usage", "prompt_tokens"}) + 50);
  const Json call =
      scene.post(kChat, chat(R"("tool_choice":"required","parallel_tool_calls":false)"));
  expect_arguments(at(call, {"choices", 0, "message", "tool_calls", 0}));
}

TEST(ServedParsing, an_allowed_tool_is_the_only_one_called) {
  ServedScene scene;
  for (int seed = 0; seed < 4; ++seed) {
    const Json whole = scene.post(
        kChat,
        chat(
            R"("parallel_tool_calls":false,"tool_choice":{"type":"allowed_tools","allowed_tools":)"
            R"({"mode":"required","tools":[{"type":"function","function":{"name":"f"}}]}},"seed":)" +
            std::to_string(seed)));
    EXPECT_EQ(text_at(whole, {"choices", 0, "message", "tool_calls", 0, "function", "name"}), "f")
        << to_text(whole);
  }
}

constexpr const char* kOddSchema =
    R"({"type":"object","properties":{"city":{"type":"string","format":"zzz"}},"required":["city"]})";

// A request of each dialect for a call of the one tool, whose schema cannot be enforced.
struct OddTool {
  const char* path;
  std::string begin;
  std::string end;
  const char* param;

  std::string body(const std::string& members) const {
    return begin + R"("name":"f",)" + members + end;
  }
};

std::vector<OddTool> odd_tools() {
  const std::string hello = R"("messages":[{"role":"user","content":"Hello"}],)";
  const std::string schema(kOddSchema);
  const std::string chat =
      "{" + hello + R"("max_tokens":4,"tools":[{"type":"function","function":{)";
  const std::string in_chat = R"("parameters":)" + schema + "}}]";
  const std::string messages = R"({"model":"tiny","max_tokens":4,)" + hello + R"("tools":[{)";
  const std::string in_messages = R"("input_schema":)" + schema + "}]";
  return {
      {kChat, chat, in_chat + R"(,"tool_choice":"required"})", "tools[0].function.parameters"},
      {kChat, chat,
       in_chat + R"(,"stream":true,"tool_choice":{"type":"function","function":{"name":"f"}}})",
       "tools[0].function.parameters"},
      {"/v1/responses", R"({"input":"Hello","max_output_tokens":4,"tools":[{"type":"function",)",
       R"("parameters":)" + schema + R"(}],"tool_choice":"required"})", "tools[0].parameters"},
      {"/v1/messages", messages, in_messages + R"(,"tool_choice":{"type":"any"}})",
       "tools[0].input_schema"},
      {"/v1/messages", messages, in_messages + R"(,"tool_choice":{"type":"tool","name":"f"}})",
       "tools[0].input_schema"},
  };
}

TEST(ServedParsing, what_the_schema_of_a_tool_loses_is_named_in_a_header) {
  for (const char* format : {"hermes", "qwen3_coder"}) {
    ServedScene scene({}, ServedScene::small(), {format, "auto"});
    for (const OddTool& tool : odd_tools()) {
      const HttpResponse response = scene.send("POST", tool.path, tool.body(""));
      ASSERT_EQ(response.status, 200) << response.body;
      EXPECT_EQ(response.headers.find("x-plumb-ignored-keywords").value_or("(none)"),
                "f: format at #/properties/city")
          << tool.path;
    }
  }
}

TEST(ServedParsing, a_strict_schema_that_cannot_be_enforced_is_refused_under_its_own_field) {
  ServedScene scene;
  for (const OddTool& tool : odd_tools()) {
    const Json error = scene.post(tool.path, tool.body(R"("strict":true,)"), 400);
    EXPECT_TRUE(text_at(error, {"error", "message"})
                    .starts_with(std::string("'") + tool.param +
                                 "' of the tool 'f': #/properties/city/format: "))
        << to_text(error);
  }
}

TEST(ServedParsing, a_constraint_beside_a_required_call_is_refused_and_beside_auto_it_holds) {
  ServedScene scene;
  const Json error = at(
      scene.post(kChat, chat(R"("guided_regex":"ab","tool_choice":"required")"), 400), {"error"});
  EXPECT_EQ(text_at(error, {"param"}), "guided_regex");
  EXPECT_NE(text_at(error, {"message"}).find("'tool_choice' auto or none"), std::string::npos);
  // How a text would be: clients with tools and a type for their last answer send both.
  scene.post(kChat, chat(R"("response_format":{"type":"json_object"},"tool_choice":)"
                         R"({"type":"function","function":{"name":"f"}})"));
  scene.post("/v1/responses",
             R"({"input":"x","tools":[{"type":"function","name":"f"}],"tool_choice":"required",)"
             R"("max_output_tokens":16,"text":{"format":{"type":"json_object"}}})");
  scene.post("/v1/messages",
             R"({"model":"tiny","max_tokens":4,"messages":[{"role":"user","content":"x"}],"tools":)"
             R"([{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"},)"
             R"("output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}})");
  const Json answer = scene.post(kChat, chat(R"("guided_regex":"ab","tool_choice":"auto")"));
  const Json message = at(answer, {"choices", 0, "message"});
  EXPECT_TRUE(message.find("tool_calls") != nullptr || text_at(message, {"content"}) == "ab")
      << to_text(answer);
}

TEST(ServedParsing, texts_are_parsed_on_demand) {
  ServedScene scene;
  EXPECT_EQ(to_text(scene.post("/separate_reasoning",
                               R"({"text":"hm</think>\n\nok","reasoning_parser":"think"})")),
            R"({"reasoning_text":"hm","text":"\n\nok"})");
  EXPECT_EQ(
      to_text(scene.post(
          "/parse_function_call",
          R"({"text":"ok <tool_call>{\"name\":\"f\",\"arguments\":{\"a\": 1}}</tool_call>",)"
          R"("tool_call_parser":"hermes","tools":[{"type":"function","function":{"name":"f"}}]})")),
      R"({"normal_text":"ok","calls":[{"tool_index":0,"name":"f","parameters":"{\"a\": 1}"}]})");
  const Json unknown =
      scene.post("/parse_function_call", R"({"text":"x","tool_call_parser":"hermit"})", 400);
  EXPECT_EQ(text_at(unknown, {"error", "param"}), "tool_call_parser");
  EXPECT_NE(text_at(unknown, {"error", "message"}).find("qwen3_coder, hermes"), std::string::npos);
  EXPECT_EQ(text_at(scene.post("/separate_reasoning", R"({"text":"x"})", 400), {"error", "param"}),
            "reasoning_parser");
  EXPECT_EQ(text_at(scene.post("/separate_reasoning", "{}", 400), {"error", "code"}),
            "missing_required_parameter");
}

}  // namespace
}  // namespace plumb
