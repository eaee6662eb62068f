// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "api/chat_request.h"
#include "api/completion_request.h"

namespace plumb {
namespace {

std::variant<ChatRequest, ApiError> read_extended(const std::string& members) {
  const Result<Json> body =
      parse_json(R"({"messages":[{"role":"user","content":"hi"}],)" + members + "}");
  return read_chat_request(body.value(), SamplingDefaults(), ApiLimits());
}

GenerationParams params_of(const std::string& members) {
  auto result = read_extended(members);
  EXPECT_TRUE(std::holds_alternative<ChatRequest>(result)) << members;
  return std::holds_alternative<ChatRequest>(result) ? std::get<ChatRequest>(result).generation
                                                     : GenerationParams();
}

std::string error_of(const std::string& members) {
  const auto result = read_extended(members);
  if (std::holds_alternative<ChatRequest>(result)) {
    return "accepted";
  }
  const ApiError& error = std::get<ApiError>(result);
  return error.code + " " + error.param;
}

TEST(ExtensionFields, each_is_read) {
  const GenerationParams p = params_of(
      R"("min_tokens":3,"ignore_eos":true,"stop_token_ids":[4],"stop_regex":"a+","no_stop_trim":true,)"
      R"("bad_words":["x",[1,2]],"allowed_token_ids":[5],"joint_top_k_top_p":true,"min_p":0.25,)"
      R"("logprobs_mode":"processed","prompt_logprobs":2,"stream_interval":4,"truncate_prompt_tokens":9,)"
      R"("return_tokens_as_token_ids":true,"return_meta_info":true,"thinking_token_budget":7,)"
      R"("request_id":"abc","timeout_ms":5,"queue_timeout_ms":6,"priority":-2,"cache_salt":"s")");
  EXPECT_EQ(p.sampling.min_tokens, 3);
  EXPECT_TRUE(p.sampling.ignore_eos);
  EXPECT_EQ(p.sampling.stop_token_ids, std::vector<TokenId>{4});
  EXPECT_EQ(p.stop_regex, std::vector<std::string>{"a+"});
  EXPECT_TRUE(p.include_stop_str);
  EXPECT_EQ(p.bad_words, (std::vector<BadWord>{std::string("x"), std::vector<TokenId>{1, 2}}));
  EXPECT_EQ(p.sampling.allowed_token_ids, std::vector<TokenId>{5});
  EXPECT_TRUE(p.sampling.joint_top_k_top_p);
  EXPECT_EQ(p.sampling.min_p, 0.25);
  EXPECT_EQ(p.sampling.logprobs_mode, LogprobsMode::kProcessed);
  EXPECT_TRUE(p.return_prompt_logprobs && p.sampling.prompt_logprobs);
  EXPECT_EQ(p.sampling.prompt_top_logprobs, 2);
  EXPECT_EQ(p.stream_interval, 4);
  EXPECT_EQ(p.truncate_prompt_tokens, 9);
  EXPECT_TRUE(p.tokens_as_ids && p.return_meta_info);
  EXPECT_EQ(p.thinking_budget, 7);
  EXPECT_STREQ(p.thinking_budget_field, "thinking_token_budget");
  EXPECT_EQ(p.request_id, "abc");
  EXPECT_EQ(p.timeout, std::chrono::milliseconds(5));
  EXPECT_EQ(p.queue_timeout, std::chrono::milliseconds(6));
  EXPECT_EQ(p.priority, -2);
  EXPECT_EQ(p.cache_salt, "s");
}

TEST(ExtensionFields, each_bad_value_is_an_error_that_names_the_field) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"("min_tokens":-1)", "invalid_value min_tokens"},
      {R"("min_p":1.5)", "invalid_value min_p"},
      {R"("ignore_eos":1)", "invalid_type ignore_eos"},
      {R"("stop_token_ids":["a"])", "invalid_type stop_token_ids"},
      {R"("stop_regex":3)", "invalid_type stop_regex"},
      {R"("stop_regex":["a",3])", "invalid_type stop_regex"},
      {R"("include_stop_str_in_output":"yes")", "invalid_type include_stop_str_in_output"},
      {R"("bad_words":"x")", "invalid_type bad_words"},
      {R"("bad_words":[""])", "invalid_value bad_words"},
      {R"("bad_words":[[]])", "invalid_type bad_words"},
      {R"("bad_words":[[-1]])", "invalid_type bad_words"},
      {R"("allowed_token_ids":[])", "invalid_value allowed_token_ids"},
      {R"("joint_top_k_top_p":1)", "invalid_type joint_top_k_top_p"},
      {R"("logprobs_mode":"cooked")", "invalid_value logprobs_mode"},
      {R"("prompt_logprobs":21)", "invalid_value prompt_logprobs"},
      {R"("prompt_logprobs":1,"stream":true)", "invalid_value prompt_logprobs"},
      {R"("stream_interval":0)", "invalid_value stream_interval"},
      {R"("truncate_prompt_tokens":0)", "invalid_value truncate_prompt_tokens"},
      {R"("request_id":"a b")", "invalid_value request_id"},
      {R"("rid":"")", "invalid_value rid"},
      {R"("thinking_token_budget":-1)", "invalid_value thinking_token_budget"},
      {R"("timeout_ms":0)", "invalid_value timeout_ms"},
      {R"("queue_timeout_ms":0.5)", "invalid_type queue_timeout_ms"},
      {R"("priority":1000001)", "invalid_value priority"},
      {R"("spaces_between_special_tokens":2)", "invalid_type spaces_between_special_tokens"},
  };
  for (const auto& [members, expected] : cases) {
    EXPECT_EQ(error_of(members), expected) << members;
  }
}

TEST(ExtensionFields, a_processor_is_a_name_an_object_or_a_list) {
  const auto names = [](const std::string& members) {
    std::string out;
    for (const LogitProcessorSpec& spec : params_of(members).sampling.processors) {
      out += spec.name + to_text(Json(spec.params)) + " ";
    }
    return out;
  };
  EXPECT_EQ(names(R"("custom_logit_processor":"ngram_ban","custom_params":{"ngram_size":3})"),
            R"(ngram_ban{"ngram_size":3} )");
  EXPECT_EQ(names(R"("custom_logit_processor":{"name":"a","params":{"b":1}})"), R"(a{"b":1} )");
  EXPECT_EQ(names(R"("custom_logit_processor":["a",{"name":"b"}])"), "a{} b{} ");
  EXPECT_EQ(error_of(R"("custom_logit_processor":7)"), "invalid_type custom_logit_processor");
  EXPECT_EQ(error_of(R"("custom_logit_processor":{"params":{}})"),
            "missing_required_parameter custom_logit_processor.name");
  EXPECT_EQ(error_of(R"("custom_logit_processor":{"name":"a","parms":{}})"),
            "unsupported_parameter custom_logit_processor.parms");
  EXPECT_EQ(error_of(R"("custom_logit_processor":["a","a","a","a","a","a","a","a","a"])"),
            "invalid_value custom_logit_processor");
  EXPECT_EQ(error_of(R"("custom_params":{})"), "invalid_value custom_params");
}

TEST(ExtensionFields, what_is_not_offered_is_refused_unless_it_changes_nothing) {
  for (const std::string name : {"typical_p", "length_penalty"}) {
    EXPECT_EQ(error_of("\"" + name + "\":1"), "accepted");
    EXPECT_EQ(error_of("\"" + name + "\":0.5"), "unsupported_parameter " + name);
  }
  for (const std::string name :
       {"xtc_probability", "dry_multiplier", "mirostat", "n_probs", "dynatemp_range"}) {
    EXPECT_EQ(error_of("\"" + name + "\":0"), "accepted");
    EXPECT_EQ(error_of("\"" + name + "\":2"), "unsupported_parameter " + name);
  }
  EXPECT_EQ(error_of(R"("use_beam_search":false)"), "accepted");
  EXPECT_EQ(error_of(R"("use_beam_search":true)"), "unsupported_parameter use_beam_search");
  EXPECT_EQ(error_of(R"("repeat_last_n":-1)"), "accepted");
  EXPECT_EQ(error_of(R"("repeat_last_n":64)"), "unsupported_parameter repeat_last_n");
  for (const std::string name : {"audio", "prediction", "lora_path", "samplers", "input_ids",
                                 "background", "logprob_token_ids", "guided_decoding_backend"}) {
    EXPECT_EQ(error_of("\"" + name + "\":\"x\""), "unsupported_parameter " + name);
  }
}

TEST(ExtensionFields, what_is_offered_of_a_field_is_written_as_its_type) {
  const auto message = [](const std::string& members) {
    return std::get<ApiError>(read_extended(members)).message;
  };
  EXPECT_EQ(message(R"("use_beam_search":true)"),
            "unsupported parameter: 'use_beam_search': this server offers only false, which "
            "changes nothing");
  EXPECT_EQ(message(R"("length_penalty":0.5)"),
            "unsupported parameter: 'length_penalty': this server offers only 1, which changes "
            "nothing");
  EXPECT_EQ(message(R"("repeat_last_n":64)"),
            "unsupported parameter: 'repeat_last_n': this server offers only -1, which changes "
            "nothing");
}

TEST(ExtensionFields, log_probabilities_have_the_names_of_two_servers) {
  const auto mode = [](const std::string& name) {
    return params_of(R"("logprobs_mode":")" + name + "\"").sampling.logprobs_mode;
  };
  EXPECT_EQ(mode("raw"), LogprobsMode::kRaw);
  EXPECT_EQ(mode("raw_logprobs"), LogprobsMode::kRaw);
  EXPECT_EQ(mode("processed"), LogprobsMode::kProcessed);
  EXPECT_EQ(mode("processed_logprobs"), LogprobsMode::kProcessed);
  EXPECT_EQ(error_of(R"("logprobs_mode":"raw_logits")"), "invalid_value logprobs_mode");
}

TEST(ExtensionFields, a_seed_of_minus_one_is_none) {
  EXPECT_FALSE(params_of(R"("seed":-1)").has_seed);
  EXPECT_FALSE(params_of(R"("seed":-1.0)").has_seed);
  const GenerationParams other = params_of(R"("seed":-2)");
  EXPECT_TRUE(other.has_seed);
  EXPECT_EQ(other.sampling.seed, ~std::uint64_t{1});
}

TEST(ExtensionFields, more_tokens_than_any_choice_can_have_are_refused) {
  EXPECT_EQ(error_of(R"("guided_choice":["fig","apple"],"min_tokens":6)"),
            "invalid_value min_tokens");
  EXPECT_EQ(
      std::get<ApiError>(read_extended(R"("guided_choice":["apple"],"min_tokens":20)")).message,
      "'min_tokens' is 20, but no text of 'guided_choice' has more than 5 bytes, and a token "
      "has at least one");
  EXPECT_EQ(error_of(R"("guided_choice":["fig","apple"],"min_tokens":5)"), "accepted");
}

TEST(ExtensionFields, echo_and_prompt_logprobs_must_agree) {
  const auto error = [](const std::string& members) {
    const auto result = read_completion_request(
        parse_json(R"({"prompt":"a","echo":true,"logprobs":2,)" + members + "}").value(),
        SamplingDefaults(), ApiLimits());
    return std::holds_alternative<CompletionRequest>(result) ? "accepted"
                                                             : std::get<ApiError>(result).param;
  };
  EXPECT_EQ(error(R"("prompt_logprobs":2)"), "accepted");
  EXPECT_EQ(error(R"("prompt_logprobs":3)"), "prompt_logprobs");
}

}  // namespace
}  // namespace plumb
