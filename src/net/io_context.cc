// SPDX-License-Identifier: Apache-2.0
#include "net/io_context.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/thread.h"

namespace plumb {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kScratchBytes = 64 * 1024;

}  // namespace

struct IoContext::Impl {
  Impl(const Clock& clock_in, bool manual_in)
      : clock(clock_in), manual(manual_in), io(1), wake(io), work(io.get_executor()) {}

  // Keeps the one system timer armed for the earliest of our timers.
  void arm() {
    if (manual || timers.empty()) {
      return;
    }
    const Clock::TimePoint next = timers.begin()->first.at;
    if (armed && armed_at <= next) {
      return;
    }
    armed = true;
    armed_at = next;
    wake.expires_after(next - clock.now());
    wake.async_wait([this](const boost::system::error_code& error) {
      if (!error) {
        armed = false;
        run_due();
        arm();
      }
    });
  }

  std::int64_t run_due() {
    std::int64_t num_run = 0;
    const Clock::TimePoint now = clock.now();
    while (!timers.empty() && timers.begin()->first.at <= now) {
      UniqueFunction<void()> fn = std::move(timers.begin()->second);
      timers.erase(timers.begin());
      fn();
      ++num_run;
    }
    return num_run;
  }

  const Clock& clock;
  const bool manual;
  std::vector<char> scratch = std::vector<char>(kScratchBytes);
  asio::io_context io;
  asio::steady_timer wake;
  asio::executor_work_guard<asio::io_context::executor_type> work;
  std::map<TimerId, UniqueFunction<void()>> timers;
  std::uint64_t last_number = 0;
  bool armed = false;
  Clock::TimePoint armed_at{};
  std::unique_ptr<Thread> thread;
};

IoContext::IoContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<IoContext>> IoContext::make(const Clock& clock, bool manual) {
  try {  // the library reports a missing epoll or event descriptor by an exception only
    return std::unique_ptr<IoContext>(new IoContext(std::make_unique<Impl>(clock, manual)));
  } catch (const boost::system::system_error& error) {
    return Status(Code::kResourceExhausted,
                  std::string("event loop: ") + error.what() + "; raise the limit of open files");
  }
}

Result<std::unique_ptr<IoContext>> IoContext::create(std::string thread_name, const Clock& clock) {
  PLUMB_ASSIGN(std::unique_ptr<IoContext> loop, make(clock, false));
  Impl* impl = loop->impl_.get();
  impl->thread = std::make_unique<Thread>(std::move(thread_name), [impl] { impl->io.run(); });
  return loop;
}

Result<std::unique_ptr<IoContext>> IoContext::create_manual(const Clock& clock) {
  return make(clock, true);
}

IoContext::~IoContext() {
  stop();
  // Queued functions may own streams whose destructors cancel timers: let them go first.
  std::map<TimerId, UniqueFunction<void()>> timers = std::move(impl_->timers);
  impl_->timers.clear();
}

void IoContext::post(UniqueFunction<void()> fn) {
  asio::post(impl_->io, [fn = std::move(fn)]() mutable { fn(); });
}

bool IoContext::in_loop_thread() const {
  return impl_->manual || impl_->io.get_executor().running_in_this_thread();
}

bool IoContext::is_manual() const {
  return impl_->manual;
}

const Clock& IoContext::clock() const {
  return impl_->clock;
}

TimerId IoContext::run_at(Clock::TimePoint at, UniqueFunction<void()> fn) {
  PLUMB_DCHECK(in_loop_thread(), "a timer is set on its loop");
  const TimerId id{at, ++impl_->last_number};
  impl_->timers.emplace(id, std::move(fn));
  impl_->arm();
  return id;
}

TimerId IoContext::run_after(std::chrono::nanoseconds delay, UniqueFunction<void()> fn) {
  return run_at(now() + delay, std::move(fn));
}

void IoContext::cancel(TimerId id) {
  impl_->timers.erase(id);
}

std::optional<Clock::TimePoint> IoContext::next_deadline() const {
  if (impl_->timers.empty()) {
    return std::nullopt;
  }
  return impl_->timers.begin()->first.at;
}

std::int64_t IoContext::poll() {
  PLUMB_CHECK(impl_->manual, "poll() is for loops without a thread");
  std::int64_t num_run = 0;
  for (;;) {
    impl_->io.restart();
    const std::int64_t progress = static_cast<std::int64_t>(impl_->io.poll()) + impl_->run_due();
    if (progress == 0) {
      return num_run;
    }
    num_run += progress;
  }
}

void IoContext::stop() {
  impl_->io.stop();
  impl_->thread.reset();
}

std::span<char> IoContext::scratch() {
  return impl_->scratch;
}

asio::io_context& IoContext::native() {
  return impl_->io;
}

}  // namespace plumb
