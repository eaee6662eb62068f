// SPDX-License-Identifier: Apache-2.0
// What a step chose, and what follows from it for each sequence.
#include <algorithm>
#include <utility>

#include "engine/engine_core.h"

namespace plumb {

void EngineCore::take_rows(StepJob* job) {
  for (std::size_t i = 0; i < job->rows.size(); ++i) {
    const LogitsRow& row = job->rows[i];
    Result<EmittedToken>& result = job->results[i];
    Sequence& seq = *row.sequence;
    if (seq.end.reason != FinishReason::kNone) {
      continue;  // one step behind its end
    }
    if (!result.ok()) {
      seq.end = {FinishReason::kAbort, -1, result.status()};
    } else if (row.is_prompt) {
      seq.prompt_logprobs.push_back(std::move(result).value());
    } else {
      take_token(seq, std::move(result).value(), job->computed);
    }
  }
}

void EngineCore::take_token(Sequence& seq, EmittedToken token, Clock::TimePoint now) {
  append_token(seq, std::move(token), now);
  if (!seq.can_jump || seq.end.reason != FinishReason::kNone) {
    return;
  }
  for (const TokenId forced : seq.grammar->forced(seq.max_output - seq.num_output())) {
    append_token(seq, {forced, 0.0F, {}}, now);
    ++totals_.num_forced_tokens;
    if (seq.end.reason != FinishReason::kNone) {
      return;
    }
  }
}

void EngineCore::append_token(Sequence& seq, EmittedToken token, Clock::TimePoint now) {
  const TokenId id = token.token;
  seq.tokens.push_back(id);
  if (seq.counts) {
    seq.counts->add_output(id);
  }
  seq.timings.last_token = now;
  if (seq.num_output() == 1) {
    seq.timings.first_token = now;
  }
  seq.usage.completion_tokens = seq.num_output();
  ++totals_.completion_tokens;
  seq.emitted.push_back(std::move(token));
  const SamplingParams& params = seq.request.sampling;
  const auto is_in = [id](const std::vector<TokenId>& ids) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  if (seq.num_output() >= seq.max_output) {
    seq.end.reason = FinishReason::kLength;
  } else if (seq.num_output() > params.min_tokens && is_in(seq.ends)) {
    const bool is_stop = is_in(params.stop_token_ids);
    seq.end = {is_stop ? FinishReason::kStop : FinishReason::kEos, is_stop ? id : -1, {}};
  } else if (seq.grammar) {
    follow_grammar(seq, id);
  }
}

void EngineCore::follow_grammar(Sequence& seq, TokenId token) {
  if (Status status = seq.grammar->accept(token); !status.ok()) {
    seq.end = {FinishReason::kAbort, -1, std::move(status)};
  } else if (seq.grammar->is_finished(mask_)) {
    seq.end.reason = FinishReason::kComplete;
  }
}

}  // namespace plumb
