// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "api/embedding_request.h"
#include "api/embedding_response.h"

namespace plumb {
namespace {

Json body_json(const std::string& text) {
  Result<Json> parsed = parse_json(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return std::move(parsed).value();
}

template <class Request>
ApiError embedding_refusal(const std::variant<Request, ApiError>& read) {
  const auto* error = std::get_if<ApiError>(&read);
  return error != nullptr ? *error : ApiError::for_http(200, "no error");
}

ApiError embedding_error(const std::string& body) {
  return embedding_refusal(read_embedding_request(body_json(body), {}));
}

ApiError score_error(const std::string& body) {
  return embedding_refusal(read_score_request(body_json(body), {}));
}

ApiError rerank_error(const std::string& body) {
  return embedding_refusal(read_rerank_request(body_json(body), {}));
}

EmbeddingRequest embedding_request(const std::string& body) {
  return std::get<EmbeddingRequest>(read_embedding_request(body_json(body), {}));
}

TEST(EmbeddingRequests, all_four_kinds_of_input_are_read) {
  EXPECT_EQ(embedding_request(R"({"input":"a"})").inputs, (std::vector<Prompt>{"a"}));
  EXPECT_EQ(embedding_request(R"({"input":["a","b"]})").inputs, (std::vector<Prompt>{"a", "b"}));
  EXPECT_EQ(embedding_request(R"({"input":[1,2]})").inputs,
            (std::vector<Prompt>{std::vector<TokenId>{1, 2}}));
  EXPECT_EQ(embedding_request(R"({"input":[[1],[2,3]]})").inputs,
            (std::vector<Prompt>{std::vector<TokenId>{1}, std::vector<TokenId>{2, 3}}));
}

TEST(EmbeddingRequests, options_are_read_and_the_rest_is_named) {
  const EmbeddingRequest request = embedding_request(
      R"({"input":"a","model":"m","user":"u","encoding_format":"base64","dimensions":64,
          "truncate_prompt_tokens":-1,"normalize":false,"colour":1})");
  EXPECT_EQ(request.params.model, "m");
  EXPECT_TRUE(request.as_base64);
  EXPECT_EQ(request.dimensions, 64);
  EXPECT_EQ(request.params.truncate_prompt_tokens, -1);
  EXPECT_FALSE(request.normalize);
  EXPECT_EQ(request.params.ignored_fields, (std::vector<std::string>{"colour"}));
  EXPECT_FALSE(embedding_request(R"({"input":"a"})").as_base64);
  EXPECT_TRUE(embedding_request(R"({"input":"a"})").normalize);
}

TEST(EmbeddingRequests, what_cannot_be_embedded_is_refused_with_its_place) {
  EXPECT_EQ(embedding_error("{}").param, "input");
  EXPECT_EQ(embedding_error(R"({"input":""})").param, "input");
  EXPECT_EQ(embedding_error(R"({"input":["a",""]})").param, "input[1]");
  EXPECT_EQ(embedding_error(R"({"input":[]})").http_status, 400);
  EXPECT_EQ(embedding_error(R"({"input":[[]]})").param, "input");
  EXPECT_EQ(embedding_error(R"({"input":{"a":1}})").code, "invalid_type");
  EXPECT_EQ(embedding_error(R"({"input":"a","encoding_format":"hex"})").param, "encoding_format");
  EXPECT_EQ(embedding_error(R"({"input":"a","dimensions":0})").param, "dimensions");
  EXPECT_EQ(embedding_error(R"({"input":"a","truncate_prompt_tokens":0})").param,
            "truncate_prompt_tokens");
  EXPECT_EQ(embedding_error("[]").param, "body");
}

TEST(EmbeddingRequests, at_most_2048_inputs_are_taken) {
  std::string list = "\"a\"";
  for (int i = 1; i < 2048; ++i) {
    list += ",\"a\"";
  }
  EXPECT_EQ(embedding_request("{\"input\":[" + list + "]}").inputs.size(), 2048U);
  EXPECT_EQ(embedding_error("{\"input\":[" + list + ",\"a\"]}").param, "input");
}

TEST(ScoreRequests, both_names_of_the_two_sides_are_read) {
  const auto vllm = std::get<ScoreRequest>(
      read_score_request(body_json(R"({"text_1":"q","text_2":["a","b"]})"), {}));
  EXPECT_EQ(vllm.queries, (std::vector<std::string>{"q"}));
  EXPECT_EQ(vllm.items, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(vllm.has_items_field);
  const auto sglang = std::get<ScoreRequest>(
      read_score_request(body_json(R"({"query":"q","items":["a"],"item_first":true})"), {}));
  EXPECT_TRUE(sglang.has_items_field);
  EXPECT_TRUE(sglang.params.ignored_fields.empty());
}

TEST(ScoreRequests, sides_that_do_not_pair_and_logits_are_refused) {
  EXPECT_EQ(score_error(R"({"text_2":"a"})").param, "text_1");
  EXPECT_EQ(score_error(R"({"text_1":"a"})").param, "text_2");
  EXPECT_EQ(score_error(R"({"text_1":["a","b"],"text_2":["c","d","e"]})").param, "text_2");
  EXPECT_EQ(score_error(R"({"text_1":"a","text_2":""})").param, "text_2");
  EXPECT_EQ(score_error(R"({"text_1":1,"text_2":"b"})").code, "invalid_type");
  EXPECT_EQ(score_error(R"({"text_1":"a","text_2":[1]})").code, "invalid_type");
  EXPECT_EQ(score_error(R"({"query":"a","items":"b","label_token_ids":[1]})").param,
            "label_token_ids");
  EXPECT_EQ(score_error(R"({"query":"a","items":"b","apply_softmax":true})").param,
            "apply_softmax");
  EXPECT_EQ(score_error("1").param, "body");
}

TEST(RerankRequests, documents_are_texts_or_objects) {
  const auto request = std::get<RerankRequest>(read_rerank_request(
      body_json(
          R"({"query":"q","documents":["a",{"text":"b"}],"top_n":1,"return_documents":true})"),
      {}));
  EXPECT_EQ(request.documents, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.top_n, 1);
  EXPECT_TRUE(request.return_documents);
  EXPECT_EQ(rerank_error(R"({"documents":["a"]})").param, "query");
  EXPECT_EQ(rerank_error(R"({"query":"","documents":["a"]})").param, "query");
  EXPECT_EQ(rerank_error(R"({"query":"q"})").param, "documents");
  EXPECT_EQ(rerank_error(R"({"query":"q","documents":[]})").param, "documents");
  EXPECT_EQ(rerank_error(R"({"query":"q","documents":["a",""]})").param, "documents[1]");
  EXPECT_EQ(rerank_error(R"({"query":"q","documents":[{"body":"a"}]})").code, "invalid_type");
  EXPECT_EQ(rerank_error(R"({"query":"q","documents":["a"],"top_n":0})").param, "top_n");
  EXPECT_EQ(rerank_error("null").param, "body");
}

TEST(EmbeddingResponses, base64_holds_little_endian_floats) {
  const std::vector<float> vector{1.0F, -2.0F};
  EXPECT_EQ(embedding_to_json(vector, true), Json("AACAPwAAAMA="));
  EXPECT_EQ(to_text(embedding_to_json(vector, false)), to_text(body_json("[1.0,-2.0]")));
}

TEST(EmbeddingResponses, vectors_stand_in_the_order_of_the_inputs) {
  EXPECT_EQ(to_text(embeddings_to_json({{0.5F}, {0.25F}}, false, "m", 7)),
            to_text(body_json(R"({"object":"list","data":[
              {"object":"embedding","index":0,"embedding":[0.5]},
              {"object":"embedding","index":1,"embedding":[0.25]}],
              "model":"m","usage":{"prompt_tokens":7,"total_tokens":7}})")));
}

TEST(EmbeddingResponses, scores_have_two_forms) {
  const std::vector<double> scores{0.5, 0.25};
  EXPECT_EQ(to_text(scores_to_json(scores, false, "i", 9, "m", 3)),
            to_text(body_json(R"({"id":"i","object":"list","created":9,"model":"m","data":[
              {"index":0,"object":"score","score":0.5},
              {"index":1,"object":"score","score":0.25}],
              "usage":{"prompt_tokens":3,"total_tokens":3}})")));
  EXPECT_EQ(to_text(scores_to_json(scores, true, "i", 9, "m", 3)),
            to_text(body_json(R"({"id":"i","object":"scoring","created":9,"model":"m",
              "scores":[[0.5],[0.25]],"usage":{"prompt_tokens":3,"total_tokens":3}})")));
}

TEST(EmbeddingResponses, a_ranking_falls_and_keeps_the_order_of_equals) {
  RerankRequest request;
  request.documents = {"a", "b", "c", "d"};
  request.return_documents = true;
  request.top_n = 3;
  const std::vector<double> scores{0.25, 0.5, 0.25, 0.75};
  EXPECT_EQ(to_text(ranking_to_json(request, scores, "i", "m", 3)),
            to_text(body_json(R"({"id":"i","model":"m","results":[
              {"index":3,"relevance_score":0.75,"document":{"text":"d"}},
              {"index":1,"relevance_score":0.5,"document":{"text":"b"}},
              {"index":0,"relevance_score":0.25,"document":{"text":"a"}}],
              "usage":{"prompt_tokens":3,"total_tokens":3}})")));
}

}  // namespace
}  // namespace plumb
