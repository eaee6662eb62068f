// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "api/chat_request.h"
#include "api/completion_request.h"

namespace plumb {
namespace {

std::variant<ChatRequest, ApiError> read_chat(const std::string& members) {
  const Result<Json> body =
      parse_json(R"({"messages":[{"role":"user","content":"hi"}])" + members + "}");
  return read_chat_request(body.value(), SamplingDefaults(), ApiLimits());
}

std::string chat_error(const std::string& members) {
  const auto result = read_chat(members);
  if (std::holds_alternative<ChatRequest>(result)) {
    return "accepted";
  }
  const ApiError& error = std::get<ApiError>(result);
  return std::to_string(error.http_status) + " " + error.code + " " + error.param;
}

std::string body_error(const std::string& text) {
  const auto result = read_chat_request(parse_json(text).value(), SamplingDefaults(), ApiLimits());
  return std::holds_alternative<ChatRequest>(result) ? "accepted"
                                                     : std::get<ApiError>(result).param;
}

TEST(ChatRequest, fields_are_read_with_the_models_defaults) {
  const auto result = read_chat(
      R"(,"model":"m","temperature":0.5,"n":2,"stop":["a","","b"],"max_tokens":5,"max_completion_tokens":7.0)"
      R"(,"seed":-2,"stream":true,"stream_options":{"include_usage":true},"logit_bias":{"3":-100},"foo":1,"top_k":null)");
  ASSERT_TRUE(std::holds_alternative<ChatRequest>(result));
  const ChatRequest& request = std::get<ChatRequest>(result);
  const GenerationParams& g = request.generation;
  EXPECT_EQ(g.model, "m");
  EXPECT_EQ(g.sampling.temperature, 0.5);
  EXPECT_EQ(g.n, 2);
  EXPECT_EQ(g.stops, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(g.sampling.max_tokens, 7);
  EXPECT_TRUE(g.has_seed && g.stream && g.include_usage);
  EXPECT_EQ(g.sampling.logit_bias.size(), 1U);
  EXPECT_EQ(request.ignored_fields, std::vector<std::string>{"foo"});
}

TEST(ChatRequest, each_limit_is_an_error_that_names_the_field) {
  EXPECT_EQ(chat_error(R"(,"n":129)"), "400 invalid_value n");
  EXPECT_EQ(chat_error(R"(,"n":32.5)"), "400 invalid_type n");
  EXPECT_EQ(chat_error(R"(,"n":"2")"), "400 invalid_type n");
  EXPECT_EQ(chat_error(R"(,"n":true)"), "400 invalid_type n");
  EXPECT_EQ(chat_error(R"(,"top_logprobs":5)"), "400 invalid_value top_logprobs");
  EXPECT_EQ(chat_error(R"(,"logprobs":true,"top_logprobs":21)"), "400 invalid_value top_logprobs");
  EXPECT_EQ(chat_error(R"(,"temperature":2.1)"), "400 invalid_value temperature");
  EXPECT_EQ(chat_error(R"(,"max_tokens":0)"), "400 invalid_value max_tokens");
  EXPECT_EQ(chat_error(R"(,"stop":[1])"), "400 invalid_type stop");
  EXPECT_EQ(chat_error(R"(,"stop":")" + std::string(1025, 'x') + "\""), "400 invalid_value stop");
  EXPECT_EQ(chat_error(R"(,"logit_bias":{"x":1})"), "400 invalid_value logit_bias");
  EXPECT_EQ(chat_error(R"(,"logit_bias":{"1":101})"), "400 invalid_value logit_bias");
  EXPECT_EQ(chat_error(R"(,"logprobs_reasoning":true)"), "400 invalid_value logprobs_reasoning");
  EXPECT_EQ(chat_error(R"(,"logprobs":true,"logprobs_reasoning":true)"), "accepted");
  EXPECT_EQ(chat_error(R"(,"stream_options":{"include_usage":true})"),
            "400 invalid_value stream_options");
  EXPECT_EQ(chat_error(R"(,"cache_salt":")" + std::string(1025, 'x') + "\""),
            "400 invalid_value cache_salt");
  std::string accents;
  for (int i = 0; i < 512; ++i) {
    accents += "\xC3\xA9";
  }
  EXPECT_EQ(chat_error(R"(,"cache_salt":")" + accents + accents + "\""), "accepted");
  EXPECT_EQ(chat_error(R"(,"metadata":{"k":")" + accents + "\"}"), "accepted");
  EXPECT_EQ(chat_error(R"(,"metadata":{"k":")" + accents + "x\"}"), "400 invalid_value metadata");
  EXPECT_EQ(chat_error(R"(,"stop":["","","","","","","","","","","","","","","","","","a"])"),
            "accepted");
}

TEST(ChatRequest, what_changes_the_answer_and_is_not_offered_is_refused_by_name) {
  EXPECT_EQ(chat_error(R"(,"modalities":["text","audio"])"),
            "400 unsupported_parameter modalities");
  EXPECT_EQ(chat_error(R"(,"user":"u","metadata":{},"store":false)"), "accepted");
}

TEST(ChatRequest, messages_are_checked_one_by_one) {
  EXPECT_EQ(body_error(R"({})"), "messages");
  EXPECT_EQ(body_error(R"({"messages":[]})"), "messages");
  EXPECT_EQ(body_error(R"({"messages":{}})"), "messages");
  EXPECT_EQ(body_error(R"({"messages":[1]})"), "messages[0]");
  EXPECT_EQ(body_error(R"({"messages":[{"content":"x"}]})"), "messages[0].role");
  EXPECT_EQ(body_error(R"({"messages":[{"role":"robot","content":"x"}]})"), "messages[0].role");
  EXPECT_EQ(body_error(R"({"messages":[{"role":"user","content":"x"},{"role":"user"}]})"),
            "messages[1].content");
  EXPECT_EQ(body_error(R"({"messages":[{"role":"user","content":3}]})"), "messages[0].content");
  EXPECT_EQ(body_error(R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})"),
            "messages[0].content[0].text");
  EXPECT_EQ(body_error(R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})"),
            "messages[0].content[0].type");
  EXPECT_EQ(body_error(R"({"messages":[{"role":"user","content":""}]})"), "accepted");
  EXPECT_EQ(body_error(R"({"messages":[{"role":"assistant","content":null,"tool_calls":[]}]})"),
            "accepted");
  EXPECT_EQ(body_error(R"({"messages":[{"role":"assistant","content":null,"refusal":"no"}]})"),
            "accepted");
  EXPECT_EQ(body_error(R"({"messages":[{"role":"assistant","content":null}]})"),
            "messages[0].content");
}

TEST(ChatRequest, template_variables_are_few_and_replace_nothing_that_was_checked) {
  std::string many;
  for (int i = 0; i < 65; ++i) {
    many += (many.empty() ? "\"k" : ",\"k") + std::to_string(i) + "\":1";
  }
  EXPECT_EQ(chat_error(",\"chat_template_kwargs\":{" + many + "}"),
            "400 invalid_value chat_template_kwargs");
  EXPECT_EQ(chat_error(R"(,"chat_template_kwargs":{"messages":[]})"),
            "400 invalid_value chat_template_kwargs.messages");
  EXPECT_EQ(chat_error(R"(,"chat_template_kwargs":{"custom":[]})"), "accepted");
}

TEST(ChatRequest, numbers_beyond_every_integer_are_out_of_range_not_of_another_type) {
  EXPECT_EQ(chat_error(R"(,"n":1e30)"), "400 invalid_value n");
  EXPECT_EQ(chat_error(R"(,"n":1.5)"), "400 invalid_type n");
  EXPECT_EQ(chat_error(R"(,"max_tokens":9223372036854775808)"), "400 invalid_value max_tokens");
}

TEST(ChatRequest, an_integer_that_does_not_fit_is_refused_with_its_range_and_never_rounded) {
  const auto message = [](const std::string& members) {
    return std::get<ApiError>(read_chat(members)).message;
  };
  EXPECT_EQ(
      message(R"(,"seed":-9223372036854775809)"),
      "'seed' is below -9223372036854775808, expected an integer from -9223372036854775808 to "
      "9223372036854775807");
  EXPECT_EQ(message(R"(,"top_k":1e400)"),
            "'top_k' is above 9223372036854775807, expected an integer from -1 to "
            "9223372036854775807");
  const auto read = read_chat(R"(,"seed":-9223372036854775808,"n":-0.0)");
  EXPECT_EQ(std::get<ApiError>(read).message, "'n' is 0, expected an integer from 1 to 128");
  for (const char* field :
       {"seed", "n", "top_k", "min_tokens", "max_tokens", "priority", "max_completion_tokens",
        "timeout_ms", "stream_interval", "truncate_prompt_tokens", "thinking_token_budget"}) {
    for (const char* value : {"-9223372036854775809", "9223372036854775808", "1e400", "-1e400"}) {
      EXPECT_EQ(chat_error(",\"" + std::string(field) + "\":" + value),
                "400 invalid_value " + std::string(field))
          << value;
    }
  }
}

TEST(ChatRequest, unknown_fields_of_nested_objects_are_named_by_their_paths) {
  const Json body =
      parse_json(R"({"foo":1,"messages":[{"role":"user","content":[)"
                 R"({"type":"text","text":"x","detail":1}],"mood":"good"},)"
                 R"({"role":"assistant","content":null,"annotations":[],"tool_calls":[)"
                 R"({"id":"c","type":"function","index":0,"function":{"name":"f",)"
                 R"("arguments":"{}","args":1}}]}],)"
                 R"("stream":true,"stream_options":{"include_usage":true,"usage":1},)"
                 R"("response_format":{"type":"json_schema","bar":1,)"
                 R"("json_schema":{"name":"n","schema":{},"baz":1}},)"
                 R"("metadata":{"free":"v"},"chat_template_kwargs":{"free":1}})")
          .value();
  const auto result = read_chat_request(body, SamplingDefaults(), ApiLimits());
  ASSERT_TRUE(std::holds_alternative<ChatRequest>(result)) << std::get<ApiError>(result).message;
  EXPECT_EQ(std::get<ChatRequest>(result).ignored_fields,
            (std::vector<std::string>{
                "foo", "messages[0].mood", "messages[0].content[0].detail",
                "messages[1].tool_calls[0].index", "messages[1].tool_calls[0].function.args",
                "stream_options.usage", "response_format.bar", "response_format.json_schema.baz"}));
}

TEST(ChatRequest, of_many_unknown_nested_fields_some_are_kept) {
  std::string members;
  for (int i = 0; i < 1000; ++i) {
    members += ",\"k" + std::to_string(i) + "\":1";
  }
  const Json body =
      parse_json(R"({"messages":[{"role":"user","content":"x")" + members + "}]}").value();
  const auto result = read_chat_request(body, SamplingDefaults(), ApiLimits());
  EXPECT_EQ(std::get<ChatRequest>(result).ignored_fields.size(), 100U);
}

TEST(ChatRequest, reasoning_is_switched_by_variables_of_the_template) {
  const auto kwargs = [](const std::string& members) {
    return to_text(Json(std::get<ChatRequest>(read_chat(members)).template_kwargs));
  };
  EXPECT_EQ(kwargs(""), "{}");
  EXPECT_EQ(kwargs(R"(,"reasoning_effort":"none")"),
            R"({"reasoning_effort":"none","enable_thinking":false,"thinking":false})");
  EXPECT_EQ(kwargs(R"(,"reasoning_effort":"low","chat_template_kwargs":{"enable_thinking":false})"),
            R"({"enable_thinking":false,"reasoning_effort":"low","thinking":true})");
  EXPECT_EQ(kwargs(R"(,"thinking":{"type":"disabled"})"),
            R"({"enable_thinking":false,"thinking":false})");
  EXPECT_EQ(chat_error(R"(,"thinking":{"type":"maybe"})"), "400 invalid_value thinking.type");
  EXPECT_EQ(chat_error(R"(,"reasoning_effort":"huge")"), "400 invalid_value reasoning_effort");
}

TEST(ChatRequest, what_becomes_of_reasoning_is_read) {
  const auto options = [](const std::string& members) {
    return std::get<ChatRequest>(read_chat(members)).reasoning;
  };
  EXPECT_TRUE(options("").separate && options("").stream && options("").is_shown);
  EXPECT_FALSE(options(R"(,"separate_reasoning":false)").separate);
  EXPECT_FALSE(options(R"(,"reasoning_format":"none")").separate);
  EXPECT_FALSE(options(R"(,"stream_reasoning":false)").stream);
  EXPECT_FALSE(options(R"(,"include_reasoning":false)").is_shown);
  EXPECT_EQ(chat_error(R"(,"separate_reasoning":1)"), "400 invalid_type separate_reasoning");
}

TEST(ChatRequest, calls_of_custom_tools_become_those_of_functions) {
  const Json body =
      parse_json(
          R"({"messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,)"
          R"("tool_calls":[{"id":"c","type":"custom","custom":{"name":"sh","input":"ls \"a\""}}]},)"
          R"({"role":"tool","tool_call_id":"c","content":"1"}]})")
          .value();
  const auto read = read_chat_request(body, SamplingDefaults(), ApiLimits());
  EXPECT_EQ(to_text(std::get<ChatRequest>(read).messages[1]),
            R"({"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",)"
            R"("function":{"name":"sh","arguments":"{\"input\":\"ls \\\"a\\\"\"}"}}]})");
  EXPECT_TRUE(std::get<ChatRequest>(read).ignored_fields.empty());
  const std::string call = R"({"messages":[{"role":"assistant","tool_calls":[{"type":"custom",)";
  EXPECT_EQ(body_error(call + R"("function":{"name":"f"}}]}]})"), "messages[0].tool_calls[0]");
  EXPECT_EQ(body_error(call + R"("custom":{"name":"sh"}}]}]})"),
            "messages[0].tool_calls[0].custom.input");
}

TEST(ChatRequest, the_older_function_messages_become_tool_calls) {
  const Json body =
      parse_json(
          R"({"messages":[{"role":"user","content":"x"},)"
          R"({"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},)"
          R"({"role":"function","name":"f","content":"1"}]})")
          .value();
  const auto read = read_chat_request(body, SamplingDefaults(), ApiLimits());
  EXPECT_EQ(to_text(std::get<ChatRequest>(read).messages),
            R"([{"role":"user","content":"x"},)"
            R"({"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function",)"
            R"("function":{"name":"f","arguments":"{}"}}]},)"
            R"({"role":"tool","name":"f","content":"1","tool_call_id":"call_1"}])");
}

TEST(ChatRequest, thoughts_among_the_parts_of_an_answer_are_its_reasoning) {
  const Json body =
      parse_json(
          R"({"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"t"},)"
          R"({"type":"text","text":"a"},{"type":"refusal","refusal":"r"}]}]})")
          .value();
  const auto read = read_chat_request(body, SamplingDefaults(), ApiLimits());
  EXPECT_EQ(to_text(std::get<ChatRequest>(read).messages),
            R"([{"role":"assistant","content":[{"type":"text","text":"a"},)"
            R"({"type":"text","text":"r"}],"reasoning_content":"t"}])");
}

std::string with_field(const std::string& field) {
  return body_error(R"({"messages":[{"role":"user","content":"x"}],)" + field + "}");
}

TEST(ChatRequest, scheduling_fields_are_held_to_their_limits) {
  EXPECT_EQ(with_field(R"("priority":1000000)"), "accepted");
  EXPECT_EQ(with_field(R"("priority":-1000001)"), "priority");
  EXPECT_EQ(with_field(R"("priority":"high")"), "priority");
  EXPECT_EQ(with_field(R"("timeout_ms":1)"), "accepted");
  EXPECT_EQ(with_field(R"("timeout_ms":0)"), "timeout_ms");  // has passed already
  EXPECT_EQ(with_field(R"("queue_timeout_ms":-5)"), "queue_timeout_ms");
  EXPECT_EQ(with_field("\"routing_key\":\"" + std::string(256, 'k') + "\""), "accepted");
  EXPECT_EQ(with_field("\"routing_key\":\"" + std::string(257, 'k') + "\""), "routing_key");
}

std::string completion_error(const std::string& text) {
  const auto result =
      read_completion_request(parse_json(text).value(), SamplingDefaults(), ApiLimits());
  return std::holds_alternative<CompletionRequest>(result) ? "accepted"
                                                           : std::get<ApiError>(result).param;
}

TEST(CompletionRequest, every_form_of_a_prompt_is_read) {
  const auto read = [](const std::string& text) {
    return std::get<CompletionRequest>(
               read_completion_request(parse_json(text).value(), SamplingDefaults(), ApiLimits()))
        .prompts;
  };
  EXPECT_EQ(read(R"({"prompt":"a"})"), (std::vector<Prompt>{std::string("a")}));
  EXPECT_EQ(read(R"({"prompt":["a","b"]})"),
            (std::vector<Prompt>{std::string("a"), std::string("b")}));
  EXPECT_EQ(read(R"({"prompt":[1,2]})"), (std::vector<Prompt>{std::vector<TokenId>{1, 2}}));
  EXPECT_EQ(read(R"({"prompt":[[1],[2]]})"),
            (std::vector<Prompt>{std::vector<TokenId>{1}, std::vector<TokenId>{2}}));
  EXPECT_EQ(read(R"({"prompt":null})"), (std::vector<Prompt>{std::string()}));
}

TEST(CompletionRequest, defaults_and_limits_hold) {
  const auto result = read_completion_request(parse_json(R"({"prompt":"a"})").value(),
                                              SamplingDefaults(), ApiLimits());
  EXPECT_EQ(std::get<CompletionRequest>(result).generation.sampling.max_tokens, 16);
  EXPECT_EQ(completion_error(R"({})"), "prompt");
  EXPECT_EQ(completion_error(R"({"prompt":[]})"), "prompt");
  EXPECT_EQ(completion_error(R"({"prompt":[1,"a"]})"), "prompt");
  EXPECT_EQ(completion_error(R"({"prompt":[[1],"a"]})"), "prompt");
  EXPECT_EQ(completion_error(R"({"prompt":["a",[1]]})"), "prompt");
  EXPECT_EQ(completion_error(R"({"prompt":[-1]})"), "prompt");
  EXPECT_EQ(completion_error(R"({"prompt":"a","max_tokens":0})"), "max_tokens");
  EXPECT_EQ(completion_error(R"({"prompt":"a","max_tokens":0,"echo":true})"), "accepted");
  EXPECT_EQ(completion_error(R"({"prompt":"a","n":2,"best_of":1})"), "best_of");
  EXPECT_EQ(completion_error(R"({"prompt":"a","suffix":"b"})"), "suffix");
}

TEST(CompletionRequest, a_prompt_of_another_type_is_told_all_that_it_may_be) {
  for (const char* prompt : {"5", "{}", "true", R"(["a",1])", R"([[1],"a"])"}) {
    const auto result =
        read_completion_request(parse_json(R"({"prompt":)" + std::string(prompt) + "}").value(),
                                SamplingDefaults(), ApiLimits());
    ASSERT_TRUE(std::holds_alternative<ApiError>(result)) << prompt;
    EXPECT_EQ(std::get<ApiError>(result).message,
              "invalid type for 'prompt': expected a string, an array of strings, of token ids, or "
              "of arrays of token ids")
        << prompt;
  }
}

}  // namespace
}  // namespace plumb
