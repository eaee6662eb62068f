// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/token_id.h"
#include "request/sampling_params.h"

namespace plumb {

/// What a processor may look at besides the logits.
struct LogitContext {
  std::span<const TokenId> tokens;  ///< prompt, then output so far
  std::int64_t prompt_len = 0;

  std::span<const TokenId> output() const {
    return tokens.subspan(static_cast<std::size_t>(prompt_len));
  }
};

/// Changes the logits of one sequence before temperature; minus infinity forbids a token.
///
/// What it does is a function of parameters and tokens only, so that a preempted sequence goes on
/// as if nothing had happened.
/// Thread  engine, or the worker that computes a step with it.
class LogitProcessor {
 public:
  virtual ~LogitProcessor() = default;
  /// Shapes  logits [V].
  virtual void apply(const LogitContext& context, std::span<float> logits) const = 0;
};

/// Makes a built-in processor:
///   thinking_budget  {budget, end_token_id, start_token_id?}: after `budget` tokens since the last
///                    start token (without one: of the output) without an end token, the end token
///                    is the only choice.
///   allow_list       {token_ids}: nothing else may follow.
///   ngram_ban        {ngram_size, window_size?, whitelist_token_ids?}: no run of `ngram_size`
///                    tokens comes twice within the last `window_size` tokens of the output (absent
///                    = all of it); tokens of the whitelist are never forbidden.
///   script           {token_ids, end_token_id}: the output is those tokens and then the end token;
///                    where something else forbids the next one, the logits decide.
///
/// Errors kInvalidArgument: an unknown name (the known ones are listed), a parameter that is
/// missing, unknown or out of range. Messages begin with "custom_logit_processor".
Result<std::unique_ptr<LogitProcessor>> make_logit_processor(const LogitProcessorSpec& spec,
                                                             std::int64_t vocab_size);

/// The names that make_logit_processor() knows, comma separated.
std::string logit_processor_names();

}  // namespace plumb
