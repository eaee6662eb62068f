// SPDX-License-Identifier: Apache-2.0
#include "net/io_context.h"

#include <atomic>
#include <future>
#include <gtest/gtest.h>
#include <vector>

#include "net/task.h"
#include "support/fake_clock.h"

namespace plumb {
namespace {

using namespace std::chrono_literals;

TEST(IoContext, timers_fire_in_order_of_time_once_the_clock_has_passed_them) {
  FakeClock clock;
  const auto loop = IoContext::create_manual(clock).value();
  std::vector<int> fired;
  loop->run_after(3s, [&] { fired.push_back(3); });
  loop->run_after(1s, [&] {
    fired.push_back(1);
    loop->run_after(1s, [&] { fired.push_back(2); });
  });
  const TimerId cancelled = loop->run_after(1s, [&] { fired.push_back(-1); });
  loop->cancel(cancelled);
  loop->cancel(TimerId());
  EXPECT_EQ(loop->poll(), 0);
  EXPECT_EQ(*loop->next_deadline() - clock.now(), 1s);
  clock.advance(1s);
  loop->poll();
  EXPECT_EQ(fired, (std::vector{1}));
  clock.advance(5s);
  loop->poll();
  EXPECT_EQ(fired, (std::vector{1, 2, 3}));
  EXPECT_FALSE(loop->next_deadline());
}

TEST(IoContext, posts_from_many_threads_all_run_on_its_own) {
  auto created = IoContext::create("loop");
  ASSERT_TRUE(created.ok());
  IoContext& loop = *created.value();
  EXPECT_FALSE(loop.in_loop_thread());
  std::promise<bool> inside;
  loop.post([&] { inside.set_value(loop.in_loop_thread()); });
  EXPECT_TRUE(inside.get_future().get());
}

TEST(IoContext, a_timer_of_a_threaded_loop_fires) {
  auto loop = IoContext::create("loop");
  ASSERT_TRUE(loop.ok());
  std::promise<int> fired;
  loop.value()->post([&] {
    loop.value()->run_after(1h, [] {});
    loop.value()->run_after(1ms, [&] { fired.set_value(1); });
  });
  EXPECT_EQ(fired.get_future().get(), 1);
}

TEST(IoContext, what_was_queued_is_destroyed_unrun) {
  FakeClock clock;
  auto held = std::make_shared<int>(1);
  {
    const auto loop = IoContext::create_manual(clock).value();
    loop->post([held] {});
    loop->run_after(1s, [held] {});
    EXPECT_EQ(held.use_count(), 3);
  }
  EXPECT_EQ(held.use_count(), 1);
}

Task<void> sleep_and_log(IoContext* loop, std::chrono::seconds delay, std::stop_token stop,
                         std::vector<int>* log) {
  const bool elapsed = co_await sleep_for(*loop, delay, stop);
  log->push_back(elapsed ? static_cast<int>(delay.count()) : -1);
}

Task<void> join_and_log(TaskScope* scope, std::vector<int>* log) {
  co_await scope->join();
  log->push_back(100);
}

TEST(TaskScope, joins_its_tasks_and_passes_stop_requests_on) {
  FakeClock clock;
  const auto loop = IoContext::create_manual(clock).value();
  std::vector<int> log;
  TaskScope scope(*loop);
  TaskScope outer(*loop);
  scope.spawn(sleep_and_log(loop.get(), 2s, {}, &log));
  scope.spawn(sleep_and_log(loop.get(), 1s, {}, &log));
  scope.spawn(sleep_and_log(loop.get(), 50s, scope.stop_token(), &log));
  outer.spawn(join_and_log(&scope, &log));
  loop->poll();
  EXPECT_EQ(scope.num_running(), 3);
  clock.advance(2s);
  loop->poll();
  EXPECT_EQ(log, (std::vector{1, 2}));
  scope.request_stop();
  loop->poll();
  EXPECT_EQ(log, (std::vector{1, 2, -1, 100}));
  EXPECT_EQ(scope.num_running(), 0);
  EXPECT_EQ(outer.num_running(), 0);
}

Task<int> add(int a, int b) {
  co_return a + b;
}

TEST(TaskScope, run_blocking_returns_what_the_task_returned) {
  auto loop = IoContext::create("loop");
  ASSERT_TRUE(loop.ok());
  EXPECT_EQ(run_blocking(*loop.value(), add(2, 3)), 5);
}

}  // namespace
}  // namespace plumb
