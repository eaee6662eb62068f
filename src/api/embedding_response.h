// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/embedding_request.h"
#include "base/json.h"

namespace plumb {

/// A vector as the wire has it: a list of numbers, or the base64 of its little-endian floats.
Json embedding_to_json(std::span<const float> vector, bool as_base64);

/// {"object":"list","data":[{"object":"embedding","index","embedding"}],"model","usage"}
Json embeddings_to_json(const std::vector<std::vector<float>>& vectors, bool as_base64,
                        const std::string& model, std::int64_t num_tokens);

/// vLLM's list of score objects, or SGLang's {"scores":[[…]]} for a request with 'items'.
Json scores_to_json(std::span<const double> scores, bool has_items_field, std::string id,
                    std::int64_t created, const std::string& model, std::int64_t num_tokens);

/// The documents of a request by falling score, of equal ones the first first.
Json ranking_to_json(const RerankRequest& request, std::span<const double> scores, std::string id,
                     const std::string& model, std::int64_t num_tokens);

}  // namespace plumb
