// SPDX-License-Identifier: Apache-2.0
#include "net/task.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <memory>

#include "base/check.h"

namespace plumb {
namespace {

/// A sleep that a timer or a stop request ends, whichever comes first.
struct Sleep : std::enable_shared_from_this<Sleep> {
  explicit Sleep(IoContext& loop_in) : loop(loop_in) {}

  void end(bool elapsed) {
    if (!done) {
      return;
    }
    loop.cancel(timer);
    UniqueFunction<void(bool)> call = std::move(done);
    done = nullptr;
    call(elapsed);
  }

  IoContext& loop;
  TimerId timer;
  UniqueFunction<void(bool)> done;
};

struct WakeSleep {
  std::weak_ptr<Sleep> sleep;
  IoContext& loop;

  void operator()() const {
    loop.post([weak = sleep] {
      if (const auto locked = weak.lock()) {
        locked->end(false);
      }
    });
  }
};

}  // namespace

Task<bool> sleep_until(IoContext& loop, Clock::TimePoint at, std::stop_token stop) {
  const auto sleep = std::make_shared<Sleep>(loop);  // shared with the stop request's post
  std::optional<std::stop_callback<WakeSleep>> on_stop;
  co_return co_await await_callback<bool>([&](UniqueFunction<void(bool)> done) {
    sleep->done = std::move(done);
    sleep->timer = loop.run_at(at, [weak = std::weak_ptr(sleep)] {
      if (const auto locked = weak.lock()) {
        locked->end(true);
      }
    });
    on_stop.emplace(stop, WakeSleep{sleep, loop});
  });
}

Task<bool> sleep_for(IoContext& loop, std::chrono::nanoseconds delay, std::stop_token stop) {
  return sleep_until(loop, loop.now() + delay, std::move(stop));
}

TaskScope::TaskScope(IoContext& loop) : loop_(loop) {}

TaskScope::~TaskScope() {
  PLUMB_CHECK(num_running() == 0, "a scope of tasks is joined before it dies");
}

void TaskScope::spawn(Task<void> task) {
  {
    const MutexLock lock(mutex_);
    ++num_running_;
  }
  boost::asio::co_spawn(loop_.native(), std::move(task), [this](const std::exception_ptr& error) {
    if (error) {
      std::terminate();  // only memory exhaustion gets here: our code reports by Status
    }
    on_end();
  });
}

std::int64_t TaskScope::num_running() const {
  const MutexLock lock(mutex_);
  return num_running_;
}

void TaskScope::on_end() {
  UniqueFunction<void(bool)> joiner;
  {
    const MutexLock lock(mutex_);
    if (--num_running_ == 0) {
      joiner = std::move(joiner_);
      joiner_ = nullptr;
      ended_.notify_all();
    }
  }
  if (joiner) {
    joiner(true);
  }
}

Task<void> TaskScope::join() {
  co_await await_callback<bool>([this](UniqueFunction<void(bool)> done) {
    {
      const MutexLock lock(mutex_);
      if (num_running_ > 0) {
        joiner_ = std::move(done);
        return;
      }
    }
    loop_.post([done = std::move(done)]() mutable { done(true); });
  });
}

void TaskScope::join_blocking() {
  if (loop_.is_manual()) {
    loop_.poll();
    return;
  }
  MutexLock lock(mutex_);
  while (num_running_ > 0) {
    ended_.wait(lock);
  }
}

}  // namespace plumb
