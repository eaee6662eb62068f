// SPDX-License-Identifier: Apache-2.0
#include "api/embedding_request.h"

#include <utility>

namespace plumb {
namespace {

constexpr std::int64_t kMaxDimensions = std::int64_t{1} << 24;
constexpr const char* kTextTypes = "a string or an array of strings";

ApiError no_text(const std::string& param) {
  return ApiError::invalid("invalid_value", param,
                           "'" + param + "' is empty, expected at least one token");
}

bool is_empty(const Prompt& prompt) {
  const auto* text = std::get_if<std::string>(&prompt);
  return text != nullptr ? text->empty() : std::get<std::vector<TokenId>>(prompt).empty();
}

void read_embedding_params(FieldReader& fields, const ApiLimits& limits, EmbeddingParams* params) {
  params->model = fields.text("model").value_or("");
  fields.text("user");
  params->truncate_prompt_tokens =
      fields.integer("truncate_prompt_tokens", -1, limits.max_token_ids);
  if (params->truncate_prompt_tokens == 0) {
    fields.fail(ApiError::invalid("invalid_value", fields.path("truncate_prompt_tokens"),
                                  "'truncate_prompt_tokens' is 0, expected -1 or at least 1"));
  }
}

// A text or a list of texts, none of them empty.
std::vector<std::string> read_texts(FieldReader& fields, const char* name,
                                    const ApiLimits& limits) {
  std::vector<std::string> texts;
  const Json* field = fields.find(name);
  if (field == nullptr) {
    fields.fail(ApiError::missing(fields.path(name)));
  } else if (field->is_string()) {
    texts.push_back(field->as_string());
  } else if (field->is_array()) {
    const JsonArray* items = fields.array(name, limits.max_prompts);
    for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
      if (!(*items)[i].is_string()) {
        fields.fail(ApiError::wrong_type(fields.path(name), kTextTypes));
        return texts;
      }
      texts.push_back((*items)[i].as_string());
    }
  } else {
    fields.fail(ApiError::wrong_type(fields.path(name), kTextTypes));
  }
  bool has_empty = texts.empty();
  for (const std::string& text : texts) {
    has_empty = has_empty || text.empty();
  }
  if (has_empty) {
    fields.fail(no_text(fields.path(name)));
  }
  return texts;
}

std::vector<std::string> read_documents(FieldReader& fields, const ApiLimits& limits) {
  std::vector<std::string> documents;
  const JsonArray* items = fields.array("documents", limits.max_prompts);
  if (items == nullptr) {
    fields.fail(ApiError::missing(fields.path("documents")));
    return documents;
  }
  for (const Json& item : *items) {
    const Json* text = item.is_object() ? item.find("text") : &item;
    if (text == nullptr || !text->is_string()) {
      fields.fail(ApiError::wrong_type(fields.path("documents"),
                                       "an array of strings or of objects with 'text'"));
      return documents;
    }
    if (text->as_string().empty()) {
      fields.fail(no_text(fields.path("documents") + "[" + std::to_string(documents.size()) + "]"));
      return documents;
    }
    documents.push_back(text->as_string());
  }
  if (documents.empty()) {
    fields.fail(ApiError::invalid("invalid_value", fields.path("documents"),
                                  "'documents' is empty, expected at least one document"));
  }
  return documents;
}

// The request, or the first error of its fields.
template <class Request>
std::variant<Request, ApiError> finished_vectors(FieldReader& fields, Request request) {
  if (!fields.ok()) {
    return *fields.error();
  }
  request.params.ignored_fields = fields.ignored();
  return request;
}

}  // namespace

std::optional<std::int64_t> read_dimensions(FieldReader& fields) {
  return fields.integer("dimensions", 1, kMaxDimensions);
}

std::variant<EmbeddingRequest, ApiError> read_embedding_request(const Json& body,
                                                                const ApiLimits& limits) {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  EmbeddingRequest request;
  if (!fields.has("input")) {
    return ApiError::missing("input");
  }
  request.inputs = read_prompts(fields, "input", limits);
  for (std::size_t i = 0; i < request.inputs.size() && fields.ok(); ++i) {
    if (is_empty(request.inputs[i])) {
      const bool is_list = request.inputs.size() > 1;
      fields.fail(no_text(is_list ? "input[" + std::to_string(i) + "]" : "input"));
    }
  }
  read_embedding_params(fields, limits, &request.params);
  request.as_base64 = fields.choice("encoding_format", {"float", "base64"}) == "base64";
  request.dimensions = read_dimensions(fields);
  request.normalize = fields.boolean("normalize").value_or(true);
  return finished_vectors(fields, std::move(request));
}

std::variant<ScoreRequest, ApiError> read_score_request(const Json& body, const ApiLimits& limits) {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  ScoreRequest request;
  request.has_items_field = fields.has("items");
  request.queries_field = fields.has("query") ? "query" : "text_1";
  request.items_field = request.has_items_field ? "items" : "text_2";
  request.queries = read_texts(fields, request.queries_field, limits);
  request.items = read_texts(fields, request.items_field, limits);
  if (fields.ok() && request.queries.size() != 1 &&
      request.queries.size() != request.items.size()) {
    fields.fail(ApiError::invalid("invalid_value", request.items_field,
                                  "'" + std::string(request.items_field) + "' has " +
                                      std::to_string(request.items.size()) +
                                      (request.items.size() == 1 ? " text" : " texts") +
                                      ", expected " + std::to_string(request.queries.size()) +
                                      ", one for each of '" + request.queries_field + "'"));
  }
  read_embedding_params(fields, limits, &request.params);
  fields.boolean("item_first");  // of two vectors none is the first
  if (fields.has("label_token_ids")) {
    fields.fail(ApiError::unsupported("label_token_ids",
                                      "this model gives vectors, not the odds of tokens"));
  }
  if (fields.boolean("apply_softmax").value_or(false)) {
    fields.fail(ApiError::unsupported("apply_softmax", "scores are the cosines of two vectors"));
  }
  return finished_vectors(fields, std::move(request));
}

std::variant<RerankRequest, ApiError> read_rerank_request(const Json& body,
                                                          const ApiLimits& limits) {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  RerankRequest request;
  const std::optional<std::string> query = fields.text("query");
  if (!query.has_value()) {
    fields.fail(ApiError::missing("query"));
  } else if (query->empty()) {
    fields.fail(no_text("query"));
  }
  request.query = query.value_or("");
  request.documents = read_documents(fields, limits);
  read_embedding_params(fields, limits, &request.params);
  request.top_n = fields.integer("top_n", 1, limits.max_token_ids);
  request.return_documents = fields.boolean("return_documents").value_or(false);
  return finished_vectors(fields, std::move(request));
}

}  // namespace plumb
