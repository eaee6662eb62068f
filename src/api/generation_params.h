// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/constraint.h"
#include "api/field_reader.h"
#include "base/json.h"
#include "request/sampling_params.h"

namespace plumb {

/// The most tokens that a field can name: no limit of its own, but nothing overflows below it.
inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;

/// Limits of what one request may ask for.
struct ApiLimits {
  std::int64_t max_n = 128;
  std::int64_t max_best_of = 20;
  std::int64_t max_stops = 16;
  std::int64_t max_stop_bytes = 1024;
  std::int64_t max_stop_token_ids = 128;
  std::int64_t max_logit_bias = 1024;
  std::int64_t max_logprobs = 20;
  std::int64_t max_messages = 10'000;
  std::int64_t max_prompts = 2'048;
  std::int64_t max_token_ids = 4'000'000;
  std::int64_t max_tokenize_bytes = 4 << 20;  ///< of the texts of /tokenize
  std::int64_t max_cache_salt = 1'024;
  std::int64_t max_bad_words = 1'024;
  std::int64_t max_bad_word_tokens = 64;
  std::int64_t max_processors = 8;
  std::int64_t max_routing_key = 256;
};

/// A text that must not come out, or the ids of its tokens.
using BadWord = std::variant<std::string, std::vector<TokenId>>;

/// What a model's generation_config.json recommends; used where a request is silent.
struct SamplingDefaults {
  double temperature = 1.0;
  double top_p = 1.0;
  std::int64_t top_k = 0;
  double min_p = 0.0;
  double repetition_penalty = 1.0;
};

/// The part that Chat Completions and Completions have in common.
struct GenerationParams {
  std::string model;  ///< as asked; empty = the served one
  SamplingParams sampling;
  bool has_seed = false;
  std::int64_t n = 1;
  std::int64_t choices_per_prompt = 1;  ///< computed, of which n are returned; the caller's to set
  std::vector<std::string> stops;
  std::vector<std::string> stop_regex;
  std::vector<BadWord> bad_words;
  ConstraintSpec constraint;
  std::optional<std::int64_t> thinking_budget;             ///< tokens between the thinking marks
  const char* thinking_budget_field = "reasoning_budget";  ///< that said it
  const char* prompt_field = "prompt";  ///< that has the prompts where there are several
  std::optional<std::int64_t> truncate_prompt_tokens;  ///< keep that many of the prompt's end
  /// A max_tokens beyond the room that the prompt leaves means all of it; otherwise it is refused.
  bool clamps_max_tokens = false;
  std::int64_t context_limit = 0;  ///< of prompt and completion, below the model's; 0 = none
  bool include_stop_str = false;
  bool skip_special_tokens = true;
  bool stream = false;
  bool include_usage = false;
  bool continuous_usage = false;
  bool return_token_ids = false;
  bool logprobs_of_reasoning = false;  ///< are listed too
  bool return_prompt_logprobs = false;
  bool return_meta_info = false;
  bool tokens_as_ids = false;  ///< name tokens "token_id:N" in log probabilities
  std::int64_t stream_interval = 1;
  std::string request_id;  ///< the client's; empty = the header's or a new one
  std::int64_t priority = 0;
  std::string cache_salt;
  std::string routing_key;
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::chrono::milliseconds> queue_timeout;
};

/// Adds the stop strings of a field, a string or an array of them; empty ones are dropped.
void read_stop_strings(FieldReader& fields, const char* name, const ApiLimits& limits,
                       std::vector<std::string>* stops);

/// Reads those fields; errors stay in the reader. Token ids are checked against the vocabulary by
/// the engine. Fields that need what this build does not offer (schemas, images, audio …) are
/// refused by name, never ignored.
GenerationParams read_generation_params(FieldReader& fields, const SamplingDefaults& defaults,
                                        const ApiLimits& limits);

}  // namespace plumb
