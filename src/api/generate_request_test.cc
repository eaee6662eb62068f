// SPDX-License-Identifier: Apache-2.0
#include "api/generate_request.h"

#include <gtest/gtest.h>

#include "support/read_result.h"

namespace plumb {
namespace {

std::variant<GenerateRequest, ApiError> read_native(const std::string& body) {
  return read_generate_request(parse_json(body).value(), ApiLimits());
}

GenerateRequest good(const std::string& body) {
  return accepted_request(read_native(body), body);
}

std::string bad(const std::string& body) {
  return verdict_of(read_native(body));
}

std::string bad_sampling(const std::string& members) {
  return bad(R"({"text":"x","sampling_params":{)" + members + "}}");
}

TEST(GenerateRequest, has_its_own_defaults) {
  const GenerateRequest request = good(R"({"text":"x"})");
  ASSERT_EQ(request.items.size(), 1U);
  const GenerationParams& params = request.items[0].completion.generation;
  EXPECT_EQ(params.sampling.max_tokens, 128);
  EXPECT_EQ(params.sampling.temperature, 1.0);
  EXPECT_TRUE(params.clamps_max_tokens);
  EXPECT_FALSE(params.stream || request.is_batch || params.sampling.logprobs);
  EXPECT_EQ(std::get<std::string>(request.items[0].completion.prompts.at(0)), "x");
}

TEST(GenerateRequest, sampling_params_are_read_under_their_names) {
  const GenerateRequest request = good(
      R"({"input_ids":[5,6],"stream":true,"rid":"r1","priority":3,"routing_key":"k","cache_salt":"s",)"
      R"("extra_key":"e","sampling_params":{"max_new_tokens":9,"min_new_tokens":2,"temperature":3,)"
      R"("top_p":0.5,"top_k":-1,"min_p":0.1,"frequency_penalty":1,"presence_penalty":-1,)"
      R"("repetition_penalty":1.5,"stop":["a"],"stop_token_ids":[7],"stop_regex":"b+","ignore_eos":true,)"
      R"("skip_special_tokens":false,"no_stop_trim":true,"sampling_seed":4,"regex":"c+",)"
      R"("logit_bias":{"3":1},"stream_interval":2}})");
  const GenerateItem& item = request.items.at(0);
  const GenerationParams& params = item.completion.generation;
  EXPECT_EQ(request.rid, "r1");
  EXPECT_EQ(item.rid, "");
  EXPECT_EQ(std::get<std::vector<TokenId>>(item.completion.prompts.at(0)),
            (std::vector<TokenId>{5, 6}));
  EXPECT_FALSE(request.is_batch);
  EXPECT_TRUE(params.stream && params.include_stop_str && params.sampling.ignore_eos);
  EXPECT_FALSE(params.skip_special_tokens);
  EXPECT_EQ(params.sampling.max_tokens, 9);
  EXPECT_EQ(params.sampling.min_tokens, 2);
  EXPECT_EQ(params.sampling.temperature, 3.0);
  EXPECT_EQ(params.sampling.seed, 4U);
  EXPECT_EQ(params.priority, 3);
  EXPECT_EQ(params.routing_key, "k");
  EXPECT_EQ(params.cache_salt, "1:se");
  EXPECT_EQ(params.stream_interval, 2);
  EXPECT_EQ(params.constraint.kind, ConstraintSpec::Kind::kRegex);
  EXPECT_EQ(params.stop_regex, std::vector<std::string>{"b+"});
  EXPECT_TRUE(request.ignored_fields.empty());
}

TEST(GenerateRequest, a_batch_gives_each_prompt_its_own_parameters) {
  const GenerateRequest request = good(
      R"({"text":["a","b"],"rid":["x","y"],"return_logprob":[true,false],"top_logprobs_num":2,)"
      R"("logprob_start_len":[0,-1],"sampling_params":[{"max_new_tokens":1,"n":2},{"temperature":0,"n":2}]})");
  ASSERT_EQ(request.items.size(), 2U);
  EXPECT_TRUE(request.is_batch);
  EXPECT_EQ(request.num_samples(), 2);
  EXPECT_EQ(request.items[1].rid, "y");
  const SamplingParams& first = request.items[0].completion.generation.sampling;
  const SamplingParams& second = request.items[1].completion.generation.sampling;
  EXPECT_EQ(first.max_tokens, 1);
  EXPECT_EQ(second.max_tokens, 128);
  EXPECT_EQ(second.temperature, 0.0);
  EXPECT_TRUE(first.logprobs && first.prompt_logprobs);
  EXPECT_EQ(first.prompt_top_logprobs, 2);
  EXPECT_EQ(request.items[0].logprob_start, 0);
  EXPECT_FALSE(second.logprobs || second.prompt_logprobs);
  EXPECT_FALSE(request.items[1].logprob_start.has_value());
  EXPECT_TRUE(good(R"({"input_ids":[[1],[2,3]]})").is_batch);
  EXPECT_TRUE(good(R"({"text":["a"]})").is_batch);
  EXPECT_TRUE(good(R"({"text":"a","sampling_params":{"n":2}})").is_batch);
}

TEST(GenerateRequest, no_new_token_means_that_none_is_shown) {
  const GenerateRequest request = good(R"({"text":"x","sampling_params":{"max_new_tokens":0}})");
  EXPECT_TRUE(request.items[0].is_empty);
  EXPECT_EQ(request.items[0].completion.generation.sampling.max_tokens, 1);
}

TEST(GenerateRequest, unknown_fields_are_named) {
  EXPECT_EQ(
      good(R"({"text":"x","magic":1,"no_logs":true,"sampling_params":{"heat":1}})").ignored_fields,
      (std::vector<std::string>{"magic", "sampling_params.heat"}));
}

TEST(GenerateRequest, exactly_one_kind_of_prompt_is_taken) {
  EXPECT_EQ(bad("[]"), "invalid_type body");
  EXPECT_EQ(bad("{}"), "missing_required_parameter text");
  EXPECT_EQ(bad(R"({"text":"x","input_ids":[1]})"), "invalid_value input_ids");
  EXPECT_EQ(bad(R"({"input_embeds":[[0.5]]})"), "unsupported_parameter input_embeds");
  EXPECT_EQ(bad(R"({"text":[1]})"), "invalid_type text");
  EXPECT_EQ(bad(R"({"text":{}})"), "invalid_type text");
  EXPECT_EQ(bad(R"({"text":5})"), "invalid_type text");
  EXPECT_EQ(bad(R"({"input_ids":5})"), "invalid_type input_ids");
  EXPECT_EQ(bad(R"({"text":[]})"), "invalid_value text");
  EXPECT_EQ(bad(R"({"input_ids":"x"})"), "invalid_type input_ids");
  EXPECT_EQ(bad(R"({"input_ids":["x"]})"), "invalid_type input_ids");
  EXPECT_EQ(bad(R"({"input_ids":[[1],"x"]})"), "invalid_type input_ids");
}

TEST(GenerateRequest, each_range_is_checked_by_name) {
  EXPECT_EQ(bad_sampling(R"("temperature":-1)"), "invalid_value sampling_params.temperature");
  EXPECT_EQ(bad_sampling(R"("top_p":0)"), "invalid_value sampling_params.top_p");
  EXPECT_EQ(bad_sampling(R"("top_p":1.1)"), "invalid_value sampling_params.top_p");
  EXPECT_EQ(bad_sampling(R"("top_k":0)"), "invalid_value sampling_params.top_k");
  EXPECT_EQ(bad_sampling(R"("min_p":2)"), "invalid_value sampling_params.min_p");
  EXPECT_EQ(bad_sampling(R"("repetition_penalty":0)"),
            "invalid_value sampling_params.repetition_penalty");
  EXPECT_EQ(bad_sampling(R"("frequency_penalty":3)"),
            "invalid_value sampling_params.frequency_penalty");
  EXPECT_EQ(bad_sampling(R"("max_new_tokens":-1)"), "invalid_value sampling_params.max_new_tokens");
  EXPECT_EQ(bad_sampling(R"("max_new_tokens":2,"min_new_tokens":3)"),
            "invalid_value sampling_params.min_new_tokens");
  EXPECT_EQ(bad_sampling(R"("sampling_seed":"x")"), "invalid_type sampling_params.sampling_seed");
  EXPECT_EQ(bad_sampling(R"("regex":"a","ebnf":"b")"), "invalid_value sampling_params.ebnf");
  EXPECT_EQ(bad(R"({"text":"x","sampling_params":[]})"), "invalid_type sampling_params");
  EXPECT_EQ(bad(R"({"text":"x","rid":"a b"})"), "invalid_value rid");
  EXPECT_EQ(bad(R"({"text":"x","return_logprob":true,"logprob_start_len":-2})"),
            "invalid_value logprob_start_len");
  EXPECT_EQ(bad(R"({"text":"x","return_logprob":true,"top_logprobs_num":21})"),
            "invalid_value top_logprobs_num");
  EXPECT_EQ(bad(R"({"text":"x","extra_key":")" + std::string(1025, 'x') + "\"}"),
            "invalid_value extra_key");
}

TEST(GenerateRequest, fields_of_a_batch_are_as_long_as_it_is_and_alike_where_they_must_be) {
  EXPECT_EQ(bad(R"({"text":["a","b"],"rid":["x"]})"), "invalid_value rid");
  EXPECT_EQ(bad(R"({"text":["a","b"],"rid":["x","x"]})"), "invalid_value rid");
  EXPECT_EQ(bad(R"({"text":["a","b"],"sampling_params":[{},{},{}]})"),
            "invalid_value sampling_params");
  EXPECT_EQ(bad(R"({"text":["a","b"],"sampling_params":[{},{"top_p":2}]})"),
            "invalid_value sampling_params[1].top_p");
  EXPECT_EQ(bad(R"({"text":["a","b"],"sampling_params":[{"n":1},{"n":2}]})"),
            "unsupported_parameter sampling_params");
  EXPECT_EQ(bad(R"({"text":["a","b"],"sampling_params":[{"regex":"a"},{"regex":"b"}]})"),
            "unsupported_parameter sampling_params");
  EXPECT_EQ(bad(R"({"text":["a","b"],"sampling_params":[{"regex":"a"},{"regex":"a"}]})"),
            "accepted");
  std::string many;
  for (int i = 0; i < 17; ++i) {
    many += i > 0 ? ",\"a\"" : "\"a\"";
  }
  EXPECT_EQ(bad(R"({"sampling_params":{"n":128},"text":[)" + many + "]}"), "invalid_value n");
}

TEST(GenerateRequest, what_is_not_offered_is_refused_where_it_asks_for_something) {
  for (const char* field :
       {R"("image_data":["x"])", R"("audio_data":"x")", R"("lora_path":"l")",
        R"("return_hidden_states":true)", R"("return_entropy":true)", R"("background":true)",
        R"("token_ids_logprob":[1])", R"("bootstrap_host":"h")", R"("routed_dp_rank":1)"}) {
    EXPECT_EQ(bad(std::string(R"({"text":"x",)") + field + "}").substr(0, 21),
              "unsupported_parameter")
        << field;
  }
  EXPECT_EQ(bad(R"({"text":"x","image_data":null,"lora_path":null,"return_hidden_states":false,)"
                R"("data_parallel_rank":0,"video_data":[],"background":false})"),
            "accepted");
}

}  // namespace
}  // namespace plumb
