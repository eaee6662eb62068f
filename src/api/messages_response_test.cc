// SPDX-License-Identifier: Apache-2.0
#include "api/messages_response.h"

#include <gtest/gtest.h>

#include "base/digest.h"

namespace plumb {
namespace {

constexpr const char* kKey = "key";

MessagesResponse response_with(MessagesResponse::Options options = {}) {
  options.signature_key = kKey;
  options.prompt = {.prompt_tokens = 1000};
  return {{"msg_1", 0, "m", ""}, std::move(options)};
}

ChoiceEnd ended(FinishReason reason, std::int64_t num_tokens = 57) {
  ChoiceEnd end;
  end.reason = reason;
  end.usage = {.prompt_tokens = 1000,
               .completion_tokens = num_tokens,
               .cached_tokens = 960,
               .reasoning_tokens = 3};
  return end;
}

std::string signed_text(const std::string& text) {
  return to_base64(hmac_sha256(kKey, text));
}

std::vector<std::string> texts_of(const std::vector<Json>& events) {
  std::vector<std::string> out;
  for (const Json& event : events) {
    out.push_back(to_text(event));
  }
  return out;
}

constexpr const char* kUsage =
    R"({"input_tokens":40,"cache_read_input_tokens":960,"cache_creation_input_tokens":0,)"
    R"("output_tokens":57,"output_tokens_details":{"thinking_tokens":3}})";

TEST(MessagesResponses, a_stream_tells_the_blocks_one_after_the_other) {
  MessagesResponse response = response_with();
  response.begin({.prompt_tokens = 1000, .cached_tokens = 960});
  ChoiceDelta delta;
  delta.reasoning = "Hm";
  EXPECT_EQ(
      texts_of(response.delta(delta)),
      (std::vector<std::string>{
          R"({"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant",)"
          R"("model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":40,)"
          R"("cache_read_input_tokens":960,"cache_creation_input_tokens":0,"output_tokens":1}}})",
          R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}})",
          R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}})"}));
  delta = {};
  delta.reasoning = "m";
  delta.text = "Yes";
  EXPECT_EQ(
      texts_of(response.delta(delta)),
      (std::vector<std::string>{
          R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m"}})",
          R"({"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":")" +
              signed_text("Hmm") + R"("}})",
          R"({"type":"content_block_stop","index":0})",
          R"({"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}})",
          R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Yes"}})"}));
  delta = {};
  delta.calls = {{0, "toolu_1", "f", ""}, {0, "", "", R"({"a":1)"}};
  EXPECT_EQ(
      texts_of(response.delta(delta)),
      (std::vector<std::string>{
          R"({"type":"content_block_stop","index":1})",
          R"({"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}})",
          R"({"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1"}})"}));
  delta = {};
  delta.calls = {{0, "", "", "}", true}};
  EXPECT_EQ(
      texts_of(response.delta(delta)),
      (std::vector<std::string>{
          R"({"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"}"}})"}));
  EXPECT_EQ(
      texts_of(response.end(ended(FinishReason::kToolCalls))),
      (std::vector<std::string>{
          R"({"type":"content_block_stop","index":2})",
          R"({"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":)" +
              std::string(kUsage) + "}"}));
  EXPECT_EQ(to_text(response.stop()), R"({"type":"message_stop"})");
}

TEST(MessagesResponses, text_behind_a_call_is_a_block_of_its_own) {
  MessagesResponse response = response_with();
  ChoiceDelta call;
  call.calls = {{0, "toolu_1", "f", "{}", true}};
  response.delta(call);
  ChoiceDelta text;
  text.text = "so";
  const std::vector<std::string> events = texts_of(response.delta(text));
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0], R"({"type":"content_block_stop","index":0})");
  EXPECT_EQ(
      events[1],
      R"({"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}})");
}

TEST(MessagesResponses, a_call_without_arguments_has_one_delta) {
  const std::string whole =
      R"({"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}})";
  const std::vector<std::vector<ToolCallDelta>> cuts = {
      {{0, "toolu_1", "f", "{}", true}},
      {{0, "toolu_1", "f", ""}, {0, "", "", "{"}, {0, "", "", "}"}, {0, "", "", "", true}},
      {{0, "toolu_1", "f", "{"}, {0, "", "", "}", true}},
      {{0, "toolu_1", "f", "", true}},
  };
  for (const std::vector<ToolCallDelta>& cut : cuts) {
    MessagesResponse response = response_with();
    std::vector<std::string> deltas;
    for (const ToolCallDelta& call : cut) {
      ChoiceDelta delta;
      delta.calls = {call};
      for (const std::string& event : texts_of(response.delta(delta))) {
        if (event.find("content_block_delta") != std::string::npos) {
          deltas.push_back(event);
        }
      }
    }
    EXPECT_EQ(deltas, std::vector<std::string>{whole});
  }
}

TEST(MessagesResponses, an_empty_answer_has_no_blocks) {
  MessagesResponse response = response_with();
  const std::vector<std::string> events = texts_of(response.end(ended(FinishReason::kEos, 0)));
  ASSERT_EQ(events.size(), 2U);
  EXPECT_NE(events[0].find("message_start"), std::string::npos);
  EXPECT_NE(events[1].find(R"("stop_reason":"end_turn")"), std::string::npos);
  EXPECT_EQ(to_text(*response.complete({}, ended(FinishReason::kEos)).find("content")), "[]");
}

TEST(MessagesResponses, the_whole_message_has_the_parts_in_their_order) {
  const MessagesResponse response = response_with();
  const Json message =
      response.complete({{AnswerKind::kReasoning, "Hm"},
                         {AnswerKind::kText, "Yes"},
                         {AnswerKind::kCall, R"({"z":1,"a":2})", "toolu_1", "f", true},
                         {AnswerKind::kReasoning, "And"}},
                        ended(FinishReason::kToolCalls));
  EXPECT_EQ(to_text(message),
            R"({"id":"msg_1","type":"message","role":"assistant","model":"m","content":[)"
            R"({"type":"thinking","thinking":"Hm","signature":")" +
                signed_text("Hm") +
                R"("},{"type":"text","text":"Yes"},)"
                R"({"type":"tool_use","id":"toolu_1","name":"f","input":{"z":1,"a":2}},)"
                R"({"type":"thinking","thinking":"And","signature":")" +
                signed_text("And") +
                R"("}],"stop_reason":"tool_use","stop_sequence":null,"usage":)" + kUsage + "}");
}

TEST(MessagesResponses, arguments_that_were_cut_are_not_taken_for_others) {
  const Json message = response_with().complete({{AnswerKind::kCall, R"({"a":)", "toolu_1", "f"}},
                                                ended(FinishReason::kLength));
  EXPECT_EQ(to_text(*message.find("content")->as_array()[0].find("input")),
            R"({"_raw":"{\"a\":"})");
  EXPECT_EQ(message.find("stop_reason")->as_string(), "max_tokens");
}

TEST(MessagesResponses, each_end_has_its_reason) {
  const auto reason = [](const ChoiceEnd& end, bool is_clamped = false) {
    return to_text(
        *response_with({.is_clamped = is_clamped}).complete({}, end).find("stop_reason"));
  };
  EXPECT_EQ(reason(ended(FinishReason::kEos)), R"("end_turn")");
  EXPECT_EQ(reason(ended(FinishReason::kComplete)), R"("end_turn")");
  EXPECT_EQ(reason(ended(FinishReason::kStop)), R"("end_turn")");  // by the id of a token
  EXPECT_EQ(reason(ended(FinishReason::kLength)), R"("max_tokens")");
  EXPECT_EQ(reason(ended(FinishReason::kLength), true), R"("model_context_window_exceeded")");
  EXPECT_EQ(reason(ended(FinishReason::kToolCalls)), R"("tool_use")");
  ChoiceEnd stopped = ended(FinishReason::kStop);
  stopped.matched_stop = "END";
  EXPECT_EQ(reason(stopped), R"("stop_sequence")");
  EXPECT_EQ(to_text(*response_with().complete({}, stopped).find("stop_sequence")), R"("END")");
}

TEST(MessagesResponses, omitted_thinking_keeps_its_place_and_signature) {
  MessagesResponse response = response_with({.omits_thinking = true});
  ChoiceDelta delta;
  delta.reasoning = "Hm";
  EXPECT_EQ(response.delta(delta).size(), 2U);  // message_start, content_block_start
  const std::vector<std::string> events = texts_of(response.end(ended(FinishReason::kEos)));
  EXPECT_NE(events[0].find(signed_text("Hm")), std::string::npos);
  const Json message =
      response.complete({{AnswerKind::kReasoning, "Hm"}}, ended(FinishReason::kEos));
  EXPECT_EQ(to_text(*message.find("content")),
            R"([{"type":"thinking","thinking":"","signature":")" + signed_text("Hm") + R"("}])");
}

}  // namespace
}  // namespace plumb
