// SPDX-License-Identifier: Apache-2.0
#include "frontend/embedding_service.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plumb {
namespace {

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(),
                            [](float x, float y) { return static_cast<double>(x) * y; });
}

// Tokens that stand before and after the text of an input.
struct Marks {
  std::size_t num_before = 0;
  std::size_t num_after = 0;
};

Marks marks_of(const Tokenizer& tokenizer) {
  const std::vector<TokenId> marks = tokenizer.encode("", {.add_special = true});
  const SpecialIds& ids = tokenizer.special_ids();
  const bool has_first =
      !marks.empty() && (marks.front() == ids.classification || marks.front() == ids.bos);
  return {has_first ? std::size_t{1} : 0, marks.size() - (has_first ? 1 : 0)};
}

}  // namespace

// Keeps the first tokens of the text, and the marks around it.
std::optional<ApiError> EmbeddingService::fit(const EmbeddingParams& params,
                                              const std::string& param, bool has_marks,
                                              std::vector<TokenId>* ids) const {
  const std::int64_t longest = embedder_.max_length();
  std::int64_t limit = longest;
  if (params.truncate_prompt_tokens.has_value()) {
    const std::int64_t wanted = *params.truncate_prompt_tokens;
    if (wanted > longest) {
      return ApiError::invalid("invalid_value", "truncate_prompt_tokens",
                               "'truncate_prompt_tokens' is " + std::to_string(wanted) +
                                   ", expected at most " + std::to_string(longest));
    }
    limit = wanted < 0 ? longest : wanted;
  } else if (std::ssize(*ids) > longest) {
    ApiError error = ApiError::context_length(param, std::ssize(*ids), 0, longest);
    error.message += std::string(", or let it be cut with '") + params.truncation_field + "'";
    return error;
  }
  if (std::ssize(*ids) <= limit) {
    return std::nullopt;
  }
  const Marks marks = has_marks ? marks_of(model_.tokenizer()) : Marks{};
  const auto num_marks = static_cast<std::int64_t>(marks.num_before + marks.num_after);
  if (limit <= num_marks) {
    return ApiError::invalid("invalid_value", "truncate_prompt_tokens",
                             "'truncate_prompt_tokens' is " + std::to_string(limit) +
                                 ", expected more than the " + std::to_string(num_marks) +
                                 " tokens that the model puts around a text");
  }
  const auto keep_end = static_cast<std::ptrdiff_t>(marks.num_after);
  ids->erase(ids->begin() + static_cast<std::ptrdiff_t>(limit) - keep_end, ids->end() - keep_end);
  return std::nullopt;
}

std::variant<EmbeddingJob, ApiError> EmbeddingService::prepare(
    const std::vector<Prompt>& inputs, const EmbeddingParams& params, const char* param,
    const std::atomic<bool>& is_unwanted) const {
  const Tokenizer& tokenizer = model_.tokenizer();
  EmbeddingJob job;
  for (const Prompt& input : inputs) {
    if (is_unwanted.load()) {
      return ApiError::for_http(503, "nobody waits for this request any more");
    }
    const std::string place =
        inputs.size() > 1 ? param + ("[" + std::to_string(job.sequences.size()) + "]") : param;
    const auto* text = std::get_if<std::string>(&input);
    std::vector<TokenId> ids = text != nullptr ? tokenizer.encode(*text, {.add_special = true})
                                               : std::get<std::vector<TokenId>>(input);
    for (const TokenId id : ids) {
      if (id < 0 || id >= tokenizer.vocab_size()) {
        return ApiError::invalid("invalid_value", place,
                                 "token " + std::to_string(id) + " in '" + place +
                                     "', expected 0 to " +
                                     std::to_string(tokenizer.vocab_size() - 1) +
                                     "; ids of another tokenizer? send text");
      }
    }
    if (ids.empty()) {
      return ApiError::invalid("invalid_value", place,
                               "'" + place + "' gives no tokens, expected at least 1");
    }
    if (std::optional<ApiError> error = fit(params, place, text != nullptr, &ids)) {
      return *std::move(error);
    }
    job.sequences.push_back(std::move(ids));
  }
  return job;
}

std::optional<ApiError> EmbeddingService::check_dimensions(const EmbeddingRequest& request) const {
  const std::int64_t hidden = embedder_.model().facts().hidden_size;
  if (!request.dimensions.has_value() || *request.dimensions <= hidden) {
    return std::nullopt;
  }
  return ApiError::invalid("invalid_value", "dimensions",
                           "'dimensions' is " + std::to_string(*request.dimensions) +
                               ", expected 1 to " + std::to_string(hidden));
}

void EmbeddingService::export_metrics(Metrics& metrics) const {
  const EmbedderStats stats = embedder_.stats();
  metrics.gauge("plumb_embedding_inputs_waiting", "inputs that wait for their vectors")
      .set(static_cast<double>(stats.num_waiting));
  const auto total = [&](const char* name, const char* help, std::int64_t value) {
    metrics.counter(name, help).raise_to(static_cast<double>(value));
  };
  total("plumb_embedding_inputs_total", "inputs that became vectors since the start",
        stats.num_sequences);
  total("plumb_embedding_tokens_total", "tokens of these inputs", stats.num_tokens);
  total("plumb_embedding_batches_total", "passes that computed them", stats.num_batches);
}

std::int64_t num_tokens_of(const EmbeddingJob& job) {
  std::int64_t sum = 0;
  for (const std::vector<TokenId>& sequence : job.sequences) {
    sum += std::ssize(sequence);
  }
  return sum;
}

void finish_vector(const EmbeddingRequest& request, std::vector<float>* vector) {
  if (request.dimensions.has_value()) {
    vector->resize(std::min(vector->size(), static_cast<std::size_t>(*request.dimensions)));
  }
  const double norm = std::sqrt(dot(*vector, *vector));
  if (request.normalize && norm > 0) {
    for (float& value : *vector) {
      value = static_cast<float>(value / norm);
    }
  }
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  const double norms = std::sqrt(dot(a, a) * dot(b, b));
  return norms > 0 ? dot(a, b) / norms : 0.0;
}

}  // namespace plumb
