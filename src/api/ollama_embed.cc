// SPDX-License-Identifier: Apache-2.0
#include "api/ollama_embed.h"

#include <utility>

#include "api/embedding_response.h"
#include "api/ollama_request.h"

namespace plumb {
namespace {

// What both routes have.
void read_ollama_model(FieldReader& fields, OllamaEmbedRequest* request) {
  EmbeddingParams& params = request->embedding.params;
  params.model = fields.text("model").value_or("");
  if (fields.ok() && params.model.empty()) {
    fields.fail(ApiError::missing(fields.path("model")));
  }
  fields.object("options");  // about sampling and the engine of Ollama
  request->keep_alive = read_keep_alive(fields);
}

// One text, or a list of texts; an empty text alone is none.
std::vector<Prompt> read_inputs(FieldReader& fields, const ApiLimits& limits) {
  constexpr const char* kTypes = "a string or an array of strings";
  std::vector<Prompt> inputs;
  const Json* field = fields.find("input");
  if (field == nullptr) {
    return inputs;
  }
  if (field->is_string()) {
    if (!field->as_string().empty()) {
      inputs.emplace_back(field->as_string());
    }
    return inputs;
  }
  if (!field->is_array()) {
    fields.fail(ApiError::wrong_type(fields.path("input"), kTypes));
    return inputs;
  }
  const JsonArray* items = fields.array("input", limits.max_prompts);
  for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
    const std::string place = fields.path("input") + "[" + std::to_string(i) + "]";
    const Json& item = (*items)[i];
    if (!item.is_string()) {
      fields.fail(ApiError::wrong_type(place, "a string"));
    } else if (item.as_string().empty()) {
      fields.fail(ApiError::invalid("invalid_value", place,
                                    "'" + place + "' is empty, expected at least one token"));
    } else {
      inputs.emplace_back(item.as_string());
    }
  }
  return inputs;
}

std::variant<OllamaEmbedRequest, ApiError> finished_embed(const FieldReader& fields,
                                                          OllamaEmbedRequest request) {
  if (!fields.ok()) {
    return *fields.error();
  }
  request.embedding.params.ignored_fields = fields.ignored();
  return request;
}

}  // namespace

std::variant<OllamaEmbedRequest, ApiError> read_ollama_embed(const Json& body,
                                                             const ApiLimits& limits) {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  OllamaEmbedRequest request;
  read_ollama_model(fields, &request);
  request.embedding.inputs = read_inputs(fields, limits);
  request.embedding.dimensions = read_dimensions(fields);
  if (fields.boolean("truncate").value_or(true)) {
    request.embedding.params.truncate_prompt_tokens = -1;
  }
  request.embedding.params.truncation_field = "truncate";
  return finished_embed(fields, std::move(request));
}

std::variant<OllamaEmbedRequest, ApiError> read_ollama_embeddings(const Json& body,
                                                                  const ApiLimits& /*limits*/) {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  OllamaEmbedRequest request;
  read_ollama_model(fields, &request);
  std::string prompt = fields.text("prompt").value_or("");
  if (!prompt.empty()) {
    request.embedding.inputs.emplace_back(std::move(prompt));
  }
  request.embedding.normalize = false;
  request.embedding.params.truncate_prompt_tokens = -1;
  return finished_embed(fields, std::move(request));
}

Json ollama_embeddings_to_json(const std::vector<std::vector<float>>& vectors,
                               const std::string& model, std::chrono::nanoseconds total,
                               std::int64_t num_tokens) {
  JsonArray embeddings;
  for (const std::vector<float>& vector : vectors) {
    embeddings.emplace_back(embedding_to_json(vector, false));
  }
  return JsonObject{{"model", model},
                    {"embeddings", std::move(embeddings)},
                    {"total_duration", std::int64_t{total.count()}},
                    {"load_duration", 0},
                    {"prompt_eval_count", num_tokens}};
}

Json ollama_embedding_to_json(const std::vector<std::vector<float>>& vectors) {
  return JsonObject{
      {"embedding", vectors.empty() ? Json(JsonArray()) : embedding_to_json(vectors[0], false)}};
}

}  // namespace plumb
