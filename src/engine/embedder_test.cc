// SPDX-License-Identifier: Apache-2.0
#include "engine/embedder.h"

#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utility>

#include "support/fake_clock.h"

namespace plumb {
namespace {

using std::chrono_literals::operator""ms;
using testing::ElementsAre;

using Batches = std::vector<std::vector<TokenId>>;

/// What a test sees of a model, and tells it.
class EmbeddingScript {
 public:
  /// Called by the model: notes the first tokens of a pass and waits until it may go on.
  Status enter(std::vector<TokenId> first_tokens) {
    MutexLock lock(mutex_);
    batches_.push_back(std::move(first_tokens));
    changed_.notify_all();
    while (is_held_) {
      changed_.wait(lock);
    }
    return failure_;
  }

  void hold() {
    const MutexLock lock(mutex_);
    is_held_ = true;
  }

  void release(Status failure = {}) {
    const MutexLock lock(mutex_);
    is_held_ = false;
    failure_ = std::move(failure);
    changed_.notify_all();
  }

  void wait_for_pass(std::size_t count) {
    MutexLock lock(mutex_);
    while (batches_.size() < count) {
      changed_.wait(lock);
    }
  }

  Batches batches() {
    const MutexLock lock(mutex_);
    return batches_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  Batches batches_;
  Status failure_;
  bool is_held_ = false;
};

/// Gives each sequence its first token and its length.
class ScriptedEmbedding final : public EmbeddingModel {
 public:
  ScriptedEmbedding(EmbeddingScript& script, const EmbeddingBatchLimits& limits)
      : script_(script), limits_(limits) {
    facts_.vocab_size = 1000;
    facts_.max_context_len = 6;
    facts_.hidden_size = 2;
  }

  const ModelFacts& facts() const override { return facts_; }

  const EmbeddingBatchLimits& limits() const override { return limits_; }

  EmbeddingOutcome embed(std::span<const std::span<const TokenId>> sequences) override {
    std::vector<TokenId> first_tokens;
    std::vector<std::vector<float>> vectors;
    for (const std::span<const TokenId> sequence : sequences) {
      first_tokens.push_back(sequence.front());
      vectors.push_back(
          {static_cast<float>(sequence.front()), static_cast<float>(sequence.size())});
    }
    PLUMB_RETURN_IF_ERROR(script_.enter(std::move(first_tokens)));
    return vectors;
  }

 private:
  EmbeddingScript& script_;
  EmbeddingBatchLimits limits_;
  ModelFacts facts_;
};

class EmbedderTest : public testing::Test {
 protected:
  void start(std::int64_t num_tokens, std::int64_t num_sequences, std::int64_t max_waiting = 100,
             std::int64_t pass_tokens = 0) {
    const EmbeddingBatchLimits limits{num_tokens, num_sequences, pass_tokens};
    embedder_ = std::make_unique<Embedder>(std::make_unique<ScriptedEmbedding>(script_, limits),
                                           max_waiting, clock_);
  }

  /// Submits sequences of `length` tokens that begin with the given ones.
  std::future<EmbeddingOutcome> submit(const std::vector<TokenId>& first_tokens,
                                       std::size_t length = 3,
                                       std::optional<std::chrono::milliseconds> timeout = {}) {
    EmbeddingJob job;
    job.timeout = timeout;
    for (const TokenId token : first_tokens) {
      job.sequences.emplace_back(length, token);
    }
    const auto promise = std::make_shared<std::promise<EmbeddingOutcome>>();
    const Result<Embedder::JobId> id = embedder_->submit(
        std::move(job), [promise](EmbeddingOutcome outcome) { promise->set_value(outcome); });
    EXPECT_TRUE(id.ok()) << id.status().message();
    last_id_ = id.ok() ? id.value() : 0;
    return promise->get_future();
  }

  Status submit_error(EmbeddingJob job) {
    return embedder_->submit(std::move(job), [](const EmbeddingOutcome&) { FAIL(); }).status();
  }

  FakeClock clock_;
  EmbeddingScript script_;
  Embedder::JobId last_id_ = 0;
  std::unique_ptr<Embedder> embedder_;
};

TEST_F(EmbedderTest, vectors_come_in_the_order_of_the_inputs) {
  start(7, 10);
  const EmbeddingOutcome outcome = submit({5, 6, 7}).get();
  ASSERT_TRUE(outcome.ok());
  EXPECT_THAT(std::as_const(outcome).value(),
              ElementsAre(ElementsAre(5, 3), ElementsAre(6, 3), ElementsAre(7, 3)));
  EXPECT_THAT(script_.batches(), ElementsAre(ElementsAre(5, 6), ElementsAre(7)));
}

TEST_F(EmbedderTest, a_pass_holds_as_many_sequences_as_the_limits_say) {
  start(100, 2);
  submit({1, 2, 3, 4, 5}).wait();
  EXPECT_THAT(script_.batches(), ElementsAre(ElementsAre(1, 2), ElementsAre(3, 4), ElementsAre(5)));
  const EmbedderStats stats = embedder_->stats();
  EXPECT_EQ(stats.num_sequences, 5);
  EXPECT_EQ(stats.num_tokens, 15);
  EXPECT_EQ(stats.num_batches, 3);
  EXPECT_EQ(stats.num_waiting, 0);
}

TEST_F(EmbedderTest, a_pass_is_closed_early_but_takes_any_sequence_alone) {
  start(6, 10, 100, 4);
  EmbeddingJob job;
  job.sequences = {{1, 1}, {2, 2}, {3, 3, 3, 3, 3, 3}, {4, 4, 4}, {5}};
  std::promise<EmbeddingOutcome> promise;
  ASSERT_TRUE(embedder_
                  ->submit(std::move(job),
                           [&](EmbeddingOutcome outcome) { promise.set_value(std::move(outcome)); })
                  .ok());
  promise.get_future().wait();
  EXPECT_THAT(script_.batches(), ElementsAre(ElementsAre(1, 2), ElementsAre(3), ElementsAre(4, 5)));
}

TEST_F(EmbedderTest, jobs_take_turns_so_that_a_small_one_is_not_kept_waiting) {
  start(6, 10);
  script_.hold();
  auto first = submit({1});
  script_.wait_for_pass(1);
  auto large = submit({10, 11, 12, 13});
  auto small = submit({20});
  script_.release();
  small.wait();
  large.wait();
  first.wait();
  EXPECT_THAT(script_.batches(), ElementsAre(ElementsAre(1), ElementsAre(10, 20),
                                             ElementsAre(11, 12), ElementsAre(13)));
}

TEST_F(EmbedderTest, jobs_that_cannot_be_computed_are_refused_with_the_reason) {
  start(6, 10, 2);
  EXPECT_EQ(submit_error({}).code(), Code::kInvalidArgument);
  EXPECT_EQ(submit_error({.sequences = {{}}}).code(), Code::kInvalidArgument);
  EXPECT_THAT(submit_error({.sequences = {std::vector<TokenId>(7, 1)}}).message(),
              testing::HasSubstr("7 tokens, expected 1 to 6"));
  EXPECT_THAT(submit_error({.sequences = {{1000}}}).message(), testing::HasSubstr("out of range"));
  EXPECT_THAT(submit_error({.sequences = {{-1}}}).message(), testing::HasSubstr("out of range"));
  EXPECT_THAT(submit_error({.sequences = {{1}, {1}, {1}}}).message(),
              testing::HasSubstr("3 inputs, expected 1 to 2"));
}

TEST_F(EmbedderTest, a_full_queue_is_an_answer) {
  start(100, 1, 2);
  script_.hold();
  auto running = submit({1});
  script_.wait_for_pass(1);
  auto waiting = submit({2, 3});
  EXPECT_EQ(submit_error({.sequences = {{4}}}).code(), Code::kResourceExhausted);
  script_.release();
  waiting.wait();
  EXPECT_TRUE(submit({4}).get().ok());
}

TEST_F(EmbedderTest, a_job_whose_time_has_passed_ends_at_the_next_pass) {
  start(100, 1);
  script_.hold();
  auto running = submit({1});
  script_.wait_for_pass(1);
  auto late = submit({2}, 3, 100ms);
  auto patient = submit({3}, 3, 200ms);
  clock_.advance(150ms);
  script_.release();
  EXPECT_EQ(late.get().status().code(), Code::kDeadlineExceeded);
  EXPECT_TRUE(patient.get().ok());
  EXPECT_THAT(script_.batches(), ElementsAre(ElementsAre(1), ElementsAre(3)));
}

TEST_F(EmbedderTest, an_aborted_job_is_neither_computed_nor_called_back) {
  start(100, 1);
  script_.hold();
  auto running = submit({1});
  script_.wait_for_pass(1);
  auto aborted = submit({2});
  embedder_->abort(last_id_);
  EXPECT_EQ(embedder_->stats().num_waiting, 0);
  embedder_->abort(last_id_);
  script_.release();
  EXPECT_TRUE(submit({3}).get().ok());
  EXPECT_THAT(script_.batches(), ElementsAre(ElementsAre(1), ElementsAre(3)));
  EXPECT_THROW(aborted.get(), std::future_error);  // the callback is gone, and was not called
}

TEST_F(EmbedderTest, a_job_aborted_while_it_is_computed_is_not_called_back) {
  start(100, 1);
  script_.hold();
  auto aborted = submit({1, 2});
  script_.wait_for_pass(1);
  embedder_->abort(last_id_);
  script_.release();
  EXPECT_TRUE(submit({3}).get().ok());
  EXPECT_THAT(script_.batches(), ElementsAre(ElementsAre(1), ElementsAre(3)));
}

TEST_F(EmbedderTest, a_lost_device_ends_all_jobs_and_refuses_new_ones) {
  start(100, 1);
  script_.hold();
  auto running = submit({1});
  script_.wait_for_pass(1);
  auto waiting = submit({2});
  script_.release({Code::kDeviceLost, "the device is gone"});
  EXPECT_EQ(running.get().status().code(), Code::kDeviceLost);
  EXPECT_EQ(waiting.get().status().code(), Code::kDeviceLost);
  EXPECT_EQ(submit_error({.sequences = {{4}}}).code(), Code::kDeviceLost);
  EXPECT_TRUE(embedder_->stats().has_failed);
}

TEST_F(EmbedderTest, every_job_has_its_answer_when_the_embedder_is_gone) {
  start(100, 1);
  script_.hold();
  auto running = submit({1});
  script_.wait_for_pass(1);
  auto waiting = submit({2});
  Thread ender("ender", [this] { embedder_.reset(); });
  script_.release();
  ender.join();
  for (std::future<EmbeddingOutcome>* job : {&running, &waiting}) {
    ASSERT_EQ(job->wait_for(0ms), std::future_status::ready);
    const EmbeddingOutcome outcome = job->get();
    EXPECT_TRUE(outcome.ok() || outcome.status().code() == Code::kUnavailable);
  }
}

}  // namespace
}  // namespace plumb
