// SPDX-License-Identifier: Apache-2.0
// Bodies of the routes that answer with vectors: texts or token ids, none of them empty, or an
// error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/embedding_request.h"
#include "api/ollama_embed.h"
#include "base/check.h"
#include "base/json.h"

namespace plumb {
namespace {

/// The request, or null for an error, which must say why.
template <class Request>
const Request* read_or_reason(const std::variant<Request, ApiError>& read) {
  if (const auto* error = std::get_if<ApiError>(&read)) {
    PLUMB_CHECK(error->http_status == 400 && !error->message.empty(), "an error without a reason");
  }
  return std::get_if<Request>(&read);
}

void check_inputs(const std::vector<Prompt>& inputs) {
  for (const Prompt& input : inputs) {
    const auto* text = std::get_if<std::string>(&input);
    PLUMB_CHECK(text != nullptr ? !text->empty() : !std::get<1>(input).empty(), "an empty input");
  }
}

}  // namespace
}  // namespace plumb

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const Result<Json> body = parse_json({reinterpret_cast<const char*>(data), size});
  if (!body.ok()) {
    return 0;
  }
  const ApiLimits limits;
  const auto embedding = read_embedding_request(body.value(), limits);
  if (const EmbeddingRequest* request = read_or_reason(embedding)) {
    PLUMB_CHECK(!request->inputs.empty(), "nothing to embed");
    check_inputs(request->inputs);
  }
  const auto score = read_score_request(body.value(), limits);
  if (const ScoreRequest* request = read_or_reason(score)) {
    PLUMB_CHECK(request->queries.size() == 1 || request->queries.size() == request->items.size(),
                "queries and items that do not pair");
  }
  const auto rerank = read_rerank_request(body.value(), limits);
  if (const RerankRequest* request = read_or_reason(rerank)) {
    PLUMB_CHECK(!request->query.empty() && !request->documents.empty(), "nothing to rank");
  }
  const auto embed = read_ollama_embed(body.value(), limits);
  if (const OllamaEmbedRequest* request = read_or_reason(embed)) {
    check_inputs(request->embedding.inputs);
  }
  const auto older = read_ollama_embeddings(body.value(), limits);
  if (const OllamaEmbedRequest* request = read_or_reason(older)) {
    check_inputs(request->embedding.inputs);
  }
  return 0;
}
