// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/token_id.h"
#include "request/sampling_params.h"

namespace plumb {

class CompiledGrammar;

/// Identity of one sequence inside an engine; unique for its lifetime, in order of submission.
enum class SeqId : std::uint64_t {};

/// Priorities are within ± this.
inline constexpr std::int64_t kMaxPriority = 1'000'000;

/// Tokens in, tokens out: what the engine is asked to do. Text is the front end's business.
struct Request {
  std::string id;  ///< external id, for logs
  std::vector<TokenId> prompt;
  SamplingParams sampling;
  /// What the output must be; null = anything. Immutable, and shared by all requests that ask for
  /// the same and by the cache that compiled it.
  std::shared_ptr<const CompiledGrammar> grammar;
  std::int64_t priority = 0;    ///< within ± kMaxPriority; an option says which end is important
  std::string tenant;           ///< who asks, by the name of the key; empty = nobody in particular
  std::string routing_key;      ///< requests with equal keys do well to run together
  std::string cache_namespace;  ///< sequences share cached prefixes only inside one namespace
  std::optional<std::chrono::milliseconds> timeout;        ///< from submission to the last token
  std::optional<std::chrono::milliseconds> queue_timeout;  ///< from submission to the first step
  bool wants_phases = false;                               ///< the timings tell of each phase
};

enum class FinishReason : unsigned char {
  kNone,  ///< still running
  kEos,   ///< an end-of-generation token
  kStop,  ///< a stop token id of the request (matched_token says which), or a stop string of the
          ///< front end
  kComplete,   ///< the grammar of the request allows nothing more
  kLength,     ///< max_tokens or the context limit
  kToolCalls,  ///< the front end's: the answer has at least one complete tool call
  kAbort,      ///< cancelled, timed out or failed: see the status
};

struct TokenLogprob {
  TokenId token = -1;
  float logprob = 0.0F;  ///< natural logarithm of the model's probability
};

/// One token with what was asked to be reported about it.
struct EmittedToken {
  TokenId token = -1;
  float logprob = 0.0F;                    ///< valid if logprobs were asked for
  std::vector<TokenLogprob> top_logprobs;  ///< most likely first, ties by id
  std::int64_t rank = 0;                   ///< of a prompt token with logprobs: 1 = the most likely
};

struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t cached_tokens = 0;     ///< prompt tokens found in the prefix cache
  std::int64_t reasoning_tokens = 0;  ///< of the completion, counted by the front end
};

/// A stretch in the life of a sequence.
struct Phase {
  enum class Kind : unsigned char {
    kPrefill,    ///< one chunk of known tokens was computed
    kRetracted,  ///< preempted, until it was started again
  };
  Kind kind = Kind::kPrefill;
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
  std::int64_t num_tokens = 0;  ///< of the chunk
};

/// Of a sequence with more, the first ones are told.
inline constexpr std::int64_t kMaxPhases = 256;

/// When things happened to a sequence, on the engine's clock.
struct Timings {
  std::chrono::steady_clock::time_point submitted;
  std::chrono::steady_clock::time_point scheduled;  ///< first step that held it
  std::chrono::steady_clock::time_point first_token;
  std::chrono::steady_clock::time_point last_token;
  std::int64_t num_preemptions = 0;
  std::vector<Phase> phases;  ///< in their order, if the request wants them
};

/// What the engine tells about a sequence after a step: new tokens, and at the end why it ended.
struct StreamEvent {
  SeqId seq{};
  std::vector<EmittedToken> tokens;
  std::vector<EmittedToken> prompt_logprobs;  ///< once, before the first token, when asked for
  FinishReason finish = FinishReason::kNone;
  TokenId matched_token = -1;  ///< with kStop by a token id
  std::string status_message;  ///< with kAbort
  Code status =
      Code::kOk;  ///< with kAbort: kCancelled, kDeadlineExceeded, kResourceExhausted, kInternal, …
  Usage usage;    ///< so far
  Timings timings;  ///< with a finish
};

/// Receives the events of one sequence in order; the last one has a finish reason and nothing
/// follows it. Thread: engine. An implementation must not block and must not call the engine back
/// synchronously except abort().
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(StreamEvent event) = 0;
};

}  // namespace plumb
