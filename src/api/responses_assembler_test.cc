// SPDX-License-Identifier: Apache-2.0
#include "api/responses_assembler.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "api/custom_tool.h"

namespace plumb {
namespace {

ResponsesTools some_tools() {
  const Json tools = parse_json(R"([{"type":"function","name":"f"},{"type":"custom","name":"sh"},
        {"type":"namespace","name":"n","tools":[{"type":"function","name":"g"}]}])")
                         .value();
  const JsonObject none;
  FieldReader fields(none);
  ResponsesTools out;
  out.read(fields, tools.as_array(), "tools");
  EXPECT_TRUE(fields.ok());
  return out;
}

// Feeds an assembler and gathers its events.
class Scene {
 public:
  explicit Scene(ResponsesStyle style = {}, const JsonObject& echo = {{"background", false}})
      : assembler_({"resp_1", 1'700'000'000, "m", "fp"}, echo, some_tools(), std::move(style)) {
    take(assembler_.begin());
  }

  void say(const ChoiceDelta& delta) { take(assembler_.delta(delta)); }

  void text(const std::string& text) { say({0, text, {}}); }

  void reason(const std::string& text) { say({0, "", {}, text}); }

  void call(std::int64_t index, const std::string& name, const std::string& arguments,
            bool has_ended, bool is_cut = false) {
    const std::string id = name.empty() ? "" : "call_" + std::to_string(index);
    say({0, "", {}, "", {{index, id, name, arguments, has_ended, is_cut}}});
  }

  void end(FinishReason reason = FinishReason::kStop) {
    ChoiceEnd end;
    end.reason = reason;
    end.usage.prompt_tokens = 20;
    end.usage.cached_tokens = 4;
    end.usage.completion_tokens = 9;
    end.usage.reasoning_tokens = 3;
    take(assembler_.end(end));
    take(assembler_.finish(1'700'000'007));
  }

  void take(std::vector<Json> events) {
    for (Json& event : events) {
      events_.push_back(std::move(event));
    }
  }

  std::vector<std::string> types() const {
    std::vector<std::string> out;
    for (const Json& event : events_) {
      out.push_back(event.find("type")->as_string().substr(9));
    }
    return out;
  }

  const Json& event(std::size_t index) const { return events_[index]; }

  ResponsesAssembler& assembler() { return assembler_; }

  // What holds for every stream.
  void check() const {
    std::vector<std::string> added;
    std::vector<std::string> texts(16);
    const Json response = assembler_.response();
    const JsonArray& output = response.find("output")->as_array();
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const Json& event = events_[i];
      EXPECT_EQ(event.find("sequence_number")->as_int(), static_cast<std::int64_t>(i));
      const std::string& type = event.find("type")->as_string();
      const Json* index = event.find("output_index");
      if (type == "response.output_item.added") {
        EXPECT_EQ(index->as_int(), std::ssize(added));
        added.push_back(event.find("item")->find("id")->as_string());
      } else if (index != nullptr) {
        const auto place = static_cast<std::size_t>(index->as_int());
        ASSERT_LT(place, added.size()) << type;
        if (const Json* id = event.find("item_id")) {
          EXPECT_EQ(id->as_string(), added[place]);
        }
        if (const Json* delta = event.find("delta");
            delta != nullptr && type.find("summary") == std::string::npos) {
          texts[place] += delta->as_string();
        }
        for (const char* whole : {"text", "arguments", "input"}) {
          if (event.find(whole) != nullptr) {
            EXPECT_EQ(event.find(whole)->as_string(), texts[place]) << type;
          }
        }
        if (type == "response.output_item.done") {
          EXPECT_EQ(event.find("item")->find("id")->as_string(), added[place]);
          EXPECT_EQ(to_text(*event.find("item")), to_text(output[place]));
        }
      }
    }
    EXPECT_EQ(to_text(*events_.back().find("response")), to_text(response));
    EXPECT_EQ(output.size(), added.size());
  }

 private:
  ResponsesAssembler assembler_;
  std::vector<Json> events_;
};

TEST(ResponsesAssembler, reasoning_text_and_a_call_in_the_order_of_the_protocol) {
  Scene scene;
  scene.reason("hm");
  scene.reason("m");
  scene.text("\n\n");
  scene.text("Hello");
  scene.call(0, "f", "", false);
  scene.call(0, "", R"({"a")", false);
  scene.call(0, "", ":1}", true);
  scene.end(FinishReason::kToolCalls);
  EXPECT_EQ(scene.types(), (std::vector<std::string>{"created",
                                                     "in_progress",
                                                     "output_item.added",
                                                     "content_part.added",
                                                     "reasoning_text.delta",
                                                     "reasoning_text.delta",
                                                     "reasoning_text.done",
                                                     "content_part.done",
                                                     "output_item.done",
                                                     "output_item.added",
                                                     "content_part.added",
                                                     "output_text.delta",
                                                     "output_text.done",
                                                     "content_part.done",
                                                     "output_item.done",
                                                     "output_item.added",
                                                     "function_call_arguments.delta",
                                                     "function_call_arguments.delta",
                                                     "function_call_arguments.done",
                                                     "output_item.done",
                                                     "completed"}));
  scene.check();
  const Json& added = *scene.event(9).find("item");
  EXPECT_EQ(to_text(*added.find("content")), "[]");
  EXPECT_EQ(to_text(*scene.event(11).find("logprobs")), "[]");
  const Json response = scene.assembler().response();
  const JsonArray& output = response.find("output")->as_array();
  EXPECT_EQ(to_text(*output[1].find("content")),
            R"([{"type":"output_text","text":"\n\nHello","annotations":[],"logprobs":[]}])");
  EXPECT_EQ(output[2].find("arguments")->as_string(), R"({"a":1})");
  EXPECT_EQ(output[2].find("call_id")->as_string(), "call_0");
  EXPECT_EQ(output[2].find("namespace"), nullptr);
  EXPECT_EQ(response.find("completed_at")->as_int(), 1'700'000'007);
  EXPECT_EQ(
      to_text(*response.find("usage")),
      R"({"input_tokens":20,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":0},)"
      R"("output_tokens":9,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":29})");
}

TEST(ResponsesAssembler, blanks_before_a_call_are_no_message) {
  Scene scene;
  scene.reason("hm");
  scene.text("\n\n");
  scene.call(0, "f", "{}", true);
  scene.text("\n");
  scene.end(FinishReason::kToolCalls);
  scene.check();
  EXPECT_EQ(scene.assembler().output().size(), 2U);
}

TEST(ResponsesAssembler, blanks_alone_are_an_answer) {
  Scene scene;
  scene.reason("hm");
  scene.text("\n ");
  scene.end();
  scene.check();
  const Json response = scene.assembler().response();
  EXPECT_EQ(item_text(response.find("output")->as_array().at(1), "content"), "\n ");
  Scene silent;
  silent.end();
  EXPECT_TRUE(silent.assembler().output().empty());
}

TEST(ResponsesAssembler, custom_tools_give_their_raw_input_and_namespaces_their_names) {
  Scene scene;
  scene.call(0, "sh", R"({"input":"ls)", false);
  scene.call(0, "", R"(\n-a"})", true);
  scene.call(1, "n__g", "{}", true);
  scene.end(FinishReason::kToolCalls);
  scene.check();
  const Json response = scene.assembler().response();
  const JsonArray& output = response.find("output")->as_array();
  EXPECT_EQ(item_type(output[0]), "custom_tool_call");
  EXPECT_TRUE(output[0].find("id")->as_string().starts_with("ctc_"));
  EXPECT_EQ(output[0].find("input")->as_string(), "ls\n-a");
  EXPECT_EQ(output[1].find("name")->as_string(), "g");
  EXPECT_EQ(output[1].find("namespace")->as_string(), "n");
  const std::vector<std::string> types = scene.types();
  EXPECT_EQ(types[3], "custom_tool_call_input.delta");
  EXPECT_EQ(types[5], "custom_tool_call_input.done");
}

TEST(ResponsesAssembler, an_input_that_is_not_what_its_tool_asks_for_fails_the_response) {
  Scene scene;
  scene.call(0, "sh", R"({"input":"rm x"})", true);
  scene.take(scene.assembler().fail(invalid_custom_input(
      "sh", {InputFormat::Syntax::kRegex, "ls", "tools[1].format.definition"}, "not so")));
  const Json response = scene.assembler().response();
  EXPECT_EQ(response.find("status")->as_string(), "failed");
  EXPECT_EQ(
      to_text(*response.find("error")),
      R"({"code":"custom_tool_input_invalid","message":"the model's input for the custom tool )"
      R"('sh' does not match its regex format: not so"})");
  const Json& item = response.find("output")->as_array()[0];
  EXPECT_EQ(item.find("status")->as_string(), "incomplete");
  EXPECT_EQ(item.find("input")->as_string(), "rm x");
  EXPECT_EQ(scene.types().back(), "failed");
}

TEST(ResponsesAssembler, a_summary_repeats_the_reasoning_and_a_seal_hides_it) {
  ResponsesStyle style;
  style.shows_summary = true;
  style.seal = [](std::string_view text) { return "sealed " + std::string(text); };
  Scene scene(style);
  scene.reason("thoughts");
  scene.text("x");
  scene.end();
  scene.check();
  const Json response = scene.assembler().response();
  const Json& item = response.find("output")->as_array().front();
  EXPECT_EQ(to_text(*item.find("summary")), R"([{"type":"summary_text","text":"thoughts"}])");
  EXPECT_EQ(item.find("encrypted_content")->as_string(), "sealed thoughts");
  const std::vector<std::string> types = scene.types();
  EXPECT_EQ(
      (std::vector<std::string>(types.begin() + 7, types.begin() + 11)),
      (std::vector<std::string>{"reasoning_summary_part.added", "reasoning_summary_text.delta",
                                "reasoning_summary_text.done", "reasoning_summary_part.done"}));
}

TEST(ResponsesAssembler, log_probabilities_have_bytes_in_the_final_part_only) {
  ResponsesStyle style;
  style.shows_logprobs = true;
  Scene scene(style);
  TokenText token{7, "A", -0.5F, {{7, "A", -0.5F}}};
  scene.say({0, "A", {token}});
  scene.end();
  scene.check();
  EXPECT_EQ(to_text(*scene.event(4).find("logprobs")),
            R"([{"token":"A","logprob":-0.5,"top_logprobs":[{"token":"A","logprob":-0.5}]}])");
  const Json response = scene.assembler().response();
  EXPECT_EQ(
      to_text(
          *response.find("output")->as_array()[0].find("content")->as_array()[0].find("logprobs")),
      R"([{"token":"A","logprob":-0.5,"bytes":[65],"top_logprobs":[{"token":"A","logprob":-0.5,"bytes":[65]}]}])");
}

TEST(ResponsesAssembler, what_the_limit_cuts_is_incomplete) {
  Scene scene;
  scene.text("x");
  scene.call(0, "f", R"({"a)", false);
  scene.end(FinishReason::kLength);
  scene.check();
  const Json response = scene.assembler().response();
  EXPECT_EQ(response.find("status")->as_string(), "incomplete");
  EXPECT_EQ(to_text(*response.find("incomplete_details")), R"({"reason":"max_output_tokens"})");
  EXPECT_TRUE(response.find("completed_at")->is_null());
  const JsonArray& output = response.find("output")->as_array();
  EXPECT_EQ(output[0].find("status")->as_string(), "completed");
  EXPECT_EQ(output[1].find("status")->as_string(), "incomplete");
  EXPECT_EQ(scene.types().back(), "incomplete");
}

// The parser closes the arguments of what the limit cuts; whole ones stay whole.
TEST(ResponsesAssembler, a_call_that_the_limit_cuts_is_incomplete_though_it_has_ended) {
  for (const bool is_cut : {true, false}) {
    Scene scene;
    scene.call(0, "f", R"({"a":"b"})", true, is_cut);
    scene.end(FinishReason::kLength);
    scene.check();
    const Json response = scene.assembler().response();
    EXPECT_EQ(response.find("output")->as_array()[0].find("status")->as_string(),
              is_cut ? "incomplete" : "completed");
  }
}

TEST(ResponsesAssembler, failure_closes_what_is_open) {
  Scene scene;
  scene.text("x");
  scene.take(scene.assembler().fail(ApiError::for_http(500, "it broke")));
  scene.check();
  EXPECT_EQ(scene.types().back(), "failed");
  EXPECT_EQ(to_text(*scene.assembler().response().find("error")),
            R"({"code":"server_error","message":"it broke"})");
  Scene busy;
  busy.take(busy.assembler().fail(ApiError::overloaded("full", 1)));
  EXPECT_EQ(busy.assembler().response().find("error")->find("code")->as_string(),
            "rate_limit_exceeded");
}

TEST(ResponsesAssembler, failure_takes_the_number_of_an_end_that_nobody_was_told) {
  Scene scene;
  scene.text("x");
  scene.take(scene.assembler().end({.reason = FinishReason::kStop}));
  const std::vector<Json> unsent = scene.assembler().finish(1);
  scene.take(scene.assembler().fail(ApiError::for_http(500, "not kept")));
  scene.check();
  EXPECT_TRUE(scene.assembler().response().find("completed_at")->is_null());
}

TEST(ResponsesAssembler, in_the_background_it_is_queued_first) {
  Scene scene({}, {{"background", true}});
  EXPECT_EQ(scene.types(), (std::vector<std::string>{"created", "queued", "in_progress"}));
  EXPECT_EQ(scene.event(0).find("response")->find("status")->as_string(), "queued");
  EXPECT_EQ(scene.event(2).find("response")->find("status")->as_string(), "in_progress");
  scene.text("x");
  scene.take(scene.assembler().cancel());
  scene.check();
  EXPECT_EQ(scene.assembler().response().find("status")->as_string(), "cancelled");
}

TEST(ResponsesAssembler, the_response_has_its_members_in_order) {
  Scene scene({}, {{"background", false}, {"metadata", JsonObject{{"k", "v"}}}, {"store", true}});
  std::string keys;
  const Json response = scene.assembler().response();
  for (const JsonMember& member : response.as_object()) {
    keys += member.key + " ";
  }
  EXPECT_EQ(
      keys,
      "id object created_at completed_at status background error incomplete_details "
      "instructions max_output_tokens max_tool_calls model output parallel_tool_calls "
      "previous_response_id prompt_cache_key reasoning safety_identifier service_tier store "
      "temperature text tool_choice tools top_logprobs top_p truncation usage user metadata ");
  EXPECT_EQ(to_text(*response.find("metadata")), R"({"k":"v"})");
}

}  // namespace
}  // namespace plumb
