// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "e2e/served_scene.h"

namespace plumb {
namespace {

constexpr const char* kGenerate = "/generate";

// Six tokens, always the same.
std::string greedy(const std::string& prompt, const std::string& members = "") {
  return "{" + prompt +
         R"(,"sampling_params":{"temperature":0,"max_new_tokens":6,"ignore_eos":true})" + members +
         "}";
}

TEST(ServedGenerate, a_text_gives_what_completions_give) {
  ServedScene scene;
  const Json native = scene.post(kGenerate, greedy(R"("text":"abc","rid":"my-1")"));
  const Json completion = scene.post(
      "/v1/completions",
      R"({"prompt":"abc","temperature":0,"max_tokens":6,"ignore_eos":true,"return_token_ids":true})");
  EXPECT_EQ(text_at(native, {"text"}), text_at(completion, {"choices", 0, "text"}));
  EXPECT_EQ(array_at(native, {"output_ids"}), array_at(completion, {"choices", 0, "token_ids"}));
  EXPECT_EQ(text_at(native, {"meta_info", "id"}), "my-1");
  EXPECT_EQ(text_at(native, {"meta_info", "finish_reason"}), R"({"type":"length","length":6})");
  EXPECT_EQ(int_at(native, {"meta_info", "prompt_tokens"}),
            int_at(completion, {"usage", "prompt_tokens"}));
  EXPECT_EQ(int_at(native, {"meta_info", "completion_tokens"}), 6);
  EXPECT_EQ(text_at(native, {"meta_info", "weight_version"}), "default");
  const Json ids = at(completion, {"choices", 0, "prompt_token_ids"});
  const Json from_ids = scene.post(kGenerate, greedy("\"input_ids\":" + to_text(ids)));
  EXPECT_EQ(text_at(from_ids, {"text"}), text_at(native, {"text"}));
  EXPECT_TRUE(text_at(from_ids, {"meta_info", "id"}).starts_with("req_"));
}

TEST(ServedGenerate, put_is_the_same_as_post) {
  ServedScene scene;
  const HttpResponse put = scene.send("PUT", kGenerate, greedy(R"("text":"abc")"));
  EXPECT_EQ(put.status, 200) << put.body;
  EXPECT_EQ(text_at(parse_json(put.body).value(), {"text"}),
            text_at(scene.post(kGenerate, greedy(R"("text":"abc")")), {"text"}));
}

TEST(ServedGenerate, a_stream_is_cumulative_or_incremental) {
  ServedScene scene;
  const Json whole = scene.post(kGenerate, greedy(R"("text":"abc")"));
  for (const bool incremental : {false, true}) {
    const std::vector<std::string> events = scene.stream(
        kGenerate,
        greedy(R"("text":"abc")", std::string(R"(,"stream":true,"incremental_streaming_output":)") +
                                      (incremental ? "true" : "false")));
    ASSERT_GE(events.size(), 3U);
    EXPECT_EQ(events.back(), "[DONE]");
    std::string text;
    JsonArray ids;
    for (std::size_t i = 0; i + 1 < events.size(); ++i) {
      const Json event = parse_json(events[i]).value();
      const bool is_last = i + 2 == events.size();
      EXPECT_EQ(at(event, {"meta_info", "finish_reason"}).is_null(), !is_last);
      EXPECT_TRUE(at(event, {"index"}).is_null());
      const JsonArray some = array_at(event, {"output_ids"});
      if (incremental) {
        text += text_at(event, {"text"});
        ids.insert(ids.end(), some.begin(), some.end());
      } else {
        EXPECT_GE(some.size(), ids.size());
        text = text_at(event, {"text"});
        ids = some;
      }
      if (i == 0) {
        EXPECT_FALSE(some.empty());
      }
    }
    EXPECT_EQ(text, text_at(whole, {"text"}));
    EXPECT_EQ(ids, array_at(whole, {"output_ids"}));
  }
}

TEST(ServedGenerate, the_server_can_stream_what_is_new_by_itself) {
  ServerOptions options;
  options.incremental_streaming_output = true;
  ServedScene scene(options);
  const std::vector<std::string> events =
      scene.stream(kGenerate, greedy(R"("text":"abc")", R"(,"stream":true)"));
  ASSERT_GE(events.size(), 3U);
  EXPECT_EQ(array_at(parse_json(events[0]).value(), {"output_ids"}).size(), 1U);
  EXPECT_EQ(array_at(parse_json(events[1]).value(), {"output_ids"}).size(), 1U);
}

TEST(ServedGenerate, a_batch_is_answered_in_order_with_its_own_parameters) {
  ServedScene scene;
  const Json batch =
      scene.post(kGenerate, R"({"text":["abc","xyz"],"rid":["r0","r1"],"sampling_params":[)"
                            R"({"temperature":0,"max_new_tokens":6,"ignore_eos":true},)"
                            R"({"temperature":0,"max_new_tokens":2,"ignore_eos":true}]})");
  ASSERT_EQ(batch.as_array().size(), 2U);
  const Json alone = scene.post(kGenerate, greedy(R"("text":"abc")"));
  EXPECT_EQ(text_at(batch, {0, "text"}), text_at(alone, {"text"}));
  EXPECT_EQ(text_at(batch, {1, "meta_info", "id"}), "r1");
  EXPECT_EQ(array_at(batch, {1, "output_ids"}).size(), 2U);
  const Json samples = scene.post(
      kGenerate,
      R"({"text":["a","b"],"sampling_params":{"n":2,"max_new_tokens":3,"ignore_eos":true,)"
      R"("sampling_seed":5}})");
  ASSERT_EQ(samples.as_array().size(), 4U);
  EXPECT_TRUE(text_at(samples, {3, "meta_info", "id"}).ends_with("_3"));
  std::set<std::int64_t> indices;
  for (const std::string& event :
       scene.stream(kGenerate, greedy(R"("text":["a","b","c"])", R"(,"stream":true)"))) {
    if (event != "[DONE]") {
      indices.insert(int_at(parse_json(event).value(), {"index"}));
    }
  }
  EXPECT_EQ(indices, (std::set<std::int64_t>{0, 1, 2}));
}

TEST(ServedGenerate, log_probabilities_of_prompt_and_answer) {
  ServedScene scene;
  const Json answer = scene.post(
      kGenerate, greedy(R"("input_ids":[20,21,22,23])",
                        R"(,"return_logprob":true,"logprob_start_len":1,"top_logprobs_num":2)"));
  EXPECT_EQ(array_at(answer, {"meta_info", "input_token_logprobs"}).size(), 3U);
  EXPECT_EQ(int_at(answer, {"meta_info", "input_token_logprobs", 0, 1}), 21);
  const JsonArray outputs = array_at(answer, {"meta_info", "output_token_logprobs"});
  ASSERT_EQ(outputs.size(), 6U);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(at(outputs[i], {1}), array_at(answer, {"output_ids"})[i]);
    EXPECT_LE(at(outputs[i], {0}).as_double(), 0);
    EXPECT_TRUE(at(outputs[i], {2}).is_null());
  }
  EXPECT_EQ(array_at(answer, {"meta_info", "output_top_logprobs", 0}).size(), 2U);
  const Json whole = scene.post(
      kGenerate,
      greedy(R"("input_ids":[20,21])",
             R"(,"return_logprob":true,"logprob_start_len":0,"return_text_in_logprobs":true)"));
  EXPECT_TRUE(at(whole, {"meta_info", "input_token_logprobs", 0, 0}).is_null());
  EXPECT_TRUE(at(whole, {"meta_info", "input_token_logprobs", 0, 2}).is_string());
}

TEST(ServedGenerate, the_token_that_ends_an_answer_is_in_its_ids) {
  ServedScene scene;
  const Json open = scene.post(kGenerate, greedy(R"("text":"abc")"));
  const std::int64_t third = int_at(open, {"output_ids", 2});
  const Json stopped = scene.post(
      kGenerate, "{\"text\":\"abc\",\"sampling_params\":{\"temperature\":0,\"stop_token_ids\":[" +
                     std::to_string(third) + "],\"ignore_eos\":true}}");
  const JsonArray ids = array_at(stopped, {"output_ids"});
  EXPECT_EQ(static_cast<std::int64_t>(ids.size()),
            int_at(stopped, {"meta_info", "completion_tokens"}));
  EXPECT_EQ(ids.back(), Json(third));
  EXPECT_EQ(int_at(stopped, {"meta_info", "finish_reason", "matched"}), third);
}

TEST(ServedGenerate, tokens_that_a_stop_string_cuts_are_in_the_ids_of_every_form) {
  ServedScene scene;
  const Json open = scene.post(kGenerate, greedy(R"("text":"abc")"));
  const Json text =
      scene.post("/detokenize", "{\"tokens\":[" + text_at(open, {"output_ids", 0}) + "]}");
  const std::string common =
      R"("temperature":0,"ignore_eos":true,"stop":[)" + to_text(*text.find("text")) + "]";
  const Json native =
      scene.post(kGenerate, R"({"text":"abc","return_logprob":true,"sampling_params":{)" + common +
                                R"(,"max_new_tokens":6}})");
  EXPECT_EQ(text_at(native, {"text"}), "");
  EXPECT_EQ(int_at(native, {"meta_info", "completion_tokens"}), 1);
  EXPECT_EQ(array_at(native, {"output_ids"}), JsonArray{at(open, {"output_ids", 0})});
  EXPECT_EQ(array_at(native, {"meta_info", "output_token_logprobs"}).size(), 1U);
  const std::string prompt = R"({"prompt":"abc","max_tokens":6,"return_token_ids":true,)" + common;
  EXPECT_EQ(array_at(scene.post("/v1/completions", prompt + "}"), {"choices", 0, "token_ids"}),
            array_at(native, {"output_ids"}));
  const std::vector<std::string> events =
      scene.stream("/v1/completions", prompt + R"(,"stream":true})");
  ASSERT_GE(events.size(), 2U);
  EXPECT_EQ(array_at(parse_json(events[events.size() - 2]).value(), {"choices", 0, "token_ids"}),
            array_at(native, {"output_ids"}));
}

TEST(ServedGenerate, one_id_for_several_answers_numbers_them) {
  ServedScene scene;
  const HttpResponse response = scene.send(
      "POST", kGenerate, R"({"text":["a","b"],"rid":"x","sampling_params":{"max_new_tokens":1}})");
  EXPECT_EQ(response.headers.find("x-request-id").value_or("none"), "x");
  const Json answers = parse_json(response.body).value();
  EXPECT_EQ(text_at(answers, {0, "meta_info", "id"}), "x_0");
  EXPECT_EQ(text_at(answers, {1, "meta_info", "id"}), "x_1");
  const Json twice = scene.post(kGenerate, R"({"text":["a","b"],"rid":["x","x"]})", 400);
  EXPECT_EQ(text_at(twice, {"error", "param"}), "rid");
  EXPECT_EQ(text_at(twice, {"error", "message"}),
            "'rid' has 'x' twice, expected another one for each prompt");
}

TEST(ServedGenerate, lengths_are_clamped_and_nothing_is_an_answer_too) {
  ServedScene scene;
  const Json clamped = scene.post(
      kGenerate, R"({"text":"abc","sampling_params":{"temperature":0,"max_new_tokens":1000000}})");
  EXPECT_GT(int_at(clamped, {"meta_info", "completion_tokens"}), 0);
  const Json none =
      scene.post(kGenerate, R"({"text":"abc","sampling_params":{"max_new_tokens":0}})");
  EXPECT_EQ(text_at(none, {"text"}), "");
  EXPECT_EQ(text_at(none, {"output_ids"}), "[]");
  EXPECT_EQ(text_at(none, {"meta_info", "finish_reason"}), R"({"type":"length","length":0})");
}

TEST(ServedGenerate, a_constraint_holds_for_a_batch) {
  ServedScene scene;
  const Json batch = scene.post(
      kGenerate, R"({"text":["a","b"],"sampling_params":{"regex":"yes|no","max_new_tokens":20}})");
  for (const Json& answer : batch.as_array()) {
    const std::string text = text_at(answer, {"text"});
    EXPECT_TRUE(text == "yes" || text == "no") << text;
  }
}

TEST(ServedGenerate, bad_requests_are_refused_by_name) {
  ServedScene scene;

  struct Row {
    const char* body;
    int status;
    const char* code;
    const char* param;
  };

  const Row rows[] = {
      {"{", 400, "invalid_json", "null"},
      {"{}", 400, "missing_required_parameter", "text"},
      {R"({"text":"x","input_ids":[1]})", 400, "invalid_value", "input_ids"},
      {R"({"input_ids":[]})", 400, "invalid_value", "input_ids"},
      {R"({"input_ids":[99999]})", 400, "invalid_value", "input_ids"},
      {R"({"text":"x","sampling_params":{"top_k":0}})", 400, "invalid_value",
       "sampling_params.top_k"},
      {R"({"text":"x","sampling_params":{"regex":"("}})", 400, "invalid_schema",
       "sampling_params.regex"},
      {R"({"text":"x","lora_path":"l"})", 400, "unsupported_parameter", "lora_path"},
      {R"({"text":"x","model":"other"})", 404, "model_not_found", "model"},
  };
  for (const Row& row : rows) {
    const Json error = scene.post(kGenerate, row.body, row.status);
    EXPECT_EQ(text_at(error, {"error", "code"}), row.code) << row.body;
    EXPECT_EQ(text_at(error, {"error", "param"}), row.param) << row.body;
  }
  std::string ids = "1";
  for (int i = 0; i < 2100; ++i) {
    ids += ",1";
  }
  const Json error = scene.post(kGenerate, "{\"input_ids\":[" + ids + "]}", 400);
  EXPECT_EQ(text_at(error, {"error", "code"}), "context_length_exceeded");
  EXPECT_EQ(scene.send("GET", kGenerate).status, 405);
  ServerOptions strict;
  strict.strict_fields = true;
  const Json unknown = ServedScene(strict).post(kGenerate, R"({"text":"x","magic":1})", 400);
  EXPECT_EQ(text_at(unknown, {"error", "param"}), "magic");
  const Json priority = ServedScene(strict).post(kGenerate, R"({"text":"x","priority":1})", 400);
  EXPECT_EQ(text_at(priority, {"error", "param"}), "priority");
}

}  // namespace
}  // namespace plumb
