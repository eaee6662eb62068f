// SPDX-License-Identifier: Apache-2.0
#include "net/frame_publisher.h"

#include <gtest/gtest.h>

#include "support/sim_net.h"

namespace plumb {
namespace {

using namespace std::chrono_literals;

// Keeps its last messages, as a log of events does.
class Source final : public FrameSource {
 public:
  bool admits(std::string_view key) override { return key == "secret"; }

  std::uint64_t next_seq() const override { return next; }

  FramePage read(std::uint64_t from, std::int64_t max_bytes) override {
    FramePage page;
    std::int64_t num_bytes = 0;
    for (page.next_seq = from; page.next_seq < next && num_bytes < max_bytes; ++page.next_seq) {
      page.frames.push_back({page.next_seq, "payload " + std::to_string(page.next_seq) + padding});
      num_bytes += std::ssize(page.frames.back().payload);
    }
    ++num_reads;
    return page;
  }

  std::uint64_t next = 0;
  int num_reads = 0;
  std::string padding;
};

// A subscriber in the simulated network that keeps what it is sent.
class Reader {
 public:
  Reader(SimNet& net, int port, const std::string& hello) {
    ConnectOptions options;
    options.host = "127.0.0.1";
    options.port = port;
    net.connect(net.loop(), options, [this, hello](Result<std::unique_ptr<ByteStream>> stream) {
      ASSERT_TRUE(stream.ok());
      stream_ = std::move(stream).value();
      const std::string_view part = hello_ = hello;
      stream_->write({&part, 1}, [](const Status&) {});
      read();
    });
  }

  void close() { stream_->close(); }

  // The frames that have arrived, each as (topic, seq, payload).
  std::vector<std::tuple<std::string, std::uint64_t, std::string>> frames() const {
    std::vector<std::tuple<std::string, std::uint64_t, std::string>> out;
    std::string_view rest = bytes;
    const auto number = [](std::string_view text) {
      std::uint64_t value = 0;
      for (const char c : text) {
        value = value << 8 | static_cast<unsigned char>(c);
      }
      return value;
    };
    const auto part = [&] {
      const auto size = static_cast<std::size_t>(number(rest.substr(0, 4)));
      std::string text(rest.substr(4, size));
      rest.remove_prefix(4 + size);
      return text;
    };
    while (!rest.empty()) {
      const std::string topic = part();
      const std::string seq = part();
      EXPECT_EQ(seq.size(), 8U);
      out.emplace_back(topic, number(seq), part());
    }
    return out;
  }

  std::string bytes;
  bool has_ended = false;

 private:
  void read() {
    stream_->read([this](Result<std::string_view> got) {
      if (!got.ok() || got.value().empty()) {
        has_ended = true;
        return;
      }
      bytes += got.value();
      read();
    });
  }

  std::string hello_;
  std::unique_ptr<ByteStream> stream_;
};

struct Scene {
  explicit Scene(FramePublisherOptions options = {}) {
    options.topic = "kv";
    publisher = std::move(FramePublisher::create(net.loop(), net, source, options)).value();
  }

  SimNet net{1};
  Source source;
  std::unique_ptr<FramePublisher> publisher;
};

TEST(FramePublisher, frames_are_topic_number_and_payload_with_their_lengths) {
  std::string out;
  append_frame("kv", {0x0102, "xyz"}, &out);
  EXPECT_EQ(out, std::string("\0\0\0\2kv\0\0\0\10\0\0\0\0\0\0\1\2\0\0\0\3xyz", 25));
}

TEST(FramePublisher, replays_from_a_number_marks_the_end_and_goes_on) {
  Scene scene;
  scene.source.next = 5;
  Reader reader(scene.net, scene.publisher->port(), encode_frame_hello({3, "secret"}));
  scene.net.run_for(1s);
  using Expected = std::vector<std::tuple<std::string, std::uint64_t, std::string>>;
  Expected expected{{"kv", 3, "payload 3"}, {"kv", 4, "payload 4"}, {"kv", kFrameNow, ""}};
  EXPECT_EQ(reader.frames(), expected);
  scene.source.next = 6;
  scene.net.run_for(1s);
  expected.emplace_back("kv", 5, "payload 5");
  EXPECT_EQ(reader.frames(), expected);
  reader.close();
  scene.net.run_for(1s);
  EXPECT_EQ(scene.publisher->num_subscribers(), 0);
}

TEST(FramePublisher, a_hello_may_come_in_pieces_and_ask_for_news_only) {
  Scene scene;
  scene.source.next = 5;
  Reader reader(scene.net, scene.publisher->port(), encode_frame_hello({kFrameNow, "secret"}));
  scene.net.run_for(1s);
  scene.source.next = 6;
  scene.net.run_for(1s);
  const auto frames = reader.frames();
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(std::get<1>(frames[0]), kFrameNow);
  EXPECT_EQ(std::get<1>(frames[1]), 5U);
}

TEST(FramePublisher, a_wrong_key_a_bad_hello_and_silence_end_the_connection) {
  Scene scene;
  scene.source.next = 1;
  Reader wrong(scene.net, scene.publisher->port(), encode_frame_hello({0, "guess"}));
  Reader too_long(scene.net, scene.publisher->port(), std::string(8, '\0') + "\xFF\xFF");
  Reader silent(scene.net, scene.publisher->port(), "abc");
  scene.net.run_for(1s);
  EXPECT_TRUE(wrong.has_ended);
  EXPECT_EQ(wrong.bytes, "");
  EXPECT_TRUE(too_long.has_ended);
  EXPECT_FALSE(silent.has_ended);
  scene.net.run_for(10s);
  EXPECT_TRUE(silent.has_ended);
  EXPECT_EQ(scene.publisher->num_subscribers(), 0);
}

TEST(FramePublisher, a_subscriber_that_does_not_read_holds_one_page) {
  SimNet net(1, {.window_bytes = 1'000});
  Source source;
  source.next = 1'000;
  source.padding = std::string(1'000, '.');
  FramePublisherOptions options;
  options.topic = "kv";
  options.page_bytes = 10'000;
  const auto publisher =
      std::move(FramePublisher::create(net.loop(), net, source, options)).value();
  std::unique_ptr<ByteStream> stream;
  ConnectOptions to;
  to.host = "127.0.0.1";
  to.port = publisher->port();
  const std::string hello = encode_frame_hello({0, "secret"});
  net.connect(net.loop(), to, [&](Result<std::unique_ptr<ByteStream>> connected) {
    stream = std::move(connected).value();
    const std::string_view part = hello;
    stream->write({&part, 1}, [](const Status&) {});
  });
  net.run_for(60s);
  EXPECT_EQ(source.num_reads, 1);
  stream->close();
}

TEST(FramePublisher, more_subscribers_than_allowed_are_closed_at_once) {
  Scene scene({.max_subscribers = 1});
  Reader first(scene.net, scene.publisher->port(), encode_frame_hello({0, "secret"}));
  scene.net.run_for(1s);
  Reader second(scene.net, scene.publisher->port(), encode_frame_hello({0, "secret"}));
  scene.net.run_for(1s);
  EXPECT_FALSE(first.has_ended);
  EXPECT_TRUE(second.has_ended);
  scene.publisher.reset();
  scene.net.run_for(1s);
  EXPECT_TRUE(first.has_ended);
}

TEST(FramePublisher, whoever_shows_no_key_gives_way_to_the_next) {
  Scene scene({.max_subscribers = 2});
  Reader admitted(scene.net, scene.publisher->port(), encode_frame_hello({0, "secret"}));
  scene.net.run_for(1s);
  Reader silent(scene.net, scene.publisher->port(), "");
  scene.net.run_for(1s);
  Reader next(scene.net, scene.publisher->port(), encode_frame_hello({0, "secret"}));
  scene.net.run_for(1s);
  EXPECT_FALSE(admitted.has_ended);
  EXPECT_TRUE(silent.has_ended);
  EXPECT_FALSE(next.has_ended);
  Reader late(scene.net, scene.publisher->port(), encode_frame_hello({0, "secret"}));
  scene.net.run_for(1s);
  EXPECT_TRUE(late.has_ended);
  EXPECT_EQ(scene.publisher->num_subscribers(), 2);
}

TEST(FrameHello, is_read_only_whole) {
  const std::string hello = encode_frame_hello({7, "key"});
  EXPECT_EQ(hello, std::string("\0\0\0\0\0\0\0\7\0\3key", 13));
  for (std::size_t n = 0; n < hello.size(); ++n) {
    EXPECT_FALSE(parse_frame_hello(hello.substr(0, n)).value().has_value());
  }
  const FrameHello read = parse_frame_hello(hello).value().value();
  EXPECT_EQ(read.from, 7U);
  EXPECT_EQ(read.key, "key");
  EXPECT_FALSE(parse_frame_hello(hello + "x").ok());
  EXPECT_FALSE(parse_frame_hello(encode_frame_hello({0, std::string(1025, 'x')})).ok());
  EXPECT_TRUE(parse_frame_hello(encode_frame_hello({0, std::string(1024, 'x')})).ok());
}

}  // namespace
}  // namespace plumb
