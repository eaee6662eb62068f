// SPDX-License-Identifier: Apache-2.0
// What may be changed of an engine while nobody uses it.
#include <utility>

#include "base/check.h"
#include "engine/engine.h"

namespace plumb {

// While it is closed the thread stays asleep, whatever comes: nobody else touches the core.
Status Engine::close(std::string reason) {
  const MutexLock lock(mutex_);
  if (must_stop_ || state_ == EngineState::kFailed) {
    return {Code::kUnavailable, "the engine is " + std::string(to_text(state_))};
  }
  if (!closed_.has_value() && (!thread_idle_ || !mail_.empty() || core_->has_work())) {
    const std::int64_t num_waiting = stats_.num_waiting + std::ssize(mail_.submissions);
    return {Code::kInvalidArgument, "the engine is in use: " + std::to_string(stats_.num_running) +
                                        " requests run, " + std::to_string(num_waiting) + " wait"};
  }
  closed_ = std::move(reason);
  return {};
}

void Engine::open() {
  {
    const MutexLock lock(mutex_);
    closed_.reset();
    stats_ = core_->stats();
  }
  has_mail_.notify_one();
}

void Engine::check_closed() const {
  const MutexLock lock(mutex_);
  PLUMB_CHECK(closed_.has_value(), "an engine that is open is changed");
}

void Engine::flush_closed_cache() {
  check_closed();
  core_->flush_cache();
}

Status Engine::release_cache_memory() {
  check_closed();
  return core_->release_cache_memory();
}

std::unique_ptr<Model> Engine::exchange_model(std::unique_ptr<Model> model, std::string id) {
  check_closed();
  return core_->exchange_model(std::move(model), std::move(id));
}

}  // namespace plumb
