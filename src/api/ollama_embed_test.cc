// SPDX-License-Identifier: Apache-2.0
#include "api/ollama_embed.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

Json json_of(const std::string& text) {
  return parse_json(text).value();
}

OllamaEmbedRequest embed(const std::string& fields) {
  return std::get<OllamaEmbedRequest>(
      read_ollama_embed(json_of("{\"model\":\"m\"" + fields + "}"), {}));
}

std::string embed_error(const std::string& body, const ApiLimits& limits = {}) {
  const auto read = read_ollama_embed(json_of(body), limits);
  const auto* error = std::get_if<ApiError>(&read);
  return error == nullptr ? "" : error->code + " " + error->param;
}

TEST(OllamaEmbed, inputs_are_a_text_or_a_list_of_texts) {
  EXPECT_EQ(embed(R"(,"input":"a")").embedding.inputs, (std::vector<Prompt>{"a"}));
  EXPECT_EQ(embed(R"(,"input":["a","b"])").embedding.inputs, (std::vector<Prompt>{"a", "b"}));
}

TEST(OllamaEmbed, nothing_to_embed_loads_the_model) {
  for (const char* fields : {"", R"(,"input":"")", R"(,"input":[])", R"(,"input":null)"}) {
    EXPECT_TRUE(embed(fields).embedding.inputs.empty()) << fields;
  }
}

TEST(OllamaEmbed, long_texts_are_cut_unless_that_is_forbidden) {
  EXPECT_EQ(embed(R"(,"input":"a")").embedding.params.truncate_prompt_tokens, -1);
  EXPECT_EQ(embed(R"(,"truncate":true)").embedding.params.truncate_prompt_tokens, -1);
  EXPECT_EQ(embed(R"(,"truncate":false)").embedding.params.truncate_prompt_tokens, std::nullopt);
}

TEST(OllamaEmbed, the_other_fields_are_read_and_unknown_ones_are_named) {
  const OllamaEmbedRequest request =
      embed(R"(,"input":"a","dimensions":8,"keep_alive":"5m","options":{"num_ctx":9},"colour":1)");
  EXPECT_EQ(request.embedding.params.model, "m");
  EXPECT_EQ(request.embedding.dimensions, 8);
  EXPECT_TRUE(request.embedding.normalize);
  EXPECT_EQ(request.keep_alive, minutes(5));
  EXPECT_EQ(request.embedding.params.ignored_fields, (std::vector<std::string>{"colour"}));
  EXPECT_EQ(embed(R"(,"keep_alive":7)").keep_alive, seconds(7));
}

TEST(OllamaEmbed, what_cannot_be_read_is_refused_with_its_place) {
  EXPECT_EQ(embed_error("[]"), "invalid_type body");
  EXPECT_EQ(embed_error(R"({"input":"a"})"), "missing_required_parameter model");
  EXPECT_EQ(embed_error(R"({"model":"m","input":1})"), "invalid_type input");
  EXPECT_EQ(embed_error(R"({"model":"m","input":["a",1]})"), "invalid_type input[1]");
  EXPECT_EQ(embed_error(R"({"model":"m","input":["a",""]})"), "invalid_value input[1]");
  EXPECT_EQ(embed_error(R"({"model":"m","dimensions":0})"), "invalid_value dimensions");
  EXPECT_EQ(embed_error(R"({"model":"m","truncate":1})"), "invalid_type truncate");
  EXPECT_EQ(embed_error(R"({"model":"m","options":1})"), "invalid_type options");
  EXPECT_EQ(embed_error(R"({"model":"m","keep_alive":"soon"})"), "invalid_type keep_alive");
  ApiLimits limits;
  limits.max_prompts = 1;
  EXPECT_EQ(embed_error(R"({"model":"m","input":["a","b"]})", limits), "invalid_value input");
}

TEST(OllamaEmbed, the_older_route_has_one_prompt_and_gives_its_vector_as_pooled) {
  const auto request = std::get<OllamaEmbedRequest>(
      read_ollama_embeddings(json_of(R"({"model":"m","prompt":"a"})"), {}));
  EXPECT_EQ(request.embedding.inputs, (std::vector<Prompt>{"a"}));
  EXPECT_FALSE(request.embedding.normalize);
  EXPECT_EQ(request.embedding.params.truncate_prompt_tokens, -1);
  const auto load =
      std::get<OllamaEmbedRequest>(read_ollama_embeddings(json_of(R"({"model":"m"})"), {}));
  EXPECT_TRUE(load.embedding.inputs.empty());
  EXPECT_TRUE(std::holds_alternative<ApiError>(read_ollama_embeddings(json_of("1"), {})));
}

TEST(OllamaEmbed, answers_have_the_members_of_both_routes) {
  EXPECT_EQ(to_text(ollama_embeddings_to_json({{0.5F, -1.0F}, {2.0F, 0.25F}}, "m:latest",
                                              nanoseconds(1500), 7)),
            to_text(json_of(R"({"model":"m:latest","embeddings":[[0.5,-1.0],[2.0,0.25]],
              "total_duration":1500,"load_duration":0,"prompt_eval_count":7})")));
  EXPECT_EQ(to_text(ollama_embeddings_to_json({}, "m", nanoseconds(1), 0)),
            to_text(json_of(R"({"model":"m","embeddings":[],"total_duration":1,
              "load_duration":0,"prompt_eval_count":0})")));
  EXPECT_EQ(to_text(ollama_embedding_to_json({{0.5F}})), R"({"embedding":[0.5]})");
  EXPECT_EQ(to_text(ollama_embedding_to_json({})), R"({"embedding":[]})");
}

}  // namespace
}  // namespace plumb
