// SPDX-License-Identifier: Apache-2.0
#include "api/messages_request.h"

#include <gtest/gtest.h>

#include "api/constraint_surrogates.h"

namespace plumb {
namespace {

std::variant<MessagesRequest, ApiError> read_body(const std::string& text,
                                                  const MessagesOptions& options = {}) {
  const Result<Json> body = parse_json(text);
  EXPECT_TRUE(body.ok()) << text;
  return read_messages_request(body.value(), SamplingDefaults(), ApiLimits(), options);
}

// A request with these messages and members.
std::string body_with(const std::string& messages, const std::string& members = "") {
  return R"({"model":"m","max_tokens":5,"messages":)" + messages + members + "}";
}

MessagesRequest accepted(const std::string& text, const MessagesOptions& options = {}) {
  auto read = read_body(text, options);
  if (const auto* error = std::get_if<ApiError>(&read)) {
    ADD_FAILURE() << text << ": " << error->message;
    return {};
  }
  return std::get<MessagesRequest>(std::move(read));
}

std::string messages_of(const std::string& messages, const std::string& members = "",
                        const MessagesOptions& options = {}) {
  return to_text(accepted(body_with(messages, members), options).chat.messages);
}

std::string refusal_of(const std::string& text) {
  const auto read = read_body(text);
  const auto* error = std::get_if<ApiError>(&read);
  return error == nullptr
             ? "accepted"
             : std::to_string(error->http_status) + " " + error->code + " " + error->param;
}

constexpr const char* kHi = R"([{"role":"user","content":"hi"}])";

TEST(MessagesRequests, fields_are_read_with_the_models_defaults) {
  const MessagesRequest request = accepted(body_with(
      kHi,
      R"(,"system":"be kind","stop_sequences":["a","","b"],"temperature":0.5,"top_k":4,"stream":true,)"
      R"("metadata":{"user_id":null},"service_tier":"auto","context_management":{},"foo":1)"));
  const GenerationParams& params = request.chat.generation;
  EXPECT_EQ(params.model, "m");
  EXPECT_EQ(params.sampling.max_tokens, 5);
  EXPECT_TRUE(params.clamps_max_tokens);
  EXPECT_EQ(params.sampling.temperature, 0.5);
  EXPECT_EQ(params.sampling.top_k, 4);
  EXPECT_EQ(params.sampling.top_p, SamplingDefaults().top_p);
  EXPECT_EQ(params.stops, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(params.stream);
  EXPECT_EQ(request.chat.tool_use.call_id_prefix, "toolu_");
  EXPECT_EQ(request.chat.ignored_fields, std::vector<std::string>{"foo"});
  EXPECT_EQ(to_text(request.chat.messages),
            R"([{"role":"system","content":"be kind"},{"role":"user","content":"hi"}])");
}

TEST(MessagesRequests, each_mistake_is_an_error_that_names_the_field) {
  const auto with = [](const std::string& members) { return refusal_of(body_with(kHi, members)); };
  EXPECT_EQ(refusal_of("[]"), "400 invalid_type body");
  EXPECT_EQ(refusal_of(R"({"max_tokens":5,"messages":[{"role":"user","content":"x"}]})"),
            "400 missing_required_parameter model");
  EXPECT_EQ(refusal_of(R"({"model":"m","messages":[{"role":"user","content":"x"}]})"),
            "400 missing_required_parameter max_tokens");
  EXPECT_EQ(refusal_of(R"({"model":"m","max_tokens":5})"),
            "400 missing_required_parameter messages");
  EXPECT_EQ(
      refusal_of(R"({"model":"m","max_tokens":0,"messages":[{"role":"user","content":"x"}]})"),
      "400 invalid_value max_tokens");
  EXPECT_EQ(refusal_of(body_with("[]")), "400 invalid_value messages");
  EXPECT_EQ(refusal_of(body_with("[7]")), "400 invalid_type messages[0]");
  EXPECT_EQ(with(R"(,"system":7)"), "400 invalid_type system");
  EXPECT_EQ(with(R"(,"system":[7])"), "400 invalid_type system[0]");
  EXPECT_EQ(with(R"(,"system":[{"type":"tool_use"}])"), "400 invalid_value system[0].type");
  EXPECT_EQ(with(R"(,"temperature":2.5)"), "400 invalid_value temperature");
  EXPECT_EQ(with(R"(,"stop_sequences":[1])"), "400 invalid_type stop_sequences");
  EXPECT_EQ(with(R"(,"stop_sequences":[)" + std::string(R"("x",)") + "\"" + std::string(1025, 'y') +
                 "\"]"),
            "400 invalid_value stop_sequences");
  EXPECT_EQ(with(R"(,"n":2)"), "400 unsupported_parameter n");
  EXPECT_EQ(with(R"(,"return_token_ids":true)"), "400 unsupported_parameter return_token_ids");
  EXPECT_EQ(with(R"(,"prompt_logprobs":1)"), "400 unsupported_parameter prompt_logprobs");
  EXPECT_EQ(with(R"(,"return_meta_info":true)"), "400 unsupported_parameter return_meta_info");
  EXPECT_EQ(with(R"(,"thinking":{})"), "400 missing_required_parameter thinking.type");
  EXPECT_EQ(with(R"(,"thinking":{"type":"maybe"})"), "400 invalid_value thinking.type");
  EXPECT_EQ(with(R"(,"thinking":{"type":"enabled","budget_tokens":0})"),
            "400 invalid_value thinking.budget_tokens");
  EXPECT_EQ(with(R"(,"thinking":{"type":"enabled","display":"loud"})"),
            "400 invalid_value thinking.display");
  EXPECT_EQ(with(R"(,"output_config":{"effort":"none"})"),
            "400 invalid_value output_config.effort");
  EXPECT_EQ(with(R"(,"output_config":{"format":{"type":"json_object"}})"),
            "400 invalid_value output_config.format.type");
  EXPECT_EQ(with(R"(,"output_config":{"format":{"schema":{}}})"),
            "400 missing_required_parameter output_config.format.type");
  EXPECT_EQ(with(R"(,"output_config":{"format":{"type":"json_schema"}})"),
            "400 missing_required_parameter output_config.format.schema");
  EXPECT_EQ(with(R"(,"output_config":{"format":{"type":"json_schema","schema":{}}},"regex":"a")"),
            "400 invalid_value output_config.format.schema");
}

TEST(MessagesRequests, each_mistake_in_a_message_names_its_place) {
  const auto with = [](const std::string& message) {
    return refusal_of(body_with("[" + message + "]"));
  };
  const auto user = [&](const std::string& block) {
    return with(R"({"role":"user","content":[)" + block + "]}");
  };
  EXPECT_EQ(with(R"({"content":"x"})"), "400 missing_required_parameter messages[0].role");
  EXPECT_EQ(with(R"({"role":"king","content":"x"})"), "400 invalid_value messages[0].role");
  EXPECT_EQ(with(R"({"role":"user"})"), "400 missing_required_parameter messages[0].content");
  EXPECT_EQ(with(R"({"role":"user","content":7})"), "400 invalid_type messages[0].content");
  EXPECT_EQ(user("7"), "400 invalid_type messages[0].content[0]");
  EXPECT_EQ(user("{}"), "400 missing_required_parameter messages[0].content[0].type");
  EXPECT_EQ(user(R"({"type":"text"})"),
            "400 missing_required_parameter messages[0].content[0].text");
  EXPECT_EQ(user(R"({"type":"smell"})"), "400 invalid_value messages[0].content[0].type");
  EXPECT_EQ(user(R"({"type":"image","source":{"type":"url","url":"x"}})"),
            "400 unsupported_parameter messages[0].content[0].type");
  EXPECT_EQ(user(R"({"type":"document"})"),
            "400 missing_required_parameter messages[0].content[0].source");
  EXPECT_EQ(user(R"({"type":"document","source":{"type":"base64","data":"x"}})"),
            "400 unsupported_parameter messages[0].content[0].source.type");
  EXPECT_EQ(user(R"({"type":"tool_use","id":"a","name":"f","input":{}})"),
            "400 invalid_value messages[0].content[0].type");
  EXPECT_EQ(user(R"({"type":"thinking","thinking":"x"})"),
            "400 invalid_value messages[0].content[0].type");
  EXPECT_EQ(user(R"({"type":"tool_result"})"),
            "400 missing_required_parameter messages[0].content[0].tool_use_id");
  EXPECT_EQ(user(R"({"type":"tool_result","tool_use_id":"a","content":[{"type":"image"}]})"),
            "400 unsupported_parameter messages[0].content[0].content[0].type");
  const auto assistant = [&](const std::string& block) {
    return with(R"({"role":"assistant","content":[)" + block + "]}");
  };
  EXPECT_EQ(assistant(R"({"type":"tool_use","name":"f"})"),
            "400 missing_required_parameter messages[0].content[0].id");
  EXPECT_EQ(assistant(R"({"type":"tool_use","id":"a"})"),
            "400 missing_required_parameter messages[0].content[0].name");
  EXPECT_EQ(assistant(R"({"type":"tool_use","id":"a","name":"f","input":"x"})"),
            "400 invalid_type messages[0].content[0].input");
  EXPECT_EQ(assistant(R"({"type":"tool_result","tool_use_id":"a"})"),
            "400 invalid_value messages[0].content[0].type");
}

TEST(MessagesRequests, a_conversation_with_tools_has_the_form_of_chat_completions) {
  EXPECT_EQ(
      messages_of(
          R"([{"role":"user","content":"weather?"},)"
          R"({"role":"assistant","content":[{"type":"thinking","thinking":"Look.","signature":"s"},)"
          R"({"type":"redacted_thinking","data":"zz"},{"type":"text","text":"I look."},)"
          R"({"type":"tool_use","id":"toolu_1","name":"f","input":{"z":1,"a":[true]}},)"
          R"({"type":"tool_use","id":"toolu_2","name":"g","input":{}}]},)"
          R"({"role":"user","content":[{"type":"text","text":"Here:"},)"
          R"({"type":"tool_result","tool_use_id":"toolu_1","content":"sunny"},)"
          R"({"type":"tool_result","tool_use_id":"toolu_2","is_error":true,"content":[)"
          R"({"type":"text","text":"no such"},{"type":"text","text":"zone"}]},)"
          R"({"type":"text","text":"Go on.","cache_control":{"type":"ephemeral"}}]}])"),
      R"([{"role":"user","content":"weather?"},)"
      R"({"role":"assistant","content":"I look.","reasoning_content":"Look.","tool_calls":[)"
      R"({"id":"toolu_1","type":"function","function":{"name":"f","arguments":"{\"z\":1,\"a\":[true]}"}},)"
      R"({"id":"toolu_2","type":"function","function":{"name":"g","arguments":"{}"}}]},)"
      R"({"role":"tool","tool_call_id":"toolu_1","content":"sunny"},)"
      R"({"role":"tool","tool_call_id":"toolu_2","content":"Error: no such\nzone"},)"
      R"({"role":"user","content":[{"type":"text","text":"Here:"},{"type":"text","text":"Go on."}]}])");
}

TEST(MessagesRequests, an_error_is_named_as_one_once) {
  const auto result = [](const std::string& text) {
    const MessagesRequest request =
        accepted(body_with(R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"a",)"
                           R"("is_error":true,"content":")" +
                           text + R"("}]}])"));
    return request.chat.messages.front().find("content")->as_string();
  };
  EXPECT_EQ(result("no"), "Error: no");
  EXPECT_EQ(result("Error: no"), "Error: no");
  EXPECT_EQ(result(" ERROR no"), " ERROR no");
  EXPECT_EQ(result("<tool_use_error>no</tool_use_error>"), "<tool_use_error>no</tool_use_error>");
  EXPECT_EQ(result(""), "Error: ");
}

TEST(MessagesRequests, turns_of_the_same_role_are_one) {
  EXPECT_EQ(messages_of(R"([{"role":"user","content":"a"},{"role":"ctx","content":"b"},)"
                        R"({"role":"msg","content":""},)"
                        R"({"role":"assistant","content":"c"},{"role":"assistant","content":[)"
                        R"({"type":"tool_use","id":"1","name":"f","input":{}}]},)"
                        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}])"),
            R"([{"role":"user","content":[{"type":"text","text":"a\n\n"},)"
            R"({"type":"text","text":"b"}]},)"
            R"({"role":"assistant","content":"c","tool_calls":[{"id":"1","type":"function",)"
            R"("function":{"name":"f","arguments":"{}"}}]},)"
            R"({"role":"tool","tool_call_id":"1","content":""}])");
}

TEST(MessagesRequests, system_turns_lead_or_stay_in_their_place) {
  const char* const messages =
      R"([{"role":"system","content":"two"},{"role":"user","content":"a"},)"
      R"({"role":"system","content":[{"type":"text","text":"late"}]}])";
  const char* const system =
      R"(,"system":[{"type":"text","text":"one"},{"type":"text","text":"1"}])";
  const MessagesRequest request = accepted(body_with(messages, system));
  EXPECT_TRUE(request.has_late_system);
  EXPECT_EQ(to_text(request.chat.messages),
            R"([{"role":"system","content":"one\n1\ntwo"},{"role":"user","content":"a"},)"
            R"({"role":"system","content":"late"}])");
  EXPECT_EQ(messages_of(messages, system, {.late_system_as_user = true}),
            R"([{"role":"system","content":"one\n1\ntwo"},{"role":"user","content":[)"
            R"({"type":"text","text":"a"},{"type":"text","text":"\nlate\n"}]}])");
  EXPECT_FALSE(accepted(body_with(kHi, system)).has_late_system);
}

TEST(MessagesRequests, the_billing_line_does_not_reach_the_prompt) {
  const std::string line = "x-anthropic-billing-header: cc_version=2; cch=";
  const auto prompt = [&](const std::string& sum, const MessagesOptions& options) {
    return messages_of(kHi,
                       R"(,"system":[{"type":"text","text":")" + line + sum +
                           R"(;"},{"type":"text","text":"You help."}])",
                       options);
  };
  EXPECT_EQ(prompt("a1", {}), prompt("b2", {}));
  EXPECT_EQ(prompt("a1", {}),
            R"([{"role":"system","content":"You help."},{"role":"user","content":"hi"}])");
  EXPECT_NE(prompt("a1", {.keep_billing_line = true}), prompt("b2", {.keep_billing_line = true}));
  EXPECT_EQ(messages_of(kHi, R"(,"system":")" + line + R"(c;\nYou help.")"), prompt("a1", {}));
  EXPECT_EQ(messages_of(kHi, R"(,"system":")" + line + R"(c;")"),
            R"([{"role":"user","content":"hi"}])");
}

TEST(MessagesRequests, a_final_assistant_turn_is_the_begin_of_the_answer) {
  const MessagesRequest prefill = accepted(
      body_with(R"([{"role":"user","content":"x"},{"role":"assistant","content":"It is "}])"));
  EXPECT_TRUE(prefill.chat.continue_final_message);
  EXPECT_FALSE(prefill.chat.add_generation_prompt);
  const MessagesRequest called =
      accepted(body_with(R"([{"role":"user","content":"x"},{"role":"assistant","content":[)"
                         R"({"type":"tool_use","id":"1","name":"f","input":{}}]}])"));
  EXPECT_FALSE(called.chat.continue_final_message);
  EXPECT_TRUE(called.chat.add_generation_prompt);
}

TEST(MessagesRequests, documents_and_search_results_are_text) {
  EXPECT_EQ(
      messages_of(
          R"([{"role":"user","content":[)"
          R"({"type":"document","title":"T","source":{"type":"text","media_type":"text/plain","data":"body"}},)"
          R"({"type":"document","source":{"type":"content","content":[{"type":"text","text":"c"}]}},)"
          R"({"type":"search_result","title":"S","source":"http://x","content":[{"type":"text","text":"r"}]},)"
          R"({"type":"tool_result","tool_use_id":"1","content":[{"type":"tool_reference","tool_name":"f"}]}]}])"),
      R"([{"role":"tool","tool_call_id":"1","content":"f"},{"role":"user","content":[)"
      R"({"type":"text","text":"T\nbody"},{"type":"text","text":"c"},)"
      R"({"type":"text","text":"S\nhttp://x\nr"}]}])");
}

TEST(MessagesRequests, what_only_the_hosted_service_has_is_left_out_and_named) {
  const MessagesRequest request = accepted(body_with(
      R"([{"role":"user","content":"x"},{"role":"assistant","content":[)"
      R"({"type":"server_tool_use","id":"1","name":"web_search","input":{}},)"
      R"({"type":"web_search_tool_result","tool_use_id":"1","content":[]},{"type":"text","text":"y"}]},)"
      R"({"role":"user","content":[{"type":"container_upload","file_id":"f"}]}])",
      R"(,"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":5},)"
      R"({"name":"f","input_schema":{"properties":{}},"cache_control":{"type":"ephemeral"}}])"));
  EXPECT_EQ(request.chat.ignored_fields,
            (std::vector<std::string>{"tools[0]", "messages[1].content[0]",
                                      "messages[1].content[1]", "messages[2].content[0]"}));
  ASSERT_EQ(request.chat.tool_use.tools.size(), 1U);
  EXPECT_EQ(request.chat.tool_use.tools[0].name, "f");
  EXPECT_EQ(to_text(request.chat.tool_use.tools[0].parameters),
            R"({"properties":{},"type":"object"})");
}

constexpr const char* kTools =
    R"(,"tools":[{"name":"f","description":"d","input_schema":{"type":"object"},"strict":true},)"
    R"({"type":"custom","name":"g","input_schema":{"type":"object"}}],"tool_choice":)";

TEST(MessagesRequests, each_tool_choice_is_understood) {
  const auto choice = [](const std::string& text) {
    return accepted(body_with(kHi, kTools + text)).chat.tool_use;
  };
  EXPECT_EQ(choice(R"({"type":"auto"})").choice.mode, ToolChoice::Mode::kAuto);
  EXPECT_EQ(choice(R"({"type":"any"})").choice.mode, ToolChoice::Mode::kRequired);
  EXPECT_EQ(choice(R"({"type":"none"})").choice.mode, ToolChoice::Mode::kNone);
  const ToolUse named = choice(R"({"type":"tool","name":"g"})");
  EXPECT_TRUE(named.choice.is_named);
  EXPECT_EQ(named.choice.names, std::vector<std::string>{"g"});
  EXPECT_TRUE(named.tools[0].strict);
  EXPECT_EQ(named.tools[0].description, "d");
  EXPECT_TRUE(named.parallel);
  EXPECT_FALSE(choice(R"({"type":"auto","disable_parallel_tool_use":true})").parallel);
}

TEST(MessagesRequests, each_mistake_in_tools_names_its_place) {
  const auto with = [](const std::string& members) { return refusal_of(body_with(kHi, members)); };
  EXPECT_EQ(with(R"(,"tools":[7])"), "400 invalid_type tools[0]");
  EXPECT_EQ(with(R"(,"tools":[{"input_schema":{}}])"),
            "400 missing_required_parameter tools[0].name");
  EXPECT_EQ(with(R"(,"tools":[{"name":"a b","input_schema":{}}])"),
            "400 invalid_value tools[0].name");
  EXPECT_EQ(with(R"(,"tools":[{"name":"f"}])"),
            "400 missing_required_parameter tools[0].input_schema");
  EXPECT_EQ(with(R"(,"tools":[{"name":"f","input_schema":{}},{"name":"f","input_schema":{}}])"),
            "400 invalid_value tools");
  EXPECT_EQ(with(R"(,"tool_choice":{"type":"any"})"), "400 invalid_value tool_choice");
  EXPECT_EQ(with(kTools + std::string("\"auto\"")), "400 invalid_type tool_choice");
  EXPECT_EQ(with(kTools + std::string("{}")), "400 missing_required_parameter tool_choice.type");
  EXPECT_EQ(with(kTools + std::string(R"({"type":"tool"})")),
            "400 missing_required_parameter tool_choice.name");
  EXPECT_EQ(with(kTools + std::string(R"({"type":"tool","name":"h"})")),
            "400 invalid_value tool_choice");
  EXPECT_EQ(with(R"(,"tools":[{"type":"bash_20250124","name":"bash"}],)"
                 R"("tool_choice":{"type":"tool","name":"bash"})"),
            "400 invalid_value tool_choice");
}

TEST(MessagesRequests, a_choice_of_tools_that_were_left_out_says_so) {
  const auto message = [](const std::string& members) {
    const auto read = read_body(body_with(kHi, members));
    const auto* error = std::get_if<ApiError>(&read);
    return error == nullptr ? "accepted" : error->param + ": " + error->message;
  };
  const std::string own = R"({"name":"f","input_schema":{}})";
  const std::string hosted = R"({"type":"web_search_20250305","name":"web_search"})";
  const std::string named = R"("tool_choice":{"type":"tool","name":"web_search"})";
  const std::string refusal =
      "tool_choice: 'tool_choice' names the tool 'web_search', which the hosted service runs and "
      "this server left out; name a tool with an 'input_schema', or send 'auto'";
  EXPECT_EQ(message(",\"tools\":[" + hosted + "]," + named), refusal);
  EXPECT_EQ(message(",\"tools\":[" + own + "," + hosted + "]," + named), refusal);
  EXPECT_EQ(message(",\"tools\":[" + hosted + R"(],"tool_choice":{"type":"any"})"),
            "tool_choice: 'tool_choice' wants a call, but the hosted service runs all the 'tools' "
            "and this server left them out; declare a tool with an 'input_schema', or send 'auto'");
  EXPECT_EQ(message(",\"tools\":[" + own + "," + hosted + R"(],"tool_choice":{"type":"any"})"),
            "accepted");
  EXPECT_EQ(
      message(R"(,"tools":[{"name":"web_search","input_schema":{}},)" + hosted + "]," + named),
      "accepted");
}

TEST(MessagesRequests, thinking_and_effort_are_variables_of_the_template) {
  const auto kwargs = [](const std::string& members) {
    return to_text(Json(accepted(body_with(kHi, members)).chat.template_kwargs));
  };
  EXPECT_EQ(kwargs(""), "{}");
  EXPECT_EQ(kwargs(R"(,"thinking":{"type":"enabled"})"),
            R"({"enable_thinking":true,"thinking":true})");
  EXPECT_EQ(kwargs(R"(,"thinking":{"type":"adaptive"})"),
            R"({"enable_thinking":true,"thinking":true})");
  EXPECT_EQ(kwargs(R"(,"thinking":{"type":"disabled"})"),
            R"({"enable_thinking":false,"thinking":false})");
  EXPECT_EQ(kwargs(R"(,"thinking":{"type":"between_tools"})"),
            R"({"enable_thinking":false,"thinking":false})");
  EXPECT_EQ(kwargs(R"(,"output_config":{"effort":"high","task_budget":{}})"),
            R"({"reasoning_effort":"high","enable_thinking":true,"thinking":true})");
  EXPECT_EQ(kwargs(R"(,"thinking":{"type":"disabled"},"output_config":{"effort":"low"})"),
            R"({"enable_thinking":false,"thinking":false,"reasoning_effort":"low"})");
  const MessagesRequest budget = accepted(
      body_with(kHi, R"(,"thinking":{"type":"enabled","budget_tokens":1024,"display":"omitted"})"));
  EXPECT_EQ(budget.chat.generation.thinking_budget, 1024);
  EXPECT_TRUE(budget.omits_thinking);
  EXPECT_FALSE(accepted(body_with(kHi, R"(,"thinking":{"type":"disabled","budget_tokens":9})"))
                   .chat.generation.thinking_budget.has_value());
}

TEST(MessagesRequests, a_schema_constrains_the_answer_in_both_of_its_places) {
  const char* const format = R"({"type":"json_schema","schema":{"type":"object","title":"T"}})";
  const auto constraint = [&](const std::string& members) {
    return accepted(body_with(kHi, members)).chat.generation.constraint;
  };
  const ConstraintSpec now =
      constraint(R"(,"output_config":{"format":)" + std::string(format) + "}");
  EXPECT_EQ(now.kind, ConstraintSpec::Kind::kJsonSchema);
  EXPECT_EQ(now.text, R"({"type":"object","title":"T"})");
  EXPECT_EQ(now.param, "output_config.format.schema");
  EXPECT_EQ(constraint(R"(,"output_format":)" + std::string(format)).text, now.text);
  EXPECT_TRUE(
      check_constraint_surrogates(
          R"({"output_config":{"format":{"type":"json_schema","schema":{"const":"\ud800"}}}})")
          .has_value());
}

TEST(MessagesRequests, a_thread_is_refused_in_the_words_that_make_clients_send_everything) {
  const auto read = read_body(body_with(kHi, R"(,"thread":{"type":"create"})"));
  ASSERT_TRUE(std::holds_alternative<ApiError>(read));
  const ApiError& error = std::get<ApiError>(read);
  EXPECT_EQ(error.http_status, 400);
  EXPECT_EQ(to_text(Json(error.extra)),
            R"({"details":{"error_code":"thread_unsupported_request"}})");
  accepted(body_with(kHi, R"(,"thread":null)"));
}

TEST(MessagesRequests, a_count_needs_no_max_tokens) {
  accepted(R"({"model":"m","messages":[{"role":"user","content":"x"}]})", {.is_count = true});
}

}  // namespace
}  // namespace plumb
