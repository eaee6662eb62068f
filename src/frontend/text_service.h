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
  /// All of it outlives the service.
  TextService(const ServedModel& model, Engine& engine, ConstraintCompiler& constraints,
              const Clock& clock)
      : model_(model), engine_(engine), constraints_(constraints), clock_(clock) {}

  const ServedModel& model() const { return model_; }

  ConstraintCompiler& constraints() { return constraints_; }

  std::shared_ptr<Generation> new_generation(GenerationListener& listener,
                                             Generation::Executor executor);

  /// The engine serves, and its last step is not older than max_age while it is busy.
  bool is_healthy(std::chrono::nanoseconds max_age) const;
  /// Sets the gauges of queue, cache and totals.
  void export_metrics(Metrics& metrics) const;

  EngineStats stats() const { return engine_.stats(); }

  /// As Engine::pause().
  void pause(PauseMode mode) { engine_.pause(mode); }

  /// As Engine::resume().
  void resume() { engine_.resume(); }

  /// As Engine::flush_cache().
  Status flush_cache() { return engine_.flush_cache(); }

  /// Whether the engine keeps events of its prefix cache.
  bool has_kv_events() const { return engine_.kv_events() != nullptr; }

  /// Number of the next batch of events. Requires has_kv_events().
  std::uint64_t next_kv_event() const { return engine_.kv_events()->next_seq(); }

  /// Batches from a number on, about max_bytes of them. Requires has_kv_events().
  KvEventPage read_kv_events(std::uint64_t from, std::int64_t max_bytes) const {
    return engine_.kv_events()->read(from, max_bytes);
  }

  /// When a client that found the queue full does well to come again.
  std::chrono::seconds retry_after() const { return engine_.retry_after(); }

  /// As Engine::uses_priority().
  bool uses_priority() const { return engine_.uses_priority(); }

  /// Sequences computed at a time.
  std::int64_t max_num_seqs() const { return engine_.options().max_num_seqs; }

  /// Sequences that may wait at once: a request with more choices can never be accepted.
  std::int64_t max_choices() const;

 private:
  const ServedModel& model_;
  Engine& engine_;
  ConstraintCompiler& constraints_;
  const Clock& clock_;
};

}  // namespace plumb
