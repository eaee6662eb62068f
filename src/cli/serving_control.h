// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "checkpoint/checkpoint.h"
#include "engine/engine.h"
#include "frontend/model_control.h"
#include "frontend/served_model.h"

namespace plumb {

/// What a ServingControl works on; all of it outlives it, and the engine's thread runs.
struct ServingControlParts {
  Engine& engine;
  ServedModel& text;
  Checkpoint& checkpoint;  ///< of the weights that are in use at first
  const Clock& clock;
  /// Loads the weights of a checkpoint as they were loaded at the start.
  std::function<Result<std::unique_ptr<Model>>(Checkpoint& checkpoint)> load;
};

/// Changes memory and weights of a running engine while nobody uses it.
class ServingControl final : public ModelControl {
 public:
  explicit ServingControl(ServingControlParts parts);

  MemoryTags released() const override;
  Result<MemoryTags> release(const MemoryTags& tags) override;
  Result<MemoryTags> resume(const MemoryTags& tags) override;
  WeightsUpdate update_weights(const std::string& path, bool flush_cache) override;

 private:
  class Turn;

  Status close(const std::string& reason);
  Status refuse_for(const MemoryTags& tags);
  void set_released(const MemoryTags& tags);
  Status release_weights();
  Status resume_weights();
  Result<std::unique_ptr<Model>> load(const std::string& path,
                                      std::unique_ptr<Checkpoint>* checkpoint) const;
  Checkpoint& current();

  const ServingControlParts parts_;
  mutable Mutex mutex_;
  MemoryTags released_ PLUMB_GUARDED_BY(mutex_);
  bool is_busy_ PLUMB_GUARDED_BY(mutex_) = false;
  // Of whose turn it is.
  std::unique_ptr<Checkpoint> updated_;  // of the weights in use, once they were replaced
  std::string weights_id_;               // as the engine knows them; empty for the first
  std::string content_;                  // of the file whose weights are released
  std::int64_t num_updates_ = 0;
};

}  // namespace plumb
