// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "base/token_id.h"

namespace plumb {

/// A built-in logit processor by name, with its parameters (see sampling/logit_processor.h).
struct LogitProcessorSpec {
  std::string name;
  JsonObject params;
};

/// Which distribution reported log probabilities belong to.
enum class LogprobsMode : unsigned char {
  kRaw,        ///< the model's
  kProcessed,  ///< after masks, bans, bias, penalties, processors and temperature
};

/// How the next token is chosen from the logits of one sequence. Defaults: plain sampling at
/// temperature 1.
///
/// Order of application: grammar, allow-list, bad words and bias, minimum length, penalties,
/// processors, temperature, top-k, top-p on the renormalised rest, min-p, draw.
struct SamplingParams {
  double temperature =
      1.0;                 ///< >= 0; below 1e-5 the most likely token is taken (lowest id on ties)
  double top_p = 1.0;      ///< (0, 1]
  std::int64_t top_k = 0;  ///< <= 0 = off
  double min_p = 0.0;      ///< [0, 1]
  bool joint_top_k_top_p = false;   ///< top-p counts the whole distribution, not what top-k left
  double repetition_penalty = 1.0;  ///< (0, 2]; tokens of prompt and output
  double frequency_penalty = 0.0;   ///< [-2, 2]; per occurrence in the output
  double presence_penalty = 0.0;    ///< [-2, 2]; once if in the output
  std::vector<std::pair<TokenId, float>> logit_bias;
  std::vector<TokenId> allowed_token_ids;       ///< empty = all
  std::vector<std::vector<TokenId>> bad_words;  ///< sequences that the output never completes
  std::vector<LogitProcessorSpec> processors;   ///< in order of application
  std::uint64_t seed = 0;                       ///< the request's own stream of random numbers

  std::int64_t max_tokens = 0;  ///< completion tokens; 0 = as many as the context holds
  std::int64_t min_tokens = 0;  ///< no end before that many
  bool ignore_eos = false;      ///< end-of-generation tokens do not stop (stop_token_ids still do)
  std::vector<TokenId> stop_token_ids;

  bool logprobs = false;  ///< report the log probability of each chosen token
  int top_logprobs = 0;   ///< and of that many most likely ones, 0..20
  LogprobsMode logprobs_mode = LogprobsMode::kRaw;
  bool prompt_logprobs = false;  ///< report those of the prompt's tokens too (the first has none)
  int prompt_top_logprobs = 0;   ///< and of that many most likely ones, 0..20

  bool is_greedy() const { return temperature < 1e-5 || top_k == 1; }
};

/// Checks every range; the message names the field, the value and the limit.
Status validate(const SamplingParams& params, std::int64_t vocab_size);

}  // namespace plumb
