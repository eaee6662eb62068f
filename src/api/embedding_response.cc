// SPDX-License-Identifier: Apache-2.0
#include "api/embedding_response.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/digest.h"

namespace plumb {
namespace {

Json embedding_usage(std::int64_t num_tokens) {
  return JsonObject{{"prompt_tokens", num_tokens}, {"total_tokens", num_tokens}};
}

}  // namespace

Json embedding_to_json(std::span<const float> vector, bool as_base64) {
  if (!as_base64) {
    JsonArray numbers;
    for (const float value : vector) {
      numbers.emplace_back(static_cast<double>(value));
    }
    return numbers;
  }
  std::vector<std::uint8_t> bytes;
  bytes.reserve(vector.size() * sizeof(float));
  for (const float value : vector) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<std::uint8_t>((bits >> shift) & 0xFF));
    }
  }
  return to_base64(bytes);
}

Json embeddings_to_json(const std::vector<std::vector<float>>& vectors, bool as_base64,
                        const std::string& model, std::int64_t num_tokens) {
  JsonArray data;
  for (const std::vector<float>& vector : vectors) {
    data.emplace_back(JsonObject{{"object", "embedding"},
                                 {"index", std::ssize(data)},
                                 {"embedding", embedding_to_json(vector, as_base64)}});
  }
  return JsonObject{{"object", "list"},
                    {"data", std::move(data)},
                    {"model", model},
                    {"usage", embedding_usage(num_tokens)}};
}

Json scores_to_json(std::span<const double> scores, bool has_items_field, std::string id,
                    std::int64_t created, const std::string& model, std::int64_t num_tokens) {
  JsonArray list;
  for (const double score : scores) {
    if (has_items_field) {
      list.emplace_back(JsonArray{score});
    } else {
      list.emplace_back(
          JsonObject{{"index", std::ssize(list)}, {"object", "score"}, {"score", score}});
    }
  }
  JsonObject out{{"id", std::move(id)}, {"object", has_items_field ? "scoring" : "list"}};
  out.append("created", created);
  out.append("model", model);
  out.append(has_items_field ? "scores" : "data", std::move(list));
  out.append("usage", embedding_usage(num_tokens));
  return out;
}

Json ranking_to_json(const RerankRequest& request, std::span<const double> scores, std::string id,
                     const std::string& model, std::int64_t num_tokens) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  if (request.top_n.has_value()) {
    order.resize(std::min(order.size(), static_cast<std::size_t>(*request.top_n)));
  }
  JsonArray results;
  for (const std::size_t index : order) {
    JsonObject result{{"index", static_cast<std::int64_t>(index)},
                      {"relevance_score", scores[index]}};
    if (request.return_documents) {
      result.append("document", JsonObject{{"text", request.documents[index]}});
    }
    results.emplace_back(std::move(result));
  }
  return JsonObject{{"id", std::move(id)},
                    {"model", model},
                    {"results", std::move(results)},
                    {"usage", embedding_usage(num_tokens)}};
}

}  // namespace plumb
