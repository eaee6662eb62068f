// SPDX-License-Identifier: Apache-2.0
#include "api/ollama_request.h"

#include <gtest/gtest.h>

#include "support/read_result.h"

namespace plumb {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

std::variant<OllamaRequest, ApiError> read_ollama(const std::string& body, bool is_chat = true) {
  const Json json = parse_json(body).value();
  return is_chat ? read_ollama_chat(json, SamplingDefaults(), ApiLimits())
                 : read_ollama_generate(json, SamplingDefaults(), ApiLimits());
}

OllamaRequest chat(const std::string& members) {
  return accepted_request(read_ollama(R"({"model":"m",)" + members + "}"), members);
}

OllamaRequest generate(const std::string& members) {
  return accepted_request(read_ollama(R"({"model":"m",)" + members + "}", false), members);
}

std::string ollama_error(const std::string& body) {
  return verdict_of(read_ollama(body));
}

std::string option_error(const std::string& options) {
  return ollama_error(R"({"model":"m","messages":[{"role":"user","content":"x"}],"options":{)" +
                      options + "}}");
}

std::string generate_error(const std::string& members) {
  return verdict_of(read_ollama(R"({"model":"m","prompt":"x",)" + members + "}", false));
}

std::string ollama_messages_of(const OllamaRequest& request) {
  return to_text(std::get<ChatRequest>(request.work).messages);
}

TEST(OllamaRequest, a_chat_streams_unless_it_says_otherwise) {
  const OllamaRequest request = chat(R"("messages":[{"role":"user","content":"hi"}])");
  EXPECT_EQ(request.model, "m");
  EXPECT_FALSE(request.is_load);
  EXPECT_FALSE(request.keep_alive.has_value());
  EXPECT_TRUE(request.generation().stream);
  EXPECT_TRUE(request.generation().clamps_max_tokens);
  EXPECT_EQ(request.generation().sampling.max_tokens, 0);
  EXPECT_EQ(ollama_messages_of(request), R"([{"role":"user","content":"hi"}])");
  EXPECT_FALSE(chat(R"("messages":[],"stream":false)").generation().stream);
}

TEST(OllamaRequest, results_get_the_ids_of_the_open_calls_of_their_tool_in_order) {
  const OllamaRequest request = chat(
      R"("messages":[{"role":"user","content":"w?"},)"
      R"({"role":"assistant","thinking":"hm","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}},)"
      R"({"function":{"name":"g","arguments":{}}},{"function":{"name":"f","arguments":{"a":2}}}]},)"
      R"({"role":"tool","tool_name":"g","content":"G"},{"role":"tool","tool_name":"f","content":"F1"},)"
      R"({"role":"tool","tool_name":"f","content":"F2"},{"role":"tool","tool_name":"f","content":"?"}])");
  EXPECT_EQ(
      ollama_messages_of(request),
      R"([{"role":"user","content":"w?"},{"role":"assistant","reasoning_content":"hm","tool_calls":[)"
      R"({"id":"call00001","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},)"
      R"({"id":"call00002","type":"function","function":{"name":"g","arguments":"{}"}},)"
      R"({"id":"call00003","type":"function","function":{"name":"f","arguments":"{\"a\":2}"}}]},)"
      R"({"role":"tool","content":"G","tool_call_id":"call00002","name":"g"},)"
      R"({"role":"tool","content":"F1","tool_call_id":"call00001","name":"f"},)"
      R"({"role":"tool","content":"F2","tool_call_id":"call00003","name":"f"},)"
      R"({"role":"tool","content":"?","name":"f"}])");
}

TEST(OllamaRequest, calls_without_a_result_are_limited) {
  const auto turns = [](int num_turns, bool has_results) {
    std::string out = R"({"model":"m","messages":[{"role":"user","content":"x"})";
    for (int i = 0; i < num_turns; ++i) {
      out += R"(,{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{}}}]})";
      out += has_results ? R"(,{"role":"tool","tool_name":"f","content":"r"})" : "";
    }
    return out + "]}";
  };
  EXPECT_EQ(ollama_error(turns(512, false)), "accepted");
  EXPECT_EQ(ollama_error(turns(513, false)), "invalid_value messages");
  EXPECT_EQ(ollama_error(turns(513, true)), "accepted");
}

TEST(OllamaRequest, a_message_without_content_is_empty) {
  EXPECT_EQ(
      ollama_messages_of(chat(R"("messages":[{"role":"user"},{"role":"assistant","images":[]}])")),
      R"([{"role":"user","content":""},{"role":"assistant","content":""}])");
}

TEST(OllamaRequest, a_union_of_types_is_read_as_one) {
  const OllamaRequest request = chat(
      R"("messages":[],"tools":[{"function":{"name":"f","parameters":{"type":"object","properties":)"
      R"({"a":{"type":"integer, string"},"type":{"type":"string","enum":["a, b"]},)"
      R"("list":{"type":"array","items":{"type":"number,null"}}}}}}])");
  const ToolUse& use = std::get<ChatRequest>(request.work).tool_use;
  ASSERT_EQ(use.tools.size(), 1U);
  EXPECT_EQ(to_text(use.tools[0].parameters),
            R"({"type":"object","properties":{"a":{"type":["integer","string"]},)"
            R"("type":{"type":"string","enum":["a, b"]},)"
            R"("list":{"type":"array","items":{"type":["number","null"]}}}})");
}

TEST(OllamaRequest, thinking_is_a_switch_or_an_effort) {
  const auto kwargs = [](const std::string& think) {
    return to_text(
        std::get<ChatRequest>(chat(R"("messages":[],"think":)" + think).work).template_kwargs);
  };
  EXPECT_EQ(kwargs("true"), R"({"enable_thinking":true,"thinking":true})");
  EXPECT_EQ(kwargs("false"), R"({"enable_thinking":false,"thinking":false})");
  EXPECT_EQ(kwargs("\"low\""),
            R"({"reasoning_effort":"low","enable_thinking":true,"thinking":true})");
  EXPECT_EQ(kwargs("null"), "{}");
}

TEST(OllamaRequest, formats_are_constraints) {
  const auto constraint = [](const std::string& format) {
    return chat(R"("messages":[],"format":)" + format).generation().constraint;
  };
  EXPECT_TRUE(constraint("\"\"").is_none());
  EXPECT_TRUE(constraint("null").is_none());
  EXPECT_EQ(constraint("\"json\"").kind, ConstraintSpec::Kind::kJsonObject);
  const ConstraintSpec schema = constraint(R"({"type":"integer"})");
  EXPECT_EQ(schema.kind, ConstraintSpec::Kind::kJsonSchema);
  EXPECT_EQ(schema.text, R"({"type":"integer"})");
  EXPECT_EQ(schema.param, "format");
}

TEST(OllamaRequest, options_keep_their_meaning_and_its_engines_are_accepted) {
  const GenerationParams params =
      chat(R"("messages":[],"options":{"num_predict":7,"num_ctx":64,"temperature":0.5,"top_k":3,)"
           R"("top_p":0.5,"min_p":0.1,"typical_p":1,"seed":9,"stop":["a"],"repeat_penalty":1.0,)"
           R"("repeat_last_n":64,"presence_penalty":0,"frequency_penalty":0,"mirostat":0,)"
           R"("mirostat_tau":5,"tfs_z":1,"penalize_newline":false,"num_gpu":1,"num_thread":2,)"
           R"("use_mmap":true})")
          .generation();
  EXPECT_EQ(params.sampling.max_tokens, 7);
  EXPECT_EQ(params.context_limit, 64);
  EXPECT_EQ(params.sampling.temperature, 0.5);
  EXPECT_EQ(params.sampling.top_k, 3);
  EXPECT_EQ(params.sampling.min_p, 0.1);
  EXPECT_EQ(params.sampling.seed, 9U);
  EXPECT_EQ(params.stops, std::vector<std::string>{"a"});
  for (const char* open : {"-1", "-2"}) {
    EXPECT_EQ(chat(std::string(R"("messages":[],"options":{"num_predict":)") + open + "}")
                  .generation()
                  .sampling.max_tokens,
              0);
  }
}

TEST(OllamaRequest, unknown_fields_and_options_are_named) {
  const OllamaRequest request =
      chat(R"("messages":[{"role":"user","mood":1}],"colour":1,"options":{"magic":1,"numa":true})");
  EXPECT_EQ(std::get<ChatRequest>(request.work).ignored_fields,
            (std::vector<std::string>{"colour", "options.magic", "messages[0].mood"}));
}

TEST(OllamaRequest, options_that_would_change_the_answer_are_refused) {
  EXPECT_EQ(option_error(R"("mirostat":1)"), "unsupported_parameter options.mirostat");
  EXPECT_EQ(option_error(R"("tfs_z":0.5)"), "unsupported_parameter options.tfs_z");
  EXPECT_EQ(option_error(R"("typical_p":0.5)"), "unsupported_parameter options.typical_p");
  EXPECT_EQ(option_error(R"("repeat_penalty":1.1,"repeat_last_n":64)"),
            "unsupported_parameter options.repeat_last_n");
  EXPECT_EQ(option_error(R"("repeat_penalty":1.1,"repeat_last_n":-1)"), "accepted");
  EXPECT_EQ(option_error(R"("repeat_penalty":1.1,"penalize_newline":false)"),
            "unsupported_parameter options.penalize_newline");
  EXPECT_EQ(option_error(R"("num_predict":0)"), "invalid_value options.num_predict");
  EXPECT_EQ(option_error(R"("num_predict":-3)"), "invalid_value options.num_predict");
  EXPECT_EQ(option_error(R"("num_ctx":0)"), "invalid_value options.num_ctx");
  EXPECT_EQ(option_error(R"("temperature":"hot")"), "invalid_type options.temperature");
}

TEST(OllamaRequest, each_field_is_checked_by_name) {
  EXPECT_EQ(ollama_error("[]"), "invalid_type body");
  EXPECT_EQ(ollama_error(R"({"messages":[]})"), "missing_required_parameter model");
  EXPECT_EQ(ollama_error(R"({"model":"","messages":[]})"), "missing_required_parameter model");
  EXPECT_EQ(ollama_error(R"({"model":"m","messages":{}})"), "invalid_type messages");
  EXPECT_EQ(ollama_error(R"({"model":"m","messages":["x"]})"), "invalid_type messages[0]");
  EXPECT_EQ(ollama_error(R"({"model":"m","messages":[{"content":"x"}]})"),
            "missing_required_parameter messages[0].role");
  EXPECT_EQ(ollama_error(R"({"model":"m","messages":[{"role":"king"}]})"),
            "invalid_value messages[0].role");
  EXPECT_EQ(ollama_error(R"({"model":"m","messages":[{"role":"user","images":["aGk="]}]})"),
            "unsupported_parameter messages[0].images");
  EXPECT_EQ(ollama_error(R"({"model":"m","messages":[{"role":"assistant","tool_calls":[{}]}]})"),
            "invalid_type messages[0].tool_calls[0]");
  EXPECT_EQ(
      ollama_error(
          R"({"model":"m","messages":[{"role":"assistant","tool_calls":[{"function":{}}]}]})"),
      "missing_required_parameter messages[0].tool_calls[0].function.name");
  EXPECT_EQ(ollama_error(R"({"model":"m","messages":[{"role":"assistant","tool_calls":)"
                         R"([{"function":{"name":"f","arguments":"{}"}}]}]})"),
            "invalid_type messages[0].tool_calls[0].function.arguments");
  EXPECT_EQ(ollama_error(R"({"model":"m","format":"yaml"})"), "invalid_type format");
  EXPECT_EQ(ollama_error(R"({"model":"m","format":true})"), "invalid_type format");
  EXPECT_EQ(ollama_error(R"({"model":"m","think":"hard"})"), "invalid_value think");
  EXPECT_EQ(ollama_error(R"({"model":"m","keep_alive":"soon"})"), "invalid_type keep_alive");
  EXPECT_EQ(ollama_error(R"({"model":"m","keep_alive":true})"), "invalid_type keep_alive");
  EXPECT_EQ(ollama_error(R"({"model":"m","top_logprobs":2})"), "invalid_value top_logprobs");
  EXPECT_EQ(ollama_error(R"({"model":"m","logprobs":true,"top_logprobs":21})"),
            "invalid_value top_logprobs");
  EXPECT_EQ(ollama_error(R"({"model":"m","tools":[{"function":{}}]})"),
            "missing_required_parameter tools[0].function.name");
}

TEST(OllamaRequest, nothing_to_answer_is_a_request_to_load) {
  EXPECT_TRUE(chat(R"("messages":[])").is_load);
  EXPECT_TRUE(generate(R"("prompt":"")").is_load);
  EXPECT_TRUE(generate(R"("keep_alive":0)").is_load);
  EXPECT_FALSE(generate(R"("prompt":"x")").is_load);
}

TEST(OllamaRequest, a_prompt_is_a_conversation_unless_it_is_raw) {
  const OllamaRequest request =
      generate(R"("prompt":"p","system":"s","context":[1,2],"think":false)");
  const ChatRequest& chat = std::get<ChatRequest>(request.work);
  EXPECT_EQ(ollama_messages_of(request),
            R"([{"role":"system","content":"s"},{"role":"user","content":"p"}])");
  EXPECT_EQ(chat.context, (std::vector<TokenId>{1, 2}));
  EXPECT_EQ(to_text(chat.template_kwargs), R"({"enable_thinking":false,"thinking":false})");
  EXPECT_TRUE(chat.generation.return_token_ids);
  const OllamaRequest raw = generate(R"("prompt":"p","raw":true)");
  const auto& text = std::get<CompletionRequest>(raw.work);
  EXPECT_EQ(std::get<std::string>(text.prompts.at(0)), "p");
  EXPECT_FALSE(text.generation.return_token_ids);
  const CompletionRequest alone =
      without_template(std::get<ChatRequest>(generate(R"("prompt":"q")").work));
  EXPECT_EQ(std::get<std::string>(alone.prompts.at(0)), "q");
}

TEST(OllamaRequest, what_generate_does_not_offer_is_refused_by_name) {
  EXPECT_EQ(generate_error(R"("suffix":"y")"), "unsupported_parameter suffix");
  EXPECT_EQ(generate_error(R"("suffix":"")"), "accepted");
  EXPECT_EQ(generate_error(R"("template":"{{ .Prompt }}")"), "unsupported_parameter template");
  EXPECT_EQ(generate_error(R"("images":["aGk="])"), "unsupported_parameter images");
  EXPECT_EQ(generate_error(R"("raw":true,"system":"s")"), "invalid_value system");
  EXPECT_EQ(generate_error(R"("raw":true,"context":[1])"), "invalid_value context");
  EXPECT_EQ(generate_error(R"("context":["a"])"), "invalid_type context");
  EXPECT_EQ(generate_error(R"("context":[-1])"), "invalid_type context");
}

TEST(OllamaRequest, times_are_numbers_of_seconds_or_durations) {
  EXPECT_EQ(chat(R"("messages":[],"keep_alive":90)").keep_alive, seconds(90));
  EXPECT_EQ(chat(R"("messages":[],"keep_alive":"1h30m")").keep_alive, minutes(90));
  EXPECT_LT(*chat(R"("messages":[],"keep_alive":-1)").keep_alive, seconds(0));
  EXPECT_EQ(parse_duration("5m"), minutes(5));
  EXPECT_EQ(parse_duration("0"), seconds(0));
  EXPECT_EQ(parse_duration("-1s"), -seconds(1));
  EXPECT_EQ(parse_duration("1.5h"), minutes(90));
  EXPECT_EQ(parse_duration("250ms"), std::chrono::milliseconds(250));
  EXPECT_EQ(parse_duration("3\xC2\xB5s"), std::chrono::microseconds(3));
  EXPECT_GT(*parse_duration("1000000000h"), hours(24));
  for (const char* text : {"", "5", "m", "5x", "5 m", "-", "1..2s", "five"}) {
    EXPECT_FALSE(parse_duration(text).has_value()) << text;
  }
}

TEST(OllamaRequest, a_name_without_a_tag_is_the_latest) {
  EXPECT_EQ(with_ollama_tag("m"), "m:latest");
  EXPECT_EQ(with_ollama_tag("m:8b"), "m:8b");
  EXPECT_EQ(with_ollama_tag("host:80/m"), "host:80/m:latest");
}

}  // namespace
}  // namespace plumb
