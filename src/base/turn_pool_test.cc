// SPDX-License-Identifier: Apache-2.0
#include "base/turn_pool.h"

#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "support/fake_clock.h"

namespace plumb {
namespace {

constexpr TurnPool::Options kOneAtATime{
    .num_threads = 6, .num_running = 1, .max_queued = 100, .slice = {}};

// Runs steps of tasks in a pool and notes their order.
class Steps {
 public:
  explicit Steps(const TurnPool::Options& options = kOneAtATime)
      : pool_(std::make_unique<TurnPool>("test", options, clock_)) {}

  // Holds the turn until release(), so that what is submitted meanwhile begins together.
  void hold() {
    // Shared: the task may still be within set_value() when the waiting ends.
    const auto begun = std::make_shared<std::promise<void>>();
    submit("holder", [begun, gate = gate_.get_future().share()](TurnPool::Turn&) {
      begun->set_value();
      gate.wait();
    });
    begun->get_future().wait();
  }

  void release() { gate_.set_value(); }

  void submit(const std::string& owner, TurnPool::Task task) {
    EXPECT_TRUE(pool_->submit(owner, std::move(task)).ok());
  }

  // A task of one step; false if there is no place for it.
  bool try_add(const std::string& owner) {
    return pool_->submit(owner, [this, owner](TurnPool::Turn&) { order_ += owner; }).ok();
  }

  // A task that notes each of its steps and offers its turn after it.
  void add(const std::string& owner, int num_steps) {
    submit(owner, [this, owner, num_steps](TurnPool::Turn& turn) {
      for (int i = 0; i < num_steps; ++i) {
        order_ += owner;
        turn.offer();
      }
    });
  }

  // Waits until so many tasks have begun, though they have no turn.
  void wait_for(int num_begun) {
    while (pool_->num_begun() < num_begun) {
      std::this_thread::yield();
    }
  }

  std::string order() {
    pool_.reset();
    return order_;
  }

  // By the task that runs.
  std::string noted() const { return order_; }

  FakeClock clock_;

 private:
  std::promise<void> gate_;
  std::string order_;  // written by the one task that runs
  std::unique_ptr<TurnPool> pool_;
};

TEST(TurnPool, a_short_task_need_not_wait_for_long_ones_of_others) {
  Steps steps;
  steps.hold();
  steps.add("a", 100);
  steps.add("b", 100);
  steps.add("c", 3);
  steps.wait_for(4);
  steps.release();
  const std::string order = steps.order();
  EXPECT_EQ(order.size(), 203U);
  EXPECT_LE(order.rfind('c'), 3U * 3U) << order;
}

TEST(TurnPool, an_owner_gets_no_more_turns_by_more_tasks) {
  Steps steps;
  steps.hold();
  steps.add("b", 10);
  steps.wait_for(2);
  for (int i = 0; i < 20; ++i) {
    steps.add("a", 10);
  }
  steps.wait_for(4);
  steps.release();
  const std::string order = steps.order();
  EXPECT_EQ(order.size(), 210U);
  EXPECT_LE(order.rfind('b'), 2U * 10U) << order;
}

TEST(TurnPool, tasks_of_one_owner_take_turns_too) {
  Steps steps;
  steps.hold();
  std::string end;
  steps.submit("a", [&](TurnPool::Turn& turn) {
    for (int i = 0; i < 1000; ++i) {
      turn.offer();
    }
    end = steps.noted();
  });
  steps.add("a", 2);
  steps.wait_for(3);
  steps.release();
  steps.order();
  EXPECT_EQ(end, "aa");  // of the other task
}

TEST(TurnPool, a_turn_lasts_a_slice_of_time) {
  TurnPool::Options options = kOneAtATime;
  options.slice = std::chrono::seconds(1);
  Steps steps(options);
  steps.hold();
  std::string order;
  const auto task = [&](const std::string& owner) {
    return [&, owner](TurnPool::Turn& turn) {
      for (int i = 0; i < 4; ++i) {
        order += owner;
        steps.clock_.advance(std::chrono::milliseconds(500));
        turn.offer();
      }
    };
  };
  steps.submit("a", task("a"));
  steps.wait_for(2);
  steps.submit("b", task("b"));
  steps.wait_for(3);
  steps.release();
  steps.order();
  EXPECT_EQ(order, "aabbaabb");
}

TEST(TurnPool, tasks_beyond_the_limit_are_refused) {
  TurnPool::Options options = kOneAtATime;
  options.num_threads = 1;
  options.max_queued = 2;
  FakeClock clock;
  std::promise<void> gate;
  std::promise<void> begun;
  const auto gate_opens = gate.get_future().share();
  TurnPool pool("test", options, clock);  // its tasks end before what they refer to
  ASSERT_TRUE(pool.submit("a",
                          [&](TurnPool::Turn&) {
                            begun.set_value();
                            gate_opens.wait();
                          })
                  .ok());
  begun.get_future().wait();
  EXPECT_TRUE(pool.submit("a", [](TurnPool::Turn&) {}).ok());
  EXPECT_TRUE(pool.submit("b", [](TurnPool::Turn&) {}).ok());
  EXPECT_EQ(pool.submit("c", [](TurnPool::Turn&) {}).code(), Code::kResourceExhausted);
  EXPECT_EQ(pool.num_waiting(), 2);
  gate.set_value();
}

TEST(TurnPool, one_owner_leaves_places_for_the_others) {
  TurnPool::Options options = kOneAtATime;
  options.num_threads = 1;
  options.max_queued = 8;
  Steps steps(options);
  steps.hold();
  const auto num_taken = [&](const std::string& owner) {
    int count = 0;
    while (steps.try_add(owner)) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(num_taken("a"), 4);
  EXPECT_EQ(num_taken("b"), 2);
  EXPECT_EQ(num_taken("c"), 1);
  EXPECT_EQ(num_taken("a"), 0);
  steps.release();
  EXPECT_EQ(steps.order(), "abcabaa");
}

TEST(TurnPool, as_many_run_at_once_as_the_options_say) {
  TurnPool::Options options = kOneAtATime;
  options.num_running = 2;
  FakeClock clock;
  std::promise<void> first;
  std::promise<void> second;
  {
    TurnPool pool("test", options, clock);
    // Each waits for the other.
    ASSERT_TRUE(pool.submit("a",
                            [&](TurnPool::Turn&) {
                              first.set_value();
                              second.get_future().wait();
                            })
                    .ok());
    ASSERT_TRUE(pool.submit("a",
                            [&](TurnPool::Turn&) {
                              second.set_value();
                              first.get_future().wait();
                            })
                    .ok());
  }
  SUCCEED();
}

}  // namespace
}  // namespace plumb
