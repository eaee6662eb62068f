// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "api/chat_response.h"
#include "api/completion_response.h"
#include "api/error.h"
#include "api/ids.h"

namespace plumb {
namespace {

const ResponseEnvelope kEnvelope{"chatcmpl-x", 1700000000, "m", "plumb-1"};

TEST(ChatResponse, a_stream_begins_with_the_role_and_ends_with_reason_and_usage) {
  GenerationParams params;
  params.include_usage = true;
  ChatResponse response(kEnvelope, params);
  EXPECT_EQ(
      to_text(response.start(0)),
      R"({"id":"chatcmpl-x","object":"chat.completion.chunk","created":1700000000,"model":"m",)"
      R"("system_fingerprint":"plumb-1","choices":[{"index":0,"delta":{"role":"assistant","content":""},)"
      R"("logprobs":null,"finish_reason":null}],"usage":null})");
  const Json end = response.end({.index = 0, .reason = FinishReason::kStop, .matched_stop = "END"});
  EXPECT_EQ(
      to_text(*end.find("choices")),
      R"([{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop","stop_reason":"END"}])");
  const Json usage =
      response.usage({.prompt_tokens = 20, .completion_tokens = 9, .cached_tokens = 4});
  EXPECT_EQ(to_text(*usage.find("choices")), "[]");
  EXPECT_EQ(usage.find("usage")->find("total_tokens")->as_int(), 29);
  EXPECT_EQ(usage.find("usage")->find("prompt_tokens_details")->find("cached_tokens")->as_int(), 4);
}

TEST(ChatResponse, the_whole_object_counts_the_prompt_once) {
  GenerationParams params;
  params.n = 2;
  ChatResponse response(kEnvelope, params);
  const ChoiceEnd first{.index = 0, .reason = FinishReason::kEos, .usage = {5, 3, 0}};
  const ChoiceEnd second{.index = 1, .reason = FinishReason::kLength, .usage = {5, 4, 4}};
  const Json whole = response.complete({{{AnswerKind::kText, "a"}}, {{AnswerKind::kText, "b"}}},
                                       {{}, {}}, {first, second});
  EXPECT_EQ(to_text(*whole.find("usage")).substr(0, 61),
            R"({"prompt_tokens":5,"completion_tokens":7,"total_tokens":12,"p)");
  EXPECT_EQ(
      to_text(*whole.find("choices")),
      R"([{"index":0,"message":{"role":"assistant","content":"a","refusal":null},"logprobs":null,)"
      R"("finish_reason":"stop","stop_reason":null},)"
      R"({"index":1,"message":{"role":"assistant","content":"b","refusal":null},"logprobs":null,)"
      R"("finish_reason":"length","stop_reason":null}])");
}

TEST(ChatResponse, a_token_that_is_no_text_alone_shows_its_bytes) {
  GenerationParams params;
  params.sampling.logprobs = true;
  ChatResponse response(kEnvelope, params);
  const std::vector<Json> chunks =
      response.delta({0, "", {{.token = 1, .bytes = "\xe4\xbd", .logprob = -0.5F}}});
  ASSERT_EQ(chunks.size(), 1U);
  EXPECT_EQ(to_text(*chunks[0].find("choices")->as_array()[0].find("logprobs")->find("content")),
            R"([{"token":"\\xe4\\xbd","logprob":-0.5,"bytes":[228,189],"top_logprobs":[]}])");
}

std::string choices_of(const Json& chunk) {
  return to_text(*chunk.find("choices"));
}

std::string choice_with(const std::string& delta) {
  return R"([{"index":0,"delta":)" + delta + R"(,"logprobs":null,"finish_reason":null}])";
}

TEST(ChatResponse, a_streamed_call_says_id_type_and_name_once) {
  ChatResponse response(kEnvelope, GenerationParams());
  const std::vector<Json> first = response.delta(
      {.index = 0,
       .text = "",
       .tokens = {},
       .reasoning = "hm",
       .calls = {{.index = 0, .id = "call_A", .name = "f", .arguments = "{\"a\":"}}});
  ASSERT_EQ(first.size(), 3U);
  EXPECT_EQ(choices_of(first[0]), choice_with(R"({"reasoning_content":"hm"})"));
  EXPECT_EQ(choices_of(first[1]),
            choice_with(R"({"tool_calls":[{"index":0,"id":"call_A","type":"function",)"
                        R"("function":{"name":"f","arguments":""}}]})"));
  EXPECT_EQ(choices_of(first[2]),
            choice_with(R"({"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]})"));
  const std::vector<Json> rest =
      response.delta({.index = 0,
                      .text = "",
                      .tokens = {},
                      .calls = {{.index = 0, .arguments = "1}", .has_ended = true}}});
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(choices_of(rest[0]),
            choice_with(R"({"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]})"));
  EXPECT_EQ(choices_of(response.end({.index = 0, .reason = FinishReason::kToolCalls})),
            R"([{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls",)"
            R"("stop_reason":null}])");
}

TEST(ChatResponse, tokens_without_a_piece_are_told_only_where_they_were_asked_for) {
  const ChoiceDelta held{
      .index = 0, .text = "", .tokens = {{.token = 3, .kind = AnswerKind::kCall}}};
  EXPECT_TRUE(ChatResponse(kEnvelope, GenerationParams()).delta(held).empty());
  GenerationParams params;
  params.sampling.logprobs = true;
  EXPECT_TRUE(ChatResponse(kEnvelope, params).delta(held).empty());
  params.return_token_ids = true;
  const std::vector<Json> chunks = ChatResponse(kEnvelope, params).delta(held);
  ASSERT_EQ(chunks.size(), 1U);
  EXPECT_EQ(choices_of(chunks[0]), choice_with(R"({"content":"","token_ids":[3]})"));
  ChoiceEnd end{.index = 0, .reason = FinishReason::kStop};
  end.cut_tokens = {{.token = 4}};
  const auto delta_of = [&end](const GenerationParams& asked) {
    const Json chunk = ChatResponse(kEnvelope, asked).end(end);
    return to_text(*chunk.find("choices")->as_array()[0].find("delta"));
  };
  EXPECT_EQ(delta_of(params), R"({"token_ids":[4]})");
  EXPECT_EQ(delta_of(GenerationParams()), "{}");
}

TEST(ChatResponse, an_answer_of_calls_alone_has_no_content) {
  ChatResponse response(kEnvelope, GenerationParams());
  const auto message = [&](const std::vector<AnswerPart>& parts) {
    const Json whole = response.complete(
        {parts}, {{}}, {{.index = 0, .reason = FinishReason::kToolCalls, .usage = {}}});
    return to_text(*whole.find("choices")->as_array()[0].find("message"));
  };
  const AnswerPart call{AnswerKind::kCall, R"({"a":1})", "call_A", "f", true};
  EXPECT_EQ(message({call}),
            R"({"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"call_A",)"
            R"("type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]})");
  EXPECT_EQ(
      message({{AnswerKind::kReasoning, "r"}, {AnswerKind::kText, "t"}, call}).substr(0, 84),
      R"({"role":"assistant","content":"t","refusal":null,"reasoning_content":"r","tool_calls)");
  EXPECT_EQ(message({{AnswerKind::kReasoning, "r"}}),
            R"({"role":"assistant","content":null,"refusal":null,"reasoning_content":"r"})");
  EXPECT_EQ(message({}), R"({"role":"assistant","content":"","refusal":null})");
}

TEST(ChatResponse, the_reasoning_goes_by_the_name_that_the_operator_wants) {
  const auto told = [](ReasoningField field) {
    ChatResponse response(kEnvelope, GenerationParams(), false, {.reasoning_field = field});
    const std::vector<Json> chunks =
        response.delta({.index = 0, .text = "", .tokens = {}, .reasoning = "hm"});
    const Json whole = response.complete({{{AnswerKind::kReasoning, "hm"}}}, {{}},
                                         {{.index = 0, .reason = FinishReason::kEos, .usage = {}}});
    const Json& message = *whole.find("choices")->as_array()[0].find("message");
    return to_text(*chunks[0].find("choices")->as_array()[0].find("delta")) + " " +
           to_text(message);
  };
  const std::string begin = R"( {"role":"assistant","content":null,"refusal":null,)";
  EXPECT_EQ(told(ReasoningField::kReasoningContent),
            R"({"reasoning_content":"hm"})" + begin + R"("reasoning_content":"hm"})");
  EXPECT_EQ(told(ReasoningField::kReasoning),
            R"({"reasoning":"hm"})" + begin + R"("reasoning":"hm"})");
  EXPECT_EQ(told(ReasoningField::kBoth), R"({"reasoning_content":"hm","reasoning":"hm"})" + begin +
                                             R"("reasoning_content":"hm","reasoning":"hm"})");
}

TEST(ChatResponse, tokens_of_the_reasoning_are_listed_where_they_are_asked_for) {
  GenerationParams params;
  params.sampling.logprobs = true;
  const std::vector<TokenText> tokens{
      {.token = 1, .bytes = "a", .logprob = -1.0F, .kind = AnswerKind::kReasoning},
      {.token = 2, .bytes = "b", .logprob = -2.0F, .kind = AnswerKind::kText},
      {.token = 3, .bytes = "c", .logprob = -3.0F, .kind = AnswerKind::kCall}};
  const auto names = [](const Json& choice) {
    const Json* content = choice.find("logprobs")->find("content");
    std::string out;
    for (const Json& entry : content == nullptr ? JsonArray() : content->as_array()) {
      out += entry.find("token")->as_string();
    }
    return out;
  };
  for (const bool is_asked : {false, true}) {
    params.logprobs_of_reasoning = is_asked;
    ChatResponse response(kEnvelope, params);
    const std::vector<Json> chunks =
        response.delta({.index = 0, .text = "b", .tokens = tokens, .reasoning = "a"});
    ASSERT_EQ(chunks.size(), 2U);
    EXPECT_EQ(names(chunks[0].find("choices")->as_array()[0]), is_asked ? "a" : "");
    EXPECT_EQ(names(chunks[1].find("choices")->as_array()[0]), "b");
    const Json whole =
        response.complete({{{AnswerKind::kReasoning, "a"}, {AnswerKind::kText, "b"}}}, {tokens},
                          {{.index = 0, .reason = FinishReason::kEos, .usage = {}}});
    EXPECT_EQ(names(whole.find("choices")->as_array()[0]), is_asked ? "ab" : "b");
    // The mark that ends the reasoning is a token of it without a text.
    EXPECT_EQ(response.delta({.index = 0, .text = "", .tokens = {tokens[0]}}).size(),
              is_asked ? 1U : 0U);
  }
}

TEST(ChatResponse, a_call_that_was_named_stops_where_the_operator_wants_that) {
  const ChoiceEnd end{.index = 0, .reason = FinishReason::kToolCalls, .usage = {}};
  const auto reason = [&](bool is_function_form, bool stops) {
    ChatResponse response(kEnvelope, GenerationParams(), is_function_form,
                          {.named_call_stops = stops});
    return response.end(end).find("choices")->as_array()[0].find("finish_reason")->as_string();
  };
  EXPECT_EQ(reason(false, false), "tool_calls");
  EXPECT_EQ(reason(false, true), "stop");
  EXPECT_EQ(reason(true, false), "function_call");
  EXPECT_EQ(reason(true, true), "stop");
}

TEST(ChatResponse, calls_of_custom_tools_are_told_as_their_text) {
  ChatResponse response(kEnvelope, {}, false, {}, {"sh"});
  const AnswerPart custom{AnswerKind::kCall, R"({"input": "a\n\u00e9"})", "call_A", "sh", true};
  const AnswerPart function{AnswerKind::kCall, "{}", "call_B", "f", true};
  const ChoiceEnd end{.index = 0, .reason = FinishReason::kToolCalls, .usage = {}};
  const Json whole = response.complete({{custom, function}}, {{}}, {end});
  EXPECT_EQ(to_text(*whole.find("choices")->as_array()[0].find("message")->find("tool_calls")),
            R"([{"id":"call_A","type":"custom","custom":{"name":"sh","input":"a\né"}},)"
            R"({"id":"call_B","type":"function","function":{"name":"f","arguments":"{}"}}])");
  std::vector<std::string> told;
  const auto tell = [&](const ToolCallDelta& call) {
    ChoiceDelta delta;
    delta.calls = {call};
    for (const Json& chunk : response.delta(delta)) {
      told.push_back(to_text(*chunk.find("choices")
                                  ->as_array()[0]
                                  .find("delta")
                                  ->find("tool_calls")
                                  ->as_array()
                                  .data()));
    }
  };
  tell({.index = 0, .id = "call_A", .name = "sh", .arguments = R"({"inp)"});
  tell({.index = 0, .arguments = R"(ut": "a\)"});
  tell({.index = 0, .arguments = R"(nb"})", .has_ended = true});
  tell({.index = 1, .id = "call_B", .name = "f", .arguments = "{}", .has_ended = true});
  EXPECT_EQ(
      told,
      (std::vector<std::string>{
          R"({"index":0,"id":"call_A","type":"custom","custom":{"name":"sh","input":""}})",
          R"({"index":0,"custom":{"input":"a"}})", R"({"index":0,"custom":{"input":"\nb"}})",
          R"({"index":1,"id":"call_B","type":"function","function":{"name":"f","arguments":""}})",
          R"({"index":1,"function":{"arguments":"{}"}})"}));
}

TEST(ChatResponse, the_older_form_has_one_function_call) {
  ChatResponse response(kEnvelope, GenerationParams(), /*is_function_form=*/true);
  const AnswerPart call{AnswerKind::kCall, "{}", "call_A", "f", true};
  const ChoiceEnd end{.index = 0, .reason = FinishReason::kToolCalls, .usage = {}};
  const Json whole = response.complete({{call}}, {{}}, {end});
  const Json& choice = whole.find("choices")->as_array()[0];
  EXPECT_EQ(to_text(*choice.find("message")),
            R"({"role":"assistant","content":null,"refusal":null,)"
            R"("function_call":{"name":"f","arguments":"{}"}})");
  EXPECT_EQ(*choice.find("finish_reason"), Json("function_call"));
  const std::vector<Json> chunks =
      response.delta({.index = 0,
                      .text = "",
                      .tokens = {},
                      .calls = {{.index = 0, .id = "call_A", .name = "f", .arguments = "{}"}}});
  ASSERT_EQ(chunks.size(), 2U);
  EXPECT_EQ(choices_of(chunks[0]), choice_with(R"({"function_call":{"name":"f","arguments":""}})"));
  EXPECT_EQ(choices_of(chunks[1]), choice_with(R"({"function_call":{"arguments":"{}"}})"));
}

TEST(ChatResponse, a_malformed_call_is_told_as_meta_information) {
  GenerationParams params;
  params.return_meta_info = true;
  ChatResponse response(kEnvelope, params);
  const Json end =
      response.end({.index = 0, .reason = FinishReason::kEos, .malformed_call = "{\"x"});
  EXPECT_EQ(choices_of(end),
            R"([{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop","stop_reason":null,)"
            R"("plumb":{"malformed_call":"{\"x"}}])");
}

TEST(CompletionResponse, an_echoed_prompt_has_no_first_logprob_and_offsets_start_at_zero) {
  GenerationParams params;
  params.sampling.logprobs = true;
  params.sampling.top_logprobs = 1;
  CompletionResponse response(kEnvelope, params, 1);
  const ChoiceEnd end{.index = 0, .reason = FinishReason::kLength, .usage = {1, 0, 0}};
  const Json whole = response.complete({.texts = {"A"},
                                        .tokens = {{{.token = 32, .bytes = "A"}}},
                                        .prompts = {},
                                        .outputs = {},
                                        .ends = {end}},
                                       true, 1);
  EXPECT_EQ(
      to_text(*whole.find("choices")),
      R"([{"index":0,"text":"A","logprobs":{"tokens":["A"],"token_logprobs":[null],"top_logprobs":[null],)"
      R"("text_offset":[0]},"finish_reason":"length","stop_reason":null}])");
}

TEST(ApiError, the_body_has_all_four_keys_and_context_errors_the_fragments_clients_match) {
  EXPECT_EQ(
      to_text(to_json(ApiError::missing("messages"))),
      R"({"error":{"message":"missing required parameter: 'messages'","type":"invalid_request_error",)"
      R"("param":"messages","code":"missing_required_parameter"}})");
  const ApiError error = ApiError::context_length("messages", 8000, 500, 8192);
  EXPECT_NE(error.message.find("maximum context length is 8192 tokens"), std::string::npos);
  EXPECT_NE(error.message.find("requested 8500 tokens"), std::string::npos);
  EXPECT_EQ(to_json(error).find("error")->find("n_ctx")->as_int(), 8192);
  EXPECT_EQ(ApiError::context_length("input", 1002, 0, 256).message,
            "this model's maximum context length is 256 tokens, however you requested 1002 tokens "
            "in the input; shorten the input");
  EXPECT_EQ(ApiError::context_length("prompt", 8, 0, 8).message,
            "this model's maximum context length is 8 tokens, however you requested 8 tokens in "
            "the prompt, which leaves none for the completion; shorten the prompt");
}

TEST(ApiError, internals_stay_inside) {
  const ApiError error = ApiError::from_status({Code::kInternal, "/secret/path"});
  EXPECT_EQ(error.http_status, 500);
  EXPECT_EQ(error.message, "internal error");
  EXPECT_EQ(ApiError::from_status({Code::kDeadlineExceeded, "queue"}).http_status, 504);
  EXPECT_EQ(ApiError::from_status({Code::kInvalidArgument, "'top_k' is 3"}).param, "top_k");
  EXPECT_EQ(ApiError::from_status({Code::kInvalidArgument, "it's 'top_k'"}).param, "");
  EXPECT_EQ(ApiError::from_status({Code::kInvalidArgument, "'top_k"}).param, "");
}

TEST(Ids, have_their_forms_and_differ) {
  EXPECT_EQ(new_chat_id().size(), 9U + 29U);
  EXPECT_NE(new_chat_id(), new_chat_id());
  EXPECT_EQ(new_message_id().size(), 4U + 24U);
  EXPECT_EQ(new_request_id().substr(0, 4), "req_");
  EXPECT_TRUE(is_request_id("a.b_c:d-9"));
  EXPECT_FALSE(is_request_id(""));
  EXPECT_FALSE(is_request_id("a b"));
  EXPECT_FALSE(is_request_id(std::string(129, 'a')));
}

}  // namespace
}  // namespace plumb
