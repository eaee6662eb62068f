// SPDX-License-Identifier: Apache-2.0
// What is left of cached prefixes when an engine ends.
#include "base/log.h"
#include "engine/engine_test_scene.h"
#include "support/mem_files.h"

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;

Tokens counting(std::int64_t count) {
  Tokens tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<TokenId>(1 + i * 3 % 49));
  }
  return tokens;
}

// Engines of 64 blocks of 4 tokens, one after the other on one disk.
class TieredStopTest : public testing::Test {
 protected:
  TieredStopTest() {
    options_ = EngineScene::small_options();
    options_.tiers.host_bytes = 400 * EngineScene::kBlockBytes;
    options_.tiers.disk_bytes = 1 << 20;
    options_.tiers.disk_folder = "cache";
    options_.tiers.write_policy = TierWritePolicy::kThrough;
  }

  std::unique_ptr<EngineScene> new_engine() {
    return std::make_unique<EngineScene>(options_, ScriptedModel::Options{}, &files_);
  }

  std::int64_t cached_in_new_engine(const Tokens& prompt) {
    const auto scene = new_engine();
    RecordingSink sink;
    scene->submit(EngineScene::greedy(prompt, 1), sink);
    scene->run();
    EXPECT_EQ(sink.tokens, EngineScene::truth(prompt, 1));
    return sink.last.usage.cached_tokens;
  }

  EngineOptions options_;
  MemFiles files_;
};

TEST_F(TieredStopTest, what_a_running_sequence_has_computed_is_kept_its_answer_too) {
  const auto scene = new_engine();
  RecordingSink sink;
  scene->submit(EngineScene::greedy(counting(8), 60), sink);
  while (sink.tokens.size() < 41) {
    ASSERT_TRUE(scene->engine->step());
  }
  scene->engine->stop();
  EXPECT_EQ(sink.last.status, Code::kUnavailable);
  Tokens all = counting(8);
  all.insert(all.end(), sink.tokens.begin(), sink.tokens.end());
  EXPECT_EQ(cached_in_new_engine(all), 48);  // the last token was not computed
}

TEST_F(TieredStopTest, prefixes_that_never_left_the_device_leave_it_at_the_end) {
  options_.tiers.write_policy = TierWritePolicy::kBack;
  {
    const auto scene = new_engine();
    RecordingSink sink;
    scene->submit(EngineScene::greedy(counting(41), 1), sink);
    scene->run();
    EXPECT_EQ(scene->engine->stats().tiers.host.num_blocks, 0);
  }
  EXPECT_EQ(cached_in_new_engine(counting(41)), 40);
}

TEST_F(TieredStopTest, more_prefixes_than_memory_holds_leave_the_device_at_the_end) {
  options_.tiers.write_policy = TierWritePolicy::kBack;
  options_.tiers.host_bytes = 4 * EngineScene::kBlockBytes;
  {
    const auto scene = new_engine();
    RecordingSink sink;
    scene->submit(EngineScene::greedy(counting(201), 1), sink);
    scene->run();
    EXPECT_EQ(scene->engine->stats().tiers.host.num_blocks, 0);
  }
  options_.tiers.host_bytes = 400 * EngineScene::kBlockBytes;
  EXPECT_EQ(cached_in_new_engine(counting(201)), 200);
}

TEST_F(TieredStopTest, where_time_is_short_the_beginnings_of_prefixes_are_kept) {
  std::vector<std::string> lines;
  LogOptions log;
  log.sink = [&lines](std::string_view line) { lines.emplace_back(line); };
  init_log(std::move(log));
  options_.tiers.write_policy = TierWritePolicy::kBack;
  options_.tiers.host_bytes = 4 * EngineScene::kBlockBytes;
  Tokens other = counting(21);
  other[0] = 40;
  {
    const auto scene = new_engine();
    for (const Tokens& prompt : {counting(21), other}) {
      RecordingSink sink;
      scene->submit(EngineScene::greedy(prompt, 1), sink);
      scene->run();
    }
    // Three blocks at a time, each written in two parts: two times within 5 s.
    files_.on_write = [&scene] { scene->clock.advance(std::chrono::milliseconds(500)); };
    scene->engine->stop();
    files_.on_write = nullptr;
  }
  init_log({});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("blocks_left_out=4"), std::string::npos) << lines[0];
  options_.tiers.host_bytes = 400 * EngineScene::kBlockBytes;
  EXPECT_EQ(cached_in_new_engine(counting(21)), 12);
  EXPECT_EQ(cached_in_new_engine(other), 12);
}

TEST_F(TieredStopTest, stopping_twice_is_stopping_once) {
  const auto scene = new_engine();
  RecordingSink sink;
  scene->submit(EngineScene::greedy(counting(16), 60), sink);
  while (sink.tokens.empty()) {
    ASSERT_TRUE(scene->engine->step());
  }
  scene->engine->stop();
  scene->engine->stop();
  EXPECT_EQ(sink.num_events, 2);  // its first token, and the end
  EXPECT_EQ(cached_in_new_engine(counting(17)), 16);
}

// A disk that takes a second for each errand, by the test's clock.
class SlowTier final : public KvTier {
 public:
  struct Done {
    std::int64_t num_put = 0;
    std::int64_t num_clearings = 0;
  };

  SlowTier(FakeClock& clock, Done& done) : clock_(clock), done_(done) {}

  std::int64_t exists(std::span<const BlockHash>) const override { return 0; }

  std::int64_t get(std::span<const BlockHash>, std::span<const std::span<std::byte>>) override {
    return 0;
  }

  std::int64_t put(std::span<const TierBlock> blocks) override {
    clock_.advance(std::chrono::seconds(1));
    done_.num_put += std::ssize(blocks);
    return std::ssize(blocks);
  }

  void clear() override { ++done_.num_clearings; }

  TierStats stats() const override { return {}; }

 private:
  FakeClock& clock_;
  Done& done_;
};

class TierWorkerStop : public testing::Test {
 protected:
  TierWorkerStop() {
    LogOptions log;
    log.sink = [this](std::string_view line) { lines_.emplace_back(line); };
    init_log(std::move(log));
    worker_ = std::make_unique<TierWorker>(
        [this]() -> Result<std::unique_ptr<KvTier>> {
          return std::unique_ptr<KvTier>(std::make_unique<SlowTier>(clock_, done_));
        },
        clock_);
  }

  ~TierWorkerStop() override { init_log({}); }

  void submit(TierJob::Kind kind, std::size_t num_blocks) {
    TierJob job;
    job.kind = kind;
    job.blocks.resize(num_blocks);
    ASSERT_TRUE(worker_->submit(std::move(job)).ok());
  }

  FakeClock clock_;
  SlowTier::Done done_;
  std::vector<std::string> lines_;
  std::unique_ptr<TierWorker> worker_;
};

TEST_F(TierWorkerStop, writes_until_its_time_is_over_and_says_once_what_it_left_out) {
  for (int i = 0; i < 10; ++i) {
    submit(TierJob::Kind::kWrite, 3);
  }
  worker_->finish_by(clock_.now() + std::chrono::seconds(4));
  worker_.reset();
  EXPECT_EQ(done_.num_put, 12);
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_NE(lines_[0].find("18"), std::string::npos) << lines_[0];
}

TEST_F(TierWorkerStop, writes_all_where_there_is_time) {
  for (int i = 0; i < 10; ++i) {
    submit(TierJob::Kind::kWrite, 3);
  }
  worker_->finish_by(clock_.now() + std::chrono::seconds(60));
  worker_.reset();
  EXPECT_EQ(done_.num_put, 30);
  EXPECT_TRUE(lines_.empty());
}

TEST_F(TierWorkerStop, counts_what_its_caller_left_out_in_the_same_line) {
  submit(TierJob::Kind::kWrite, 3);
  submit(TierJob::Kind::kWrite, 3);
  worker_->finish_by(clock_.now() + std::chrono::seconds(1), 20);
  worker_.reset();
  EXPECT_EQ(done_.num_put, 3);
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_NE(lines_[0].find("23"), std::string::npos) << lines_[0];
}

TEST_F(TierWorkerStop, can_be_waited_for_while_something_is_under_way) {
  worker_->start([] {});
  EXPECT_FALSE(worker_->wait());
  for (int i = 0; i < 10; ++i) {
    submit(TierJob::Kind::kWrite, 3);
  }
  std::vector<TierAnswer> answers;
  while (worker_->wait()) {
    worker_->take_answers(&answers);
  }
  EXPECT_EQ(answers.size(), 10U);
  EXPECT_EQ(done_.num_put, 30);
}

TEST_F(TierWorkerStop, forgets_what_was_to_be_forgotten_however_late_it_is) {
  submit(TierJob::Kind::kWrite, 3);
  submit(TierJob::Kind::kClear, 0);
  worker_->finish_by(clock_.now());
  worker_.reset();
  EXPECT_EQ(done_.num_put, 0);
  EXPECT_EQ(done_.num_clearings, 1);
}

}  // namespace
}  // namespace plumb
