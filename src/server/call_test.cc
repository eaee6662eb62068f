// SPDX-License-Identifier: Apache-2.0
#include "server/call.h"

#include <gtest/gtest.h>

#include "frontend/generate_format.h"
#include "net/response_state.h"
#include "server/stream_pace.h"
#include "support/fake_clock.h"

namespace plumb {
namespace {

constexpr std::size_t kKiB = 1024;

// Counts what it is asked to make; its chunks are as large as the deltas' texts.
class CountingFormat final : public ResponseFormat {
 public:
  explicit CountingFormat(std::int64_t* num_made) : num_made_(*num_made) {}

  std::vector<Json> start(std::int64_t) override { return {}; }

  std::optional<Json> prompt(std::int64_t, std::vector<TokenText>) override { return {}; }

  std::vector<Json> delta(const ChoiceDelta& delta) override {
    ++num_made_;
    return {Json(delta.text)};
  }

  std::vector<Json> end(const ChoiceEnd&) override {
    ++num_made_;
    return {};
  }

  std::vector<Json> finish(const std::vector<ChoiceRecord>&) override { return {}; }

  Json complete(std::vector<ChoiceRecord>) override { return {}; }

 private:
  std::int64_t& num_made_;
};

/// A call whose client reads when the test says so.
class CallTest : public testing::Test {
 protected:
  void begin(std::unique_ptr<ResponseFormat> format, std::size_t num_choices = 1) {
    Transaction transaction{.request = {},
                            .writer = ResponseWriter(state_),
                            .request_id = "r",
                            .route = "/generate",
                            .principal = {},
                            .clock = clock_,
                            .metrics = metrics_};
    call_ = std::make_unique<Call>(
        *loop_, options_, metrics_, std::move(transaction), std::move(format),
        Call::Setup{.stream = true, .num_choices = num_choices}, [this] { is_done_ = true; });
  }

  void begin_native(bool is_incremental, std::size_t num_choices = 1) {
    GenerateFormatOptions options;
    options.setups.resize(num_choices);
    options.is_batch = num_choices > 1;
    options.is_incremental = is_incremental;
    options.received = clock_.now();
    begin(make_generate_format(std::move(options), clock_), num_choices);
  }

  void say(const std::string& text, std::int64_t index = 0) {
    call_->on_delta({index, text, {{.token = 7, .bytes = text}}});
  }

  void end(std::int64_t num_tokens, std::int64_t index = 0) {
    ChoiceEnd end;
    end.index = index;
    end.reason = FinishReason::kLength;
    end.usage.completion_tokens = num_tokens;
    call_->on_end(end);
  }

  // All that waits, as the connection would hand it to the network.
  std::string read() {
    std::string out;
    for (;;) {
      const ResponseBatch batch = state_->take();
      is_finished_ = is_finished_ || batch.finished;
      if (batch.events.empty()) {
        return out;
      }
      out += batch.events;
      state_->on_sent(static_cast<std::int64_t>(batch.events.size()));
    }
  }

  static std::vector<std::string> events_of(std::string_view text) {
    std::vector<std::string> events;
    for (;;) {
      const std::size_t end = text.find("\n\n");
      if (end == std::string_view::npos) {
        return events;
      }
      events.emplace_back(text.substr(6, end - 6));  // behind "data: "
      text.remove_prefix(end + 2);
    }
  }

  static std::size_t num_ids(const std::string& event) {
    const Result<Json> json = parse_json(event);
    return json.ok() ? json.value().find("output_ids")->as_array().size() : 0;
  }

  FakeClock clock_;
  std::unique_ptr<IoContext> loop_ = std::move(IoContext::create_manual(clock_)).value();
  ServerOptions options_;
  Metrics registry_;
  ServerMetrics metrics_{registry_, 4096};
  std::shared_ptr<ResponseState> state_ =
      std::make_shared<ResponseState>(*loop_, std::weak_ptr<ResponseSink>(), BufferLimits{});
  bool is_done_ = false;
  bool is_finished_ = false;
  std::unique_ptr<Call> call_;
};

TEST_F(CallTest, a_client_that_does_not_read_gets_the_newest_when_it_does) {
  begin_native(false);
  constexpr std::int64_t kDeltas = 2000;
  for (std::int64_t i = 0; i < kDeltas; ++i) {
    say(std::string(kKiB, 'x'));
    loop_->poll();
    ASSERT_LE(state_->buffered_bytes(), 2 * kMaxUnsentEventBytes) << i;
  }
  const std::size_t num_early = events_of(read()).size();
  EXPECT_LT(num_early, 50U);
  clock_.advance(kReaderPause);
  loop_->poll();
  const std::vector<std::string> newest = events_of(read());
  ASSERT_EQ(newest.size(), 1U);
  EXPECT_EQ(num_ids(newest.front()), static_cast<std::size_t>(kDeltas));
  EXPECT_FALSE(is_finished_);
  end(kDeltas);
  loop_->poll();
  const std::vector<std::string> last = events_of(read());
  ASSERT_EQ(last.size(), 2U);
  EXPECT_EQ(num_ids(last.front()), static_cast<std::size_t>(kDeltas));
  EXPECT_NE(last.front().find(R"("finish_reason":{"type":"length","length":2000})"),
            std::string::npos);
  EXPECT_EQ(last.back(), "[DONE]");
  EXPECT_TRUE(is_finished_);
  EXPECT_TRUE(is_done_);
}

TEST_F(CallTest, the_end_waits_for_the_client_behind_the_last_event) {
  begin_native(false, 2);
  for (const std::int64_t index : {0, 1}) {
    say(std::string(2048 * kKiB, 'x'), index);
  }
  loop_->poll();
  end(1, 0);
  end(1, 1);
  loop_->poll();
  EXPECT_FALSE(is_done_);
  EXPECT_EQ(events_of(read()).size(), 1U);
  std::vector<std::string> later;
  for (int i = 0; i < 3; ++i) {
    clock_.advance(kReaderPause);
    loop_->poll();
    for (std::string& event : events_of(read())) {
      later.push_back(std::move(event));
    }
  }
  ASSERT_EQ(later.size(), 3U);
  EXPECT_EQ(later[0].find(R"("finish_reason":null)"), std::string::npos);
  EXPECT_EQ(later[1].find(R"("finish_reason":null)"), std::string::npos);
  EXPECT_EQ(later[2], "[DONE]");
  EXPECT_TRUE(is_done_);
}

TEST_F(CallTest, deltas_that_are_there_at_once_share_a_cumulative_event) {
  begin_native(false);
  for (const char* text : {"a", "b", "c"}) {
    say(text);
  }
  loop_->poll();
  const std::vector<std::string> events = events_of(read());
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(num_ids(events.front()), 3U);
  say("d");
  loop_->poll();
  EXPECT_EQ(num_ids(events_of(read()).at(0)), 4U);
}

TEST_F(CallTest, an_incremental_stream_skips_nothing) {
  begin_native(true);
  for (const char* text : {"a", "b", "c"}) {
    say(text);
  }
  loop_->poll();
  const std::vector<std::string> events = events_of(read());
  ASSERT_EQ(events.size(), 3U);
  for (const std::string& event : events) {
    EXPECT_EQ(num_ids(event), 1U);
  }
}

TEST_F(CallTest, a_turn_of_the_loop_tells_of_one_choice) {
  begin_native(false, 3);
  for (const std::int64_t index : {0, 1, 2}) {
    say("x", index);
  }
  std::vector<std::size_t> num_told;
  std::function<void()> look = [&] {
    num_told.push_back(events_of(read()).size());
    if (num_told.size() < 4) {
      loop_->post([&look] { look(); });
    }
  };
  loop_->post([&look] { look(); });
  loop_->poll();
  EXPECT_EQ(num_told, (std::vector<std::size_t>{1, 1, 1, 0}));
}

TEST_F(CallTest, what_follows_a_cut_is_not_formatted) {
  std::int64_t num_made = 0;
  begin(std::make_unique<CountingFormat>(&num_made));
  for (int i = 0; i < 40; ++i) {
    say(std::string(1024 * kKiB, 'x'));
    loop_->poll();
  }
  end(40);
  loop_->poll();
  EXPECT_EQ(num_made, 32) << "the 32nd does not fit into 32 MiB with the others' framing";
  EXPECT_EQ(state_->cut_reason(), DisconnectReason::kSlowClient);
}

}  // namespace
}  // namespace plumb
