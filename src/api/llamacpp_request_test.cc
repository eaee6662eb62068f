// SPDX-License-Identifier: Apache-2.0
#include "api/llamacpp_request.h"

#include <gtest/gtest.h>

#include "support/read_result.h"

namespace plumb {
namespace {

using Ids = std::vector<TokenId>;

SamplingDefaults warm_defaults() {
  return {.temperature = 0.6, .top_p = 0.9, .top_k = 20, .min_p = 0.1, .repetition_penalty = 1.25};
}

std::variant<LlamaCppRequest, ApiError> read_llamacpp(const std::string& body) {
  return read_llamacpp_request(parse_json(body).value(), warm_defaults(), ApiLimits());
}

LlamaCppRequest good_llamacpp(const std::string& members) {
  const std::string body = "{\"prompt\":\"x\"" + (members.empty() ? "" : "," + members) + "}";
  return accepted_request(
      read_llamacpp(members.starts_with("\"prompt\"") ? "{" + members + "}" : body), members);
}

std::string bad_llamacpp(const std::string& body) {
  return verdict_of(read_llamacpp(body));
}

std::string bad_member(const std::string& member) {
  return bad_llamacpp(R"({"prompt":"x",)" + member + "}");
}

TEST(LlamaCppRequest, what_is_not_said_is_as_the_model_recommends) {
  const LlamaCppRequest request = good_llamacpp("");
  const SamplingParams& sampling = request.completion.generation.sampling;
  EXPECT_EQ(sampling.temperature, 0.6);
  EXPECT_EQ(sampling.top_p, 0.9);
  EXPECT_EQ(sampling.top_k, 20);
  EXPECT_EQ(sampling.min_p, 0.1);
  EXPECT_EQ(sampling.repetition_penalty, 1.25);
  EXPECT_EQ(sampling.max_tokens, 0) << "until the end";
  EXPECT_TRUE(request.completion.generation.clamps_max_tokens);
  EXPECT_FALSE(request.is_empty || request.return_tokens || sampling.logprobs);
}

TEST(LlamaCppRequest, fields_are_read_under_llama_cpps_names) {
  const LlamaCppRequest request = good_llamacpp(
      R"("n_predict":7,"temperature":9.5,"top_k":3,"top_p":0.5,"min_p":0.25,"repeat_penalty":1.5,)"
      R"("presence_penalty":1,"frequency_penalty":-1,"seed":5,"stop":["a","b"],"stream":true,)"
      R"("n_probs":2,"ignore_eos":true,"grammar":"root ::= \"y\"","return_tokens":true,)"
      R"("cache_prompt":true,"repeat_last_n":-1,"mirostat":0,"mirostat_tau":5,"typical_p":1)");
  const GenerationParams& params = request.completion.generation;
  EXPECT_EQ(params.sampling.max_tokens, 7);
  EXPECT_EQ(params.sampling.temperature, 9.5);
  EXPECT_EQ(params.sampling.top_k, 3);
  EXPECT_EQ(params.sampling.repetition_penalty, 1.5);
  EXPECT_EQ(params.sampling.presence_penalty, 1.0);
  EXPECT_EQ(params.sampling.frequency_penalty, -1.0);
  EXPECT_EQ(params.sampling.seed, 5U);
  EXPECT_EQ(params.stops, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(params.stream && params.sampling.ignore_eos && params.sampling.logprobs);
  EXPECT_EQ(params.sampling.top_logprobs, 2);
  EXPECT_EQ(params.constraint.kind, ConstraintSpec::Kind::kGrammar);
  EXPECT_TRUE(request.return_tokens);
  EXPECT_TRUE(request.completion.ignored_fields.empty());
}

TEST(LlamaCppRequest, a_prompt_is_text_or_ids_or_both_in_one) {
  using Parts = std::vector<Prompt>;
  const auto prompts = [](const std::string& json) {
    return good_llamacpp("\"prompt\":" + json).prompts;
  };
  EXPECT_EQ(prompts(R"("ab")"), (std::vector<Parts>{{"ab"}}));
  EXPECT_EQ(prompts("[5,6]"), (std::vector<Parts>{{Ids{5, 6}}}));
  EXPECT_EQ(prompts(R"([5,6,"ab",7])"), (std::vector<Parts>{{Ids{5, 6}, "ab", Ids{7}}}));
  EXPECT_EQ(prompts(R"(["ab","cd"])"), (std::vector<Parts>{{"ab"}, {"cd"}}));
  EXPECT_EQ(prompts(R"([[5,6],"ab",["cd",7]])"),
            (std::vector<Parts>{{Ids{5, 6}}, {"ab"}, {"cd", Ids{7}}}));
}

TEST(LlamaCppRequest, a_prompt_of_another_form_is_refused) {
  EXPECT_EQ(bad_llamacpp("{}"), "missing_required_parameter prompt");
  for (const char* prompt :
       {"7", "true", "{}", "[[]]", "[true]", "[1,[2]]", "[-1]", "[[\"a\",null]]"}) {
    EXPECT_EQ(bad_llamacpp(std::string(R"({"prompt":)") + prompt + "}"), "invalid_type prompt")
        << prompt;
  }
  EXPECT_EQ(bad_llamacpp(R"({"prompt":[]})"), "invalid_value prompt");
  std::string many = R"(["a")";
  for (int i = 0; i < 2048; ++i) {
    many += R"(,"a")";
  }
  EXPECT_EQ(bad_llamacpp(R"({"prompt":)" + many + "]}"), "invalid_value prompt");
}

TEST(LlamaCppRequest, lengths_below_one_mean_no_token_or_no_limit) {
  EXPECT_EQ(good_llamacpp(R"("n_predict":-1)").completion.generation.sampling.max_tokens, 0);
  EXPECT_EQ(good_llamacpp(R"("max_tokens":4)").completion.generation.sampling.max_tokens, 4);
  const LlamaCppRequest none = good_llamacpp(R"("n_predict":0,"max_tokens":4)");
  EXPECT_TRUE(none.is_empty);
  EXPECT_EQ(none.completion.generation.sampling.max_tokens, 1);
  EXPECT_EQ(bad_member(R"("n_predict":-2)"), "invalid_value n_predict");
}

TEST(LlamaCppRequest, two_seeds_mean_any) {
  for (const char* seed : {"-1", "4294967295"}) {
    EXPECT_FALSE(good_llamacpp(std::string(R"("seed":)") + seed).completion.generation.has_seed);
  }
  EXPECT_TRUE(good_llamacpp(R"("seed":0)").completion.generation.has_seed);
}

TEST(LlamaCppRequest, biases_are_pairs_or_members_of_tokens_or_texts) {
  for (const char* form : {R"([[5,1.5],["ab",-2],[6,false],["cd",false]])",
                           R"({"5":1.5,"ab":-2,"6":false,"cd":false})"}) {
    const LlamaCppRequest request = good_llamacpp(std::string(R"("logit_bias":)") + form);
    const GenerationParams& params = request.completion.generation;
    ASSERT_EQ(params.sampling.logit_bias.size(), 1U) << form;
    EXPECT_EQ(params.sampling.logit_bias[0], (std::pair<TokenId, float>{5, 1.5F}));
    ASSERT_EQ(params.bad_words.size(), 1U);
    EXPECT_EQ(std::get<Ids>(params.bad_words[0]), Ids{6});
    ASSERT_EQ(request.text_biases.size(), 2U);
    EXPECT_EQ(request.text_biases[0].text, "ab");
    EXPECT_EQ(request.text_biases[0].bias, -2.0F);
    EXPECT_EQ(request.text_biases[1].text, "cd");
    EXPECT_FALSE(request.text_biases[1].bias.has_value());
  }
  EXPECT_EQ(bad_member(R"("logit_bias":7)"), "invalid_type logit_bias");
  EXPECT_EQ(bad_member(R"("logit_bias":[[5]])"), "invalid_type logit_bias");
  EXPECT_EQ(bad_member(R"("logit_bias":[[true,1]])"), "invalid_type logit_bias");
  EXPECT_EQ(bad_member(R"("logit_bias":[[5,true]])"), "invalid_type logit_bias");
  EXPECT_EQ(bad_member(R"("logit_bias":{"-5":1})"), "invalid_type logit_bias");
  EXPECT_EQ(bad_member(R"("logit_bias":{"5":100.5})"), "invalid_value logit_bias");
  EXPECT_EQ(bad_member(R"("logit_bias":{"":1})"), "invalid_value logit_bias");
}

TEST(LlamaCppRequest, penalties_look_at_everything_or_at_nothing) {
  const LlamaCppRequest off = good_llamacpp(
      R"("repeat_last_n":0,"repeat_penalty":1.5,"presence_penalty":1,"frequency_penalty":1)");
  const SamplingParams& sampling = off.completion.generation.sampling;
  EXPECT_EQ(sampling.repetition_penalty, 1.0);
  EXPECT_EQ(sampling.presence_penalty, 0.0);
  EXPECT_EQ(sampling.frequency_penalty, 0.0);
  EXPECT_EQ(bad_member(R"("repeat_last_n":64,"repeat_penalty":1.5)"),
            "unsupported_parameter repeat_last_n");
  good_llamacpp(R"("repeat_last_n":64,"repeat_penalty":1)");
}

TEST(LlamaCppRequest, an_empty_grammar_is_none) {
  EXPECT_TRUE(good_llamacpp(R"("grammar":"")").completion.generation.constraint.is_none());
  EXPECT_EQ(good_llamacpp(R"("grammar":"","json_schema":{"type":"null"})")
                .completion.generation.constraint.kind,
            ConstraintSpec::Kind::kJsonSchema);
  EXPECT_EQ(bad_member(R"("grammar":"root ::= \"a\"","json_schema":{})"), "invalid_value grammar");
}

TEST(LlamaCppRequest, what_would_change_the_answer_and_is_not_offered_is_refused) {
  for (const char* member :
       {R"("typical_p":0.5)", R"("xtc_probability":0.1)", R"("dry_multiplier":1)",
        R"("mirostat":2)", R"("dynatemp_range":1)", R"("min_keep":2)", R"("n_indent":4)",
        R"("t_max_predict_ms":9)", R"("top_n_sigma":1)", R"("n_cmpl":2)", R"("image_data":[{}])",
        R"("lora":[{"id":0}])", R"("samplers":["top_k"])", R"("post_sampling_probs":true)",
        R"("timings_per_token":true)"}) {
    EXPECT_TRUE(bad_member(member).starts_with("unsupported_parameter ")) << member;
  }
  good_llamacpp(R"("min_keep":0,"n_indent":0,"top_n_sigma":-1,"image_data":[],"lora":[])");
  EXPECT_EQ(bad_member(R"("n_probs":21)"), "invalid_value n_probs");
}

TEST(LlamaCppRequest, what_nothing_looks_at_is_named) {
  EXPECT_EQ(good_llamacpp(R"("id_slot":2,"mood":1)").completion.ignored_fields,
            (std::vector<std::string>{"id_slot", "mood"}));
}

}  // namespace
}  // namespace plumb
