// SPDX-License-Identifier: Apache-2.0
#include "api/responses_request.h"

#include <gtest/gtest.h>
#include <span>
#include <string>

#include "api/responses_list.h"

namespace plumb {
namespace {

Json parsed(const std::string& text) {
  const Result<Json> json = parse_json(text);
  EXPECT_TRUE(json.ok()) << text << ": " << json.status().message();
  return json.ok() ? json.value() : Json();
}

std::variant<ResponsesRequest, ApiError> read_request(const std::string& body,
                                                      HostedRules hosted = {}) {
  return read_responses_request(parsed(body), {}, {}, hosted);
}

ResponsesRequest read_ok(const std::string& body) {
  auto out = read_request(body);
  if (const auto* error = std::get_if<ApiError>(&out)) {
    ADD_FAILURE() << body << ": " << error->message;
    return {};
  }
  return std::get<ResponsesRequest>(std::move(out));
}

std::variant<ResponsesConversation, ApiError> converse(const std::string& body,
                                                       const std::string& inherited = "[]",
                                                       HostedRules hosted = {},
                                                       const Unseal& unseal = {}) {
  auto request = read_request(body, hosted);
  if (const auto* error = std::get_if<ApiError>(&request)) {
    return *error;
  }
  auto& ok = std::get<ResponsesRequest>(request);
  JsonArray items = parsed(inherited).as_array();
  const std::size_t num_inherited = items.size();
  items.insert(items.end(), ok.input.items.begin(), ok.input.items.end());
  return make_responses_conversation(ok, &items, num_inherited, hosted, unseal);
}

ResponsesConversation converse_ok(const std::string& body, const std::string& inherited = "[]",
                                  const Unseal& unseal = {}) {
  auto out = converse(body, inherited, {}, unseal);
  if (const auto* error = std::get_if<ApiError>(&out)) {
    ADD_FAILURE() << body << ": " << error->message;
    return {};
  }
  return std::get<ResponsesConversation>(std::move(out));
}

std::string conversation_of(const std::string& body, const std::string& inherited = "[]") {
  return to_text(converse_ok(body, inherited).chat.messages);
}

struct Refusal {
  const char* body;
  const char* code;
  const char* param;
};

void expect_refusals(std::span<const Refusal> refusals) {
  for (const Refusal& refusal : refusals) {
    const auto out = converse(refusal.body);
    const auto* error = std::get_if<ApiError>(&out);
    ASSERT_NE(error, nullptr) << refusal.body;
    EXPECT_EQ(error->http_status, 400) << refusal.body;
    EXPECT_EQ(error->code, refusal.code) << refusal.body << " " << error->message;
    EXPECT_EQ(error->param, refusal.param) << refusal.body << " " << error->message;
    EXPECT_EQ(error->message.find("response_format"), std::string::npos) << error->message;
  }
}

TEST(ResponsesRequest, refuses_by_field) {
  const Refusal refusals[] = {
      {R"([])", "invalid_type", "body"},
      {R"({})", "missing_required_parameter", "input"},
      {R"({"input":7})", "invalid_type", "input"},
      {R"({"input":["x"]})", "invalid_type", "input[0]"},
      {R"({"input":[{"content":"x"}]})", "missing_required_parameter", "input[0].type"},
      {R"({"input":[{"role":"robot","content":"x"}]})", "invalid_value", "input[0].role"},
      {R"({"input":[{"role":"user"}]})", "missing_required_parameter", "input[0].content"},
      {R"({"input":[{"role":"user","content":7}]})", "invalid_type", "input[0].content"},
      {R"({"input":[{"role":"user","content":[{"type":"input_image"}]}]})", "unsupported_parameter",
       "input[0].content[0].type"},
      {R"({"input":[{"role":"user","content":[{"type":"input_text"}]}]})",
       "missing_required_parameter", "input[0].content[0].text"},
      {R"({"input":[{"type":"no_such_item"}]})", "invalid_value", "input[0].type"},
      {R"({"input":[{"type":"function_call","call_id":"c","arguments":"{}"}]})",
       "missing_required_parameter", "input[0].name"},
      {R"({"input":[{"type":"function_call_output","output":"x"}]})", "missing_required_parameter",
       "input[0].call_id"},
      {R"({"input":[{"type":"function_call_output","name":"f","output":"x"}]})", "invalid_value",
       "input[0].call_id"},
      {R"({"input":"x","max_output_tokens":0})", "invalid_value", "max_output_tokens"},
      {R"({"input":"x","temperature":3})", "invalid_value", "temperature"},
      {R"({"input":"x","top_logprobs":21})", "invalid_value", "top_logprobs"},
      {R"({"input":"x","include":["everything"]})", "invalid_value", "include[0]"},
      {R"({"input":"x","truncation":"middle"})", "invalid_value", "truncation"},
      {R"({"input":"x","background":true,"store":false})", "unsupported_parameter", "background"},
      {R"({"input":"x","prompt":{"id":"p"}})", "unsupported_parameter", "prompt"},
      {R"({"input":"x","conversation":"c"})", "unsupported_parameter", "conversation"},
      {R"({"input":"x","context_management":[{}]})", "unsupported_parameter", "context_management"},
      {R"({"input":"x","stream_options":{}})", "invalid_value", "stream_options"},
      {R"({"input":"x","reasoning":{"effort":"huge"}})", "invalid_value", "reasoning.effort"},
      {R"({"input":"x","text":{"verbosity":"loud"}})", "invalid_value", "text.verbosity"},
      {R"({"input":"x","metadata":{"a":1}})", "invalid_type", "metadata"},
      {R"({"input":"x","text":{"format":{"type":"json_schema","name":"n"}}})",
       "missing_required_parameter", "text.format.schema"},
      {R"({"input":"x","text":{"format":{"type":"json_object"}},"regex":"a"})", "invalid_value",
       "text.format"},
  };
  expect_refusals(refusals);
}

TEST(ResponsesRequest, refuses_tools_by_field) {
  const Refusal refusals[] = {
      {R"({"input":"x","tools":[{"type":"function"}]})", "missing_required_parameter",
       "tools[0].name"},
      {R"({"input":"x","tools":[{"type":"magic"}]})", "invalid_value", "tools[0].type"},
      {R"({"input":"x","tools":[{"type":"namespace","name":"n"}]})", "missing_required_parameter",
       "tools[0].tools"},
      {R"({"input":"x","tools":[{"type":"custom","name":"c","format":{"type":"grammar"}}]})",
       "missing_required_parameter", "tools[0].format.syntax"},
      {R"({"input":"x","tools":[{"type":"function","name":"f"},{"type":"function","name":"f"}]})",
       "invalid_value", "tools"},
      {R"({"input":"x","tool_choice":"required"})", "invalid_value", "tool_choice"},
      {R"({"input":"x","tool_choice":"sometimes"})", "invalid_value", "tool_choice"},
      {R"({"input":"x","tool_choice":{"type":"web_search"}})", "unsupported_parameter",
       "tool_choice.type"},
      {R"({"input":"x","tools":[{"type":"function","name":"f"}],)"
       R"("tool_choice":{"type":"function","name":"g"}})",
       "invalid_value", "tool_choice"},
      {R"({"input":"x","tool_choice":{"type":"allowed_tools","mode":"required",)"
       R"("tools":[{"type":"web_search"}]}})",
       "unsupported_parameter", "tool_choice.tools"},
  };
  expect_refusals(refusals);
}

TEST(ResponsesRequest, tools_of_all_namespaces_together_are_limited) {
  const auto with_tools = [](int num_tools) {
    std::string list;
    for (int i = 0; i < num_tools; ++i) {
      const std::string n = std::to_string(i);
      list += (i == 0 ? "" : ",") + std::string(R"({"type":"namespace","name":"n)") + n +
              R"(","tools":[{"type":"function","name":"f"}]})";
    }
    return list;
  };
  const auto with_more = [&](const std::string& more) {
    return converse(R"({"input":"x","tools":[{"type":"namespace","name":"m","tools":[)"
                    R"({"type":"function","name":"f"},{"type":"function","name":"g"}]},)" +
                    with_tools(510) + more + "]}");
  };
  EXPECT_EQ(std::get<ResponsesConversation>(with_more("")).chat.tool_use.tools.size(), 512U);
  const ApiError error = std::get<ApiError>(with_more(R"(,{"type":"function","name":"last"})"));
  EXPECT_EQ(error.param, "tools");
  EXPECT_EQ(error.message, "'tools' gives more than 512 tools");
  const auto long_list = converse(R"({"input":"x","tools":[)" + with_tools(513) + "]}");
  EXPECT_EQ(std::get<ApiError>(long_list).message, "'tools' gives more than 512 tools");
}

TEST(ResponsesRequest, an_unknown_item_names_all_that_are_known) {
  const auto read = read_request(R"({"input":[{"type":"no_such_item"}]})");
  const std::string message = std::get<ApiError>(read).message;
  for (const char* type : {"message", "item_reference", "additional_tools", "tool_search_call",
                           "tool_search_output", "configuration_update"}) {
    EXPECT_NE(message.find("'" + std::string(type) + "'"), std::string::npos) << message;
  }
}

TEST(ResponsesRequest, a_text_is_one_message_and_instructions_come_first) {
  EXPECT_EQ(conversation_of(R"({"input":"Hello","instructions":"Be brief"})"),
            R"([{"role":"system","content":"Be brief"},{"role":"user","content":"Hello"}])");
  EXPECT_EQ(conversation_of(R"({"input":""})"), "[]");
}

TEST(ResponsesRequest, items_become_turns) {
  const std::string body = R"({"input":[
    {"role":"user","content":[{"type":"input_text","text":"weather?"}]},
    {"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},
    {"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"},
    {"type":"function_call","call_id":"c2","name":"g","namespace":"n","arguments":"{}"},
    {"type":"function_call_output","call_id":"c1","output":"sunny"},
    {"type":"function_call_output","name":"g","namespace":"n","output":[{"type":"input_text","text":"ok"}]},
    {"role":"developer","content":"go on"}]})";
  EXPECT_EQ(conversation_of(body),
            R"([{"role":"user","content":"weather?"},)"
            R"({"role":"assistant","content":"I look.","reasoning_content":"hm","tool_calls":[)"
            R"({"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},)"
            R"({"id":"c2","type":"function","function":{"name":"n__g","arguments":"{}"}}]},)"
            R"({"role":"tool","tool_call_id":"c1","content":"sunny"},)"
            R"({"role":"tool","tool_call_id":"c2","content":"ok"},)"
            R"({"role":"developer","content":"go on"}])");
}

TEST(ResponsesRequest, custom_calls_are_functions_with_one_text) {
  EXPECT_EQ(
      conversation_of(
          R"({"input":[{"type":"custom_tool_call","call_id":"c","name":"sh","input":"ls \"x\""},
           {"type":"custom_tool_call_output","call_id":"c","output":"done"}]})"),
      R"([{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",)"
      R"("function":{"name":"sh","arguments":"{\"input\":\"ls \\\"x\\\"\"}"}}]},)"
      R"({"role":"tool","tool_call_id":"c","content":"done"}])");
}

TEST(ResponsesRequest, reasoning_comes_from_content_then_sealed_then_summary) {
  const auto reasoning = [](const std::string& members) {
    return converse_ok(R"({"input":[{"type":"reasoning",)" + members +
                           R"(},{"role":"assistant","content":"x"}]})",
                       "[]",
                       [](std::string_view sealed) {
                         return sealed == "good" ? std::optional<std::string>("opened")
                                                 : std::nullopt;
                       })
        .chat.messages.front()
        .find("reasoning_content")
        ->as_string();
  };
  const std::string summary = R"("summary":[{"type":"summary_text","text":"short"}])";
  EXPECT_EQ(reasoning(summary), "short");
  EXPECT_EQ(reasoning(summary + R"(,"encrypted_content":"good")"), "opened");
  EXPECT_EQ(reasoning(summary + R"(,"encrypted_content":"bad")"), "short");
  EXPECT_EQ(reasoning(summary + R"(,"encrypted_content":"good",)"
                                R"("content":[{"type":"reasoning_text","text":"long"}])"),
            "long");
}

TEST(ResponsesRequest, stored_items_have_ids_and_parts) {
  const ResponsesRequest request = read_ok(
      R"({"input":[{"role":"user","content":"a"},{"type":"function_call_output","call_id":"c",)"
      R"("output":"b"},{"id":"msg_x"},{"role":"assistant","content":"c","phase":"commentary"}]})");
  ASSERT_EQ(request.input.items.size(), 4U);
  const Json& message = request.input.items[0];
  EXPECT_EQ(message.find("id")->as_string().size(), 52U);
  EXPECT_TRUE(message.find("id")->as_string().starts_with("msg_"));
  EXPECT_EQ(to_text(*message.find("content")), R"([{"type":"input_text","text":"a"}])");
  EXPECT_EQ(message.find("status")->as_string(), "completed");
  EXPECT_EQ(request.input.items[1].find("status")->as_string(), "completed");
  EXPECT_EQ(to_text(request.input.items[2]), R"({"type":"item_reference","id":"msg_x"})");
  EXPECT_EQ(request.input.items[3].find("phase")->as_string(), "commentary");
  EXPECT_EQ(to_text(*request.input.items[3].find("content")),
            R"([{"type":"output_text","text":"c","annotations":[]}])");
}

TEST(ResponsesRequest, the_id_of_an_item_is_not_endless) {
  const auto param = [](const std::string& item) {
    const auto read = read_request(R"({"input":[)" + item + "]}");
    const auto* error = std::get_if<ApiError>(&read);
    return error != nullptr ? error->param : "accepted";
  };
  for (const std::size_t size : {512U, 513U}) {
    const std::string id = std::string(size, 'i') + "\"";
    const char* expected = size == 512 ? "accepted" : "input[0].id";
    EXPECT_EQ(param(R"({"role":"user","content":"x","id":")" + id + "}"), expected);
    EXPECT_EQ(param(R"({"type":"item_reference","id":")" + id + "}"), expected);
  }
}

TEST(ResponsesRequest, hosted_tools_and_items_are_named_or_refused) {
  const std::string body =
      R"({"input":[{"type":"web_search_call","id":"ws"},{"type":"compaction"},)"
      R"({"type":"mcp_list_tools"},{"role":"user","content":"x"}],)"
      R"("tools":[{"type":"web_search"},{"type":"function","name":"f"},{"type":"mcp"}]})";
  const ResponsesConversation conversation = converse_ok(body);
  EXPECT_EQ(conversation.left_out_tools, (std::vector<std::string>{"web_search", "mcp"}));
  EXPECT_EQ(conversation.chat.tool_use.tools.size(), 1U);
  EXPECT_EQ(read_ok(body).input.left_out,
            (std::vector<std::string>{"web_search_call", "compaction", "mcp_list_tools"}));
  const auto tools = converse(body, "[]", {.refuses_tools = true});
  EXPECT_EQ(std::get<ApiError>(tools).param, "tools");
  const auto items = converse(body, "[]", {.refuses_items = true});
  EXPECT_EQ(std::get<ApiError>(items).param, "input");
}

TEST(ResponsesRequest, tools_of_namespaces_get_names_of_their_own) {
  const ResponsesConversation conversation = converse_ok(
      R"({"input":"x","tools":[{"type":"function","name":"f"},{"type":"namespace","name":"n",)"
      R"("description":"d","tools":[{"type":"function","name":"f"},{"type":"custom","name":"c"}]},)"
      R"({"type":"namespace","name":"mcp__a__","tools":[{"type":"function","name":"f"}]}],)"
      R"("tool_choice":{"type":"allowed_tools","mode":"required","tools":[)"
      R"({"type":"function","name":"f","namespace":"n"},{"type":"custom","name":"c"}]}})");
  std::vector<std::string> names;
  for (const Tool& tool : conversation.chat.tool_use.tools) {
    names.push_back(tool.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"f", "n__f", "n__c", "mcp__a__f"}));
  EXPECT_EQ(conversation.chat.tool_use.choice.names, (std::vector<std::string>{"n__f", "n__c"}));
  EXPECT_EQ(conversation.chat.tool_use.choice.mode, ToolChoice::Mode::kRequired);
  EXPECT_EQ(conversation.tools.identity_of("n__c"), (ToolIdentity{"c", "n", true}));
  EXPECT_EQ(conversation.tools.identity_of("f"), (ToolIdentity{"f", "", false}));
}

TEST(ResponsesRequest, tool_choice_in_all_forms) {
  const auto choice = [](const std::string& form) {
    return converse_ok(R"({"input":"x","tools":[{"type":"function","name":"f"},)"
                       R"({"type":"custom","name":"c"}],"tool_choice":)" +
                       form + "}")
        .chat.tool_use.choice;
  };
  EXPECT_EQ(choice(R"("none")").mode, ToolChoice::Mode::kNone);
  EXPECT_EQ(choice(R"("auto")").mode, ToolChoice::Mode::kAuto);
  EXPECT_EQ(choice(R"("required")").mode, ToolChoice::Mode::kRequired);
  const ToolChoice function = choice(R"({"type":"function","name":"f"})");
  EXPECT_TRUE(function.is_named);
  EXPECT_EQ(function.names, std::vector<std::string>{"f"});
  EXPECT_EQ(choice(R"({"type":"custom","name":"c"})").names, std::vector<std::string>{"c"});
  const ToolChoice hosted =
      choice(R"({"type":"allowed_tools","mode":"auto","tools":[{"type":"web_search"}]})");
  EXPECT_EQ(hosted.mode, ToolChoice::Mode::kNone);
}

TEST(ResponsesRequest, a_custom_tool_with_a_grammar_is_held_to_it) {
  const ResponsesConversation conversation = converse_ok(
      R"({"input":"x","tools":[{"type":"custom","name":"c","format":{"type":"grammar",)"
      R"("syntax":"regex","definition":"a|b"}},{"type":"custom","name":"l","description":"d",)"
      R"("format":{"type":"grammar","syntax":"lark","definition":"start: X"}}]})");
  const std::vector<Tool>& tools = conversation.chat.tool_use.tools;
  EXPECT_EQ(to_text(tools[0].parameters),
            R"({"type":"object","properties":{"input":{"type":"string","pattern":"^(?:a|b)$"}},)"
            R"("required":["input"],"additionalProperties":false})");
  EXPECT_TRUE(tools[0].strict && tools[1].strict);
  EXPECT_EQ(tools[1].input->syntax, InputFormat::Syntax::kLark);
  EXPECT_EQ(tools[1].input->definition, "start: X");
  EXPECT_EQ(tools[1].input->param, "tools[1].format.definition");
  EXPECT_EQ(tools[1].description, "d\n\nThe input follows this Lark grammar:\nstart: X");
}

TEST(ResponsesRequest, items_add_tools_and_update_the_configuration) {
  const ResponsesConversation conversation = converse_ok(
      R"({"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"function",)"
      R"("name":"g"},{"type":"function","name":"f"}]},{"type":"tool_search_call","call_id":"t",)"
      R"("arguments":{"q":1}},{"type":"tool_search_output","call_id":"t","tools":[{"type":)"
      R"("function","name":"h"}]},{"type":"configuration_update","reasoning":{"effort":"low"},)"
      R"("text":{"format":{"type":"json_object"}}},{"role":"user","content":"x"}],)"
      R"("reasoning":{"effort":"high"},"tools":[{"type":"function","name":"f"}]})");
  std::vector<std::string> names;
  for (const Tool& tool : conversation.chat.tool_use.tools) {
    names.push_back(tool.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"f", "g", "h"}));
  EXPECT_EQ(conversation.chat.template_kwargs.find("reasoning_effort")->as_string(), "low");
  EXPECT_EQ(conversation.chat.generation.constraint.kind, ConstraintSpec::Kind::kJsonObject);
  ASSERT_EQ(conversation.chat.messages.size(), 3U);
  EXPECT_EQ(conversation.chat.messages[1].find("role")->as_string(), "tool");
}

TEST(ResponsesRequest, text_format_is_the_constraint) {
  const ResponsesConversation conversation =
      converse_ok(R"({"input":"x","text":{"format":{"type":"json_schema","name":"n","strict":true,)"
                  R"("schema":{"type":"object","properties":{},"additionalProperties":false}}}})");
  const ConstraintSpec& spec = conversation.chat.generation.constraint;
  EXPECT_EQ(spec.kind, ConstraintSpec::Kind::kJsonSchema);
  EXPECT_EQ(spec.param, "text.format.schema");
  EXPECT_EQ(spec.text, R"({"type":"object","properties":{},"additionalProperties":false})");
  EXPECT_TRUE(spec.strict);
  EXPECT_TRUE(converse_ok(R"({"input":"x","text":{"format":{"type":"text"}}})")
                  .chat.generation.constraint.is_none());
}

TEST(ResponsesRequest, inherited_items_come_before_the_own_ones) {
  EXPECT_EQ(conversation_of(R"({"input":"two","instructions":"new"})",
                            R"([{"id":"msg_1","type":"message","role":"user","content":[)"
                            R"({"type":"input_text","text":"one"}]}])"),
            R"([{"role":"system","content":"new"},{"role":"user","content":"one"},)"
            R"({"role":"user","content":"two"}])");
}

TEST(ResponsesRequest, fields_without_effect_are_named) {
  const ResponsesRequest request =
      read_ok(R"({"input":"x","n":2,"logprobs":true,"no_such":1,"user":"u","client_metadata":{},)"
              R"("image":{},"seed":5,"text":{"mood":"x"},"prompt_cache_key":"k"})");
  EXPECT_EQ(request.ignored_fields,
            (std::vector<std::string>{"n", "logprobs", "text.mood", "no_such"}));
  EXPECT_EQ(request.generation.n, 1);
  EXPECT_FALSE(request.generation.sampling.logprobs);
  EXPECT_EQ(request.generation.sampling.seed, 5U);
  EXPECT_EQ(request.echo.find("user")->as_string(), "u");
  EXPECT_EQ(request.echo.find("prompt_cache_key")->as_string(), "k");
}

TEST(ResponsesRequest, log_probabilities_come_with_the_include_only) {
  EXPECT_FALSE(read_ok(R"({"input":"x","top_logprobs":3})").generation.sampling.logprobs);
  const ResponsesRequest request =
      read_ok(R"({"input":"x","top_logprobs":3,"include":["message.output_text.logprobs"]})");
  EXPECT_TRUE(request.generation.sampling.logprobs);
  EXPECT_EQ(request.generation.sampling.top_logprobs, 3);
}

TEST(ResponsesRequest, the_oldest_leave_first_and_calls_with_their_outputs) {
  const ResponsesRequest request = read_ok(R"({"input":[
    {"role":"system","content":"s"},{"role":"user","content":"1"},
    {"type":"reasoning","summary":[]},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},
    {"type":"function_call","call_id":"b","name":"f","arguments":"{}"},
    {"type":"function_call_output","call_id":"a","output":"x"},
    {"type":"function_call_output","call_id":"b","output":"x"},
    {"role":"assistant","content":"2"},{"role":"user","content":"3"},
    {"role":"assistant","content":"4"}]})");
  EXPECT_EQ(order_of_leaving(request.input.items),
            (std::vector<std::int64_t>{-1, 0, 1, 1, 2, 1, 2, 3, -1, 4}));
}

TEST(ResponsesRequest, instructions_move_to_the_front_as_one) {
  JsonArray messages = parsed(R"([{"role":"system","content":"a"},{"role":"user","content":"u"},
    {"role":"developer","content":"b"}])")
                           .as_array();
  EXPECT_TRUE(move_instructions_to_front(&messages));
  EXPECT_EQ(to_text(messages),
            R"([{"role":"system","content":"a\n\nb"},{"role":"user","content":"u"}])");
  EXPECT_FALSE(move_instructions_to_front(&messages));
}

TEST(ResponsesList, pages_go_back_from_the_last_item) {
  JsonArray items;
  for (const char* id : {"a", "b", "c", "d", "e"}) {
    items.emplace_back(JsonObject{{"id", id}});
  }
  const auto list = [&](const char* limit, const char* order, const char* after) {
    return to_text(
        std::get<Json>(list_items(items, std::get<ItemPage>(read_item_page(limit, order, after)))));
  };
  EXPECT_EQ(
      list("2", "", ""),
      R"({"object":"list","data":[{"id":"e"},{"id":"d"}],"first_id":"e","last_id":"d","has_more":true})");
  EXPECT_EQ(
      list("3", "desc", "d"),
      R"({"object":"list","data":[{"id":"c"},{"id":"b"},{"id":"a"}],"first_id":"c","last_id":"a","has_more":false})");
  EXPECT_EQ(
      list("", "asc", "d"),
      R"({"object":"list","data":[{"id":"e"}],"first_id":"e","last_id":"e","has_more":false})");
  EXPECT_EQ(list("", "asc", "e"),
            R"({"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false})");
}

TEST(ResponsesList, refuses_what_is_no_page) {
  for (const char* limit : {"0", "101", "x"}) {
    EXPECT_EQ(std::get<ApiError>(read_item_page(limit, "", "")).param, "limit");
  }
  EXPECT_EQ(std::get<ApiError>(read_item_page("", "up", "")).param, "order");
  EXPECT_EQ(std::get<ApiError>(list_items({}, {.after = "x"})).param, "after");
}

}  // namespace
}  // namespace plumb
