// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>

#include "base/clock.h"
#include "base/metrics.h"
#include "engine/engine.h"
#include "frontend/constraint_compiler.h"
#include "frontend/generation.h"
#include "frontend/served_model.h"
#include "request/kv_event.h"

namespace plumb {

/// A text model on a running engine: what server, chat and offline runs talk to.
/// Thread: any.
class TextService {
 public:
  /// All of it outlives the service. Without an engine (null) the model generates nothing.
  TextService(const ServedModel& model, Engine* engine, ConstraintCompiler& constraints,
              const Clock& clock)
      : model_(model), engine_(engine), constraints_(constraints), clock_(clock) {}

  /// Whether there is an engine that new_generation() can use.
  bool can_generate() const { return engine_ != nullptr; }

  const ServedModel& model() const { return model_; }

  ConstraintCompiler& constraints() { return constraints_; }

  /// Requires can_generate().
  std::shared_ptr<Generation> new_generation(GenerationListener& listener,
                                             Generation::Executor executor);

  /// The engine serves, and its last step is not older than max_age while it is busy.
  bool is_healthy(std::chrono::nanoseconds max_age) const;
  /// Sets the gauges of queue, cache and totals.
  void export_metrics(Metrics& metrics) const;

  /// Zeros without an engine.
  EngineStats stats() const { return can_generate() ? engine_->stats() : EngineStats{}; }

  /// As Engine::pause(); nothing to do without an engine.
  void pause(PauseMode mode) {
    if (can_generate()) {
      engine_->pause(mode);
    }
  }

  /// As Engine::resume().
  void resume() {
    if (can_generate()) {
      engine_->resume();
    }
  }

  /// As Engine::flush_cache(); nothing to do without an engine.
  Status flush_cache() { return can_generate() ? engine_->flush_cache() : Status(); }

  /// Whether the engine keeps events of its prefix cache.
  bool has_kv_events() const { return can_generate() && engine_->kv_events() != nullptr; }

  /// Number of the next batch of events. Requires has_kv_events().
  std::uint64_t next_kv_event() const { return engine_->kv_events()->next_seq(); }

  /// Batches from a number on, about max_bytes of them. Requires has_kv_events().
  KvEventPage read_kv_events(std::uint64_t from, std::int64_t max_bytes) const {
    return engine_->kv_events()->read(from, max_bytes);
  }

  /// When a client that found the queue full does well to come again.
  /// Requires can_generate(), as for the next two.
  std::chrono::seconds retry_after() const { return engine_->retry_after(); }

  /// As Engine::uses_priority().
  bool uses_priority() const { return engine_->uses_priority(); }

  /// Sequences computed at a time; 0 without an engine.
  std::int64_t max_num_seqs() const { return can_generate() ? engine_->options().max_num_seqs : 0; }

  /// Sequences that may wait at once: a request with more choices can never be accepted.
  std::int64_t max_choices() const;

 private:
  const ServedModel& model_;
  Engine* engine_;
  ConstraintCompiler& constraints_;
  const Clock& clock_;
};

}  // namespace plumb
