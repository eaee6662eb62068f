// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_core.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "request/cache_namespace.h"
#include "tensor/host_allocator.h"

namespace plumb {
namespace {

void charge_queue(QueueGauge* queue, std::int64_t num_requests, std::int64_t num_tokens) {
  queue->num_requests.fetch_add(num_requests, std::memory_order_relaxed);
  queue->num_tokens.fetch_add(num_tokens, std::memory_order_relaxed);
}

std::optional<Clock::TimePoint> deadline_after(Clock::TimePoint from,
                                               std::optional<std::chrono::milliseconds> own,
                                               std::chrono::milliseconds general) {
  if (general.count() > 0) {
    own = std::min(own.value_or(general), general);
  }
  constexpr std::chrono::milliseconds kFar = std::chrono::hours(24 * 365);
  return own && *own < kFar ? std::optional(from + *own) : std::nullopt;
}

// Forced tokens are not chosen: nothing of the request may be about the choice, and nobody may want
// its probability.
bool is_free_to_jump(const SamplingParams& params) {
  return !params.logprobs && params.bad_words.empty() && params.logit_bias.empty() &&
         params.allowed_token_ids.empty() && params.processors.empty();
}

}  // namespace

EngineCore::~EngineCore() {
  abort_all({Code::kUnavailable, "the engine is stopped"});
  deliver_ended();
}

void EngineCore::start_worker() {
  worker_.start();
}

void EngineCore::add(SeqId id, Request request, std::int64_t max_output, Clock::TimePoint submitted,
                     EventSink& sink) {
  auto seq = std::make_unique<Sequence>();
  seq->id = id;
  seq->sink = &sink;
  seq->tokens = std::move(request.prompt);
  seq->request = std::move(request);
  if (!weights_id_.empty()) {
    seq->request.cache_namespace =
        cache_namespace({{"weights", weights_id_}, {"namespace", seq->request.cache_namespace}});
  }
  seq->prompt_len = seq->num_tokens();
  seq->max_output = max_output;
  const SamplingParams& params = seq->request.sampling;
  if (has_penalties(params)) {
    seq->counts.emplace().add_prompt(seq->tokens);
  }
  for (const LogitProcessorSpec& spec : params.processors) {
    Result<std::unique_ptr<LogitProcessor>> made =
        make_logit_processor(spec, request_limits_.vocab_size);
    PLUMB_CHECK(made.ok(), made.status().message());  // the request was checked
    seq->processors.push_back(std::move(made).value());
  }
  if (seq->request.grammar != nullptr) {
    seq->grammar.emplace(seq->request.grammar);
    seq->can_jump = options_.jump_forward && is_free_to_jump(params);
  }
  if (!params.ignore_eos) {
    seq->ends = parts_.end_tokens;
  }
  seq->ends.insert(seq->ends.end(), params.stop_token_ids.begin(), params.stop_token_ids.end());
  seq->timings.submitted = submitted;
  seq->usage.prompt_tokens = seq->prompt_len;
  seq->deadline = deadline_after(submitted, seq->request.timeout, options_.timeout);
  seq->queue_deadline =
      deadline_after(submitted, seq->request.queue_timeout, options_.queue_timeout);
  seq->tenant = queues_.fair().tenant(seq->request.tenant);
  seq->lane = options_.scheduler.tenant_fairness ? seq->tenant : TenantId{};
  if (options_.scheduler.priority_order == PriorityOrder::kLowFirst) {
    seq->request.priority = -seq->request.priority;  // from here on higher is more important
  }
  if (uses_priority(options_.scheduler.schedule_policy)) {
    seq->priority = seq->request.priority;
  }
  seq->tokens_at_arrival = totals_.prefill_tokens + totals_.completion_tokens;
  seq->key = planner_.schedule().key(snapshot_of(*seq));
  ++totals_.num_submitted;
  ++num_unstarted_;
  queues_.add(std::move(seq));
}

void EngineCore::abort(SeqId id, const Status& status) {
  if (Sequence* seq = queues_.find(id); seq != nullptr) {
    seq->end = {FinishReason::kAbort, -1, status};
    finish(*seq);
  }
}

void EngineCore::abort_all(const Status& status) {
  while (!queues_.empty()) {
    abort(queues_.any().id, status);
  }
  settle();
}

void EngineCore::flush_cache() {
  PLUMB_CHECK(!has_work(), "the cache is flushed while sequences use it");
  cache_->flush();
  if (tiers_) {
    tiers_->clear();
  }
  publish_events();
}

Status EngineCore::release_cache_memory() {
  if (&parts_.backend->allocator() != &host_allocator()) {
    return {Code::kUnsupported, "the KV cache is in the memory of a device, which keeps it"};
  }
  flush_cache();
  if (tiers_) {
    PLUMB_RETURN_IF_ERROR(tiers_->discard_memory());
  }
  cache_->discard_memory();
  trim_host_memory();
  return {};
}

std::unique_ptr<Model> EngineCore::exchange_model(std::unique_ptr<Model> model, std::string id) {
  PLUMB_CHECK(!has_work(), "the model is exchanged while sequences use it");
  std::swap(parts_.model, model);
  runner_.set_model(parts_.model.get());
  weights_id_ = std::move(id);
  return model;
}

void EngineCore::publish_events() {
  if (events_ != nullptr) {
    events_->append(cache_->take_events(), parts_.clock->wall_now());
  }
}

// Shares the sequence's full blocks with later ones; it goes on using them.
void EngineCore::store(Sequence& seq, bool first_to_evict) {
  cache_->store(
      seq.request.cache_namespace,
      std::span<const TokenId>(seq.tokens).first(static_cast<std::size_t>(seq.num_computed)),
      {.priority = seq.request.priority, .first_to_evict = first_to_evict}, &seq.blocks);
  if (tiers_) {
    tiers_->on_stored(seq);
  }
}

// What it holds is given back at once, or after the steps under way, which still use it. The last
// event, after which the sink may be gone, comes later.
void EngineCore::finish(Sequence& seq) {
  seq.is_leaving = seq.num_steps > 0;
  if (!seq.is_leaving) {
    give_back(seq);
  }
  if (!seq.was_started) {
    forget_unstarted(seq);
  }
  if (seq.end.reason != FinishReason::kAbort) {
    planner_.observe_end(snapshot_of(seq));
  }
  ++(seq.end.reason == FinishReason::kAbort ? totals_.num_aborted : totals_.num_finished);
  ended_.push_back(queues_.remove(seq));
}

void EngineCore::give_back(Sequence& seq) {
  const bool was_computed_well =
      seq.end.status.code() != Code::kInternal && seq.end.status.code() != Code::kDeviceLost;
  if (seq.is_running && was_computed_well) {
    store(seq, false);
  }
  cache_->release(&seq.blocks);
  if (tiers_) {
    tiers_->forget(seq);
  }
}

void EngineCore::deliver_ended() {
  for (std::unique_ptr<Sequence>& seq : ended_) {
    deliver(*seq);
    if (seq->num_steps > 0) {
      leaving_.push_back(std::move(seq));
    }
  }
  ended_.clear();
}

void EngineCore::deliver(Sequence& seq) {
  StreamEvent event;
  event.seq = seq.id;
  if (!seq.emitted.empty()) {
    event.tokens = std::exchange(seq.emitted, {});
    event.prompt_logprobs = std::exchange(seq.prompt_logprobs, {});
  }
  event.finish = seq.end.reason;
  event.usage = seq.usage;
  if (seq.end.reason != FinishReason::kNone) {
    event.matched_token = seq.end.matched_token;
    event.status = seq.end.status.code();
    event.status_message = seq.end.status.message();
    event.timings = seq.timings;
    if (parts_.observer != nullptr) {
      parts_.observer->on_end(seq.request, event);
    }
  }
  seq.sink->on_event(std::move(event));
}

void EngineCore::forget_unstarted(const Sequence& seq) {
  --num_unstarted_;
  charge_queue(&queue_, -1, -seq.prompt_len);
}

}  // namespace plumb
