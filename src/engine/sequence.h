// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/kv_cache.h"
#include "engine/seq_tiers.h"
#include "engine/sequence_grammar.h"
#include "request/request.h"
#include "sampling/logit_processor.h"
#include "sampling/token_counts.h"
#include "scheduler/schedule_policy.h"

namespace plumb {

/// How a sequence is about to end.
struct SeqEnd {
  FinishReason reason = FinishReason::kNone;
  TokenId matched_token = -1;
  Status status;  ///< with kAbort
};

/// All that the engine knows of one request.
/// Thread: engine. While a step with it is under way, the one that computes reads the request, the
/// ends and what its choice needs (counts, processors, grammar); nobody changes these then.
struct Sequence {
  SeqId id{};
  Request request;
  EventSink* sink = nullptr;
  QueueKey key;
  TenantId tenant{};
  TenantId lane{};            ///< of the queue: the tenant, or 0 where tenants share one
  std::int64_t priority = 0;  ///< higher is more important; 0 for all where the policy has none

  std::vector<TokenId> tokens;  ///< prompt, then output
  std::int64_t prompt_len = 0;
  std::int64_t max_output = 0;
  std::int64_t num_computed = 0;  ///< tokens whose keys and values are in the cache
  SeqBlocks blocks;
  std::optional<TokenCounts> counts;  ///< with penalties
  std::vector<std::unique_ptr<LogitProcessor>> processors;
  std::optional<SequenceGrammar> grammar;
  bool can_jump = false;      ///< tokens that the grammar forces need no choice
  std::vector<TokenId> ends;  ///< end-of-generation tokens and stop tokens that count

  bool is_running = false;
  bool was_started = false;
  std::optional<Clock::TimePoint> deadline;
  std::optional<Clock::TimePoint> queue_deadline;
  Usage usage;
  Timings timings;

  // While it waits.
  PrefixPeek peek;                           ///< what the present step's plan counts on
  std::int64_t num_passed = 0;               ///< later ones that began while it was first
  std::int64_t tokens_at_arrival = 0;        ///< that the engine had computed
  std::vector<std::uint64_t> prefix_hashes;  ///< of the prompt's whole blocks, where asked for

  std::int64_t num_once_computed = 0;  ///< the most num_computed ever was
  SeqTiers tiers;

  // Of the step that is planned or taken.
  bool starts_now = false;
  std::int64_t num_step_tokens = 0;
  std::vector<EmittedToken> emitted;
  SeqEnd end;
  bool is_leaving = false;  ///< it has ended; what it holds is given back after steps under way

  // Of the steps under way.
  std::int64_t num_steps = 0;     ///< that compute something of it
  std::int64_t num_launched = 0;  ///< tokens that they compute
  std::int64_t num_chosen = 0;    ///< tokens that they choose
  std::int64_t logits_row = 0;    ///< of the last of them: what chooses its token

  std::vector<EmittedToken> prompt_logprobs;  ///< until the first token takes them along

  std::int64_t num_tokens() const { return std::ssize(tokens); }

  std::int64_t num_output() const { return num_tokens() - prompt_len; }

  /// When the steps under way are taken, unless it ends before: what is computed.
  std::int64_t next_computed() const { return num_computed + num_launched; }

  /// Likewise, its tokens.
  std::int64_t next_tokens() const { return num_tokens() + num_chosen; }

  /// Likewise, those of them that it produced.
  std::int64_t next_output() const { return num_output() + num_chosen; }

  /// The next step would compute something of it, if the steps under way do not end it by what they
  /// choose.
  bool goes_on() const { return next_output() < max_output; }

  /// Its next choice depends on the token before in more than the model's answer to it.
  bool needs_last_token() const {
    return grammar.has_value() || counts.has_value() || !processors.empty() ||
           !request.sampling.bad_words.empty();
  }

  void note(const Phase& phase) {
    if (request.wants_phases && std::ssize(timings.phases) < kMaxPhases) {
      timings.phases.push_back(phase);
    }
  }

  /// Ends the retraction that it waited in, if that was noted.
  void end_retraction(Clock::TimePoint now) {
    if (!timings.phases.empty() && timings.phases.back().end == Clock::TimePoint()) {
      timings.phases.back().end = now;
    }
  }

  /// Prompt log probabilities are still to be computed.
  bool needs_prompt_logprobs() const {
    return request.sampling.prompt_logprobs && num_output() == 0 &&
           std::ssize(prompt_logprobs) < prompt_len;
  }

  /// The tokens that a cached prefix may replace: all but the last known one, and none whose logits
  /// are wanted.
  std::span<const TokenId> reusable() const {
    std::int64_t len = num_tokens() - 1;
    if (needs_prompt_logprobs()) {
      len = std::max<std::int64_t>(std::ssize(prompt_logprobs) - 1, 0);
    }
    return std::span(tokens).first(static_cast<std::size_t>(len));
  }
};

}  // namespace plumb
