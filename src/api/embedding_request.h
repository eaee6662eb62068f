// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/completion_request.h"
#include "api/error.h"
#include "api/field_reader.h"
#include "api/generation_params.h"
#include "base/json.h"

namespace plumb {

/// What the requests for vectors have in common.
struct EmbeddingParams {
  std::string model;  ///< as asked; empty = the served one
  /// Tokens of an input that are kept, -1 = as many as the model takes; absent: too long an input
  /// is an error.
  std::optional<std::int64_t> truncate_prompt_tokens;
  const char* truncation_field = "truncate_prompt_tokens";  ///< what allows to cut, for errors
  std::vector<std::string> ignored_fields;
};

/// A checked body of POST /v1/embeddings.
struct EmbeddingRequest {
  EmbeddingParams params;
  std::vector<Prompt> inputs;
  bool as_base64 = false;
  std::optional<std::int64_t> dimensions;  ///< leading elements that are kept
  bool normalize = true;                   ///< vectors have length 1, after they were cut
};

/// A checked body of POST /v1/score: queries[i] against items[i], or the only query against all.
struct ScoreRequest {
  EmbeddingParams params;
  std::vector<std::string> queries;
  std::vector<std::string> items;
  const char* queries_field = "text_1";  ///< their names
  const char* items_field = "text_2";
  bool has_items_field = false;  ///< the answer is a list of lists instead of objects
};

/// A checked body of POST /v1/rerank.
struct RerankRequest {
  EmbeddingParams params;
  std::string query;
  std::vector<std::string> documents;
  std::optional<std::int64_t> top_n;
  bool return_documents = false;
};

/// The field of that name: how many elements of a vector are wanted.
std::optional<std::int64_t> read_dimensions(FieldReader& fields);

std::variant<EmbeddingRequest, ApiError> read_embedding_request(const Json& body,
                                                                const ApiLimits& limits);
std::variant<ScoreRequest, ApiError> read_score_request(const Json& body, const ApiLimits& limits);
std::variant<RerankRequest, ApiError> read_rerank_request(const Json& body,
                                                          const ApiLimits& limits);

}  // namespace plumb
