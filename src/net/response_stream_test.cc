// SPDX-License-Identifier: Apache-2.0
// Streams over real sockets: framing, disconnects, slow readers.
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>

#include "base/thread.h"
#include "net/http_server.h"
#include "net/sse.h"
#include "support/raw_client.h"

namespace plumb {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

// What the chunks of a body hold.
std::string joined_chunks(std::string_view body) {
  std::string joined;
  while (!body.empty()) {
    const std::size_t size = std::stoul(std::string(body.substr(0, 16)), nullptr, 16);
    const std::size_t start = body.find("\r\n") + 2;
    if (size == 0) {
      break;
    }
    joined += body.substr(start, size);
    body.remove_prefix(start + size + 2);
  }
  return joined;
}

/// A server whose test answers the requests one by one.
class StreamTest : public testing::Test, public HttpHandler {
 protected:
  void handle(HttpRequest, ResponseWriter writer) override {
    writer.on_disconnect([this](DisconnectReason reason) { gone_.set_value(reason); });
    arrived_.set_value(std::move(writer));
  }

  void serve(HttpServerOptions options = {}) {
    Result<std::unique_ptr<HttpServer>> server = HttpServer::create(std::move(options), *this);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(server).value();
  }

  ResponseWriter request(RawClient& client, std::string_view text = kGet) {
    EXPECT_TRUE(client.send(text));
    return arrived_.get_future().get();
  }

  std::promise<ResponseWriter> arrived_;
  std::promise<DisconnectReason> gone_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(StreamTest, events_come_in_chunks_and_the_zero_chunk_ends_them) {
  serve();
  RawClient client(server_->port());
  ResponseWriter writer = request(client);
  writer.start_stream(200, {{"content-type", "text/event-stream; charset=utf-8"}});
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_NE(head.find("transfer-encoding: chunked\r\n"), std::string::npos);
  EXPECT_EQ(head.find("content-length"), std::string::npos);
  EXPECT_EQ(writer.write_event("data: 1\n\n"), WriteState::kOk);
  EXPECT_EQ(client.read_until("\n\n\r\n"), "9\r\ndata: 1\n\n\r\n");
  writer.write_event("data: [DONE]\n\n");
  writer.finish();
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n");
  EXPECT_EQ(writer.write_event("late"), WriteState::kClosed);
}

// The handler runs on the loop, so what it writes is one burst: one chunk, one system call.
TEST(ResponseBurst, events_of_one_burst_share_a_chunk_with_the_end) {
  class Burst final : public HttpHandler {
    void handle(HttpRequest, ResponseWriter writer) override {
      writer.start_stream(200, {});
      for (int i = 0; i < 3; ++i) {
        writer.write_event("data: x\n\n");
      }
      writer.finish();
    }
  } handler;

  const auto server = HttpServer::create({}, handler);
  ASSERT_TRUE(server.ok());
  RawClient client(server.value()->port());
  client.send(kGet);
  client.read_until("\r\n\r\n");
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "1b\r\ndata: x\n\ndata: x\n\ndata: x\n\n\r\n0\r\n\r\n");
  client.send(kGet);  // the connection is kept
  EXPECT_NE(client.read_until("0\r\n\r\n").find("200 OK"), std::string::npos);
}

TEST_F(StreamTest, abort_cuts_without_a_zero_chunk) {
  serve();
  RawClient client(server_->port());
  ResponseWriter writer = request(client);
  writer.start_stream(200, {});
  writer.write_event("data: 1\n\n");
  EXPECT_EQ(client.read_until("\n\n\r\n").find("0\r\n\r\n"), std::string::npos);
  writer.abort();
  EXPECT_EQ(client.read_all(), "");
}

TEST_F(StreamTest, a_dropped_writer_cuts_its_stream) {
  serve();
  RawClient client(server_->port());
  {
    ResponseWriter writer = request(client);
    writer.start_stream(200, {});
  }
  EXPECT_EQ(client.read_all().find("0\r\n\r\n"), std::string::npos);
}

TEST_F(StreamTest, http_10_gets_a_plain_body_up_to_the_close) {
  serve();
  RawClient client(server_->port());
  ResponseWriter writer = request(client, "GET / HTTP/1.0\r\n\r\n");
  writer.start_stream(200, {});
  writer.write_event("abc");
  writer.finish();
  const std::string all = client.read_all();
  EXPECT_EQ(all.substr(all.find("\r\n\r\n") + 4), "abc");
  EXPECT_TRUE(client.ended_in_order());
}

TEST_F(StreamTest, an_aborted_http_10_body_ends_in_a_reset) {
  serve();
  RawClient client(server_->port());
  ResponseWriter writer = request(client, "GET / HTTP/1.0\r\n\r\n");
  writer.start_stream(200, {});
  writer.write_event("abc");
  client.read_until("abc");
  writer.abort();
  client.read_all();
  EXPECT_FALSE(client.ended_in_order());
}

TEST_F(StreamTest, head_of_a_stream_has_no_body) {
  serve();
  RawClient client(server_->port());
  ResponseWriter writer =
      request(client, "HEAD / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  writer.start_stream(200, {});
  writer.write_event("abc");
  writer.finish();
  const std::string all = client.read_all();
  EXPECT_EQ(all.substr(all.find("\r\n\r\n") + 4), "");
  EXPECT_TRUE(client.ended_in_order());
}

TEST_F(StreamTest, a_client_that_closes_while_it_waits_is_reported) {
  serve();
  RawClient client(server_->port());
  ResponseWriter writer = request(client);
  client.close();
  EXPECT_EQ(gone_.get_future().get(), DisconnectReason::kPeerClosed);
  EXPECT_TRUE(writer.is_disconnected());
  writer.send({200, {}, "nobody reads this"});
}

TEST_F(StreamTest, a_client_that_resets_while_it_waits_is_reported) {
  serve();
  RawClient client(server_->port());
  ResponseWriter writer = request(client);
  client.reset();
  EXPECT_EQ(gone_.get_future().get(), DisconnectReason::kPeerReset);
}

TEST_F(StreamTest, a_client_that_closes_during_a_stream_is_reported) {
  serve();
  RawClient client(server_->port());
  ResponseWriter writer = request(client);
  writer.start_stream(200, {});
  writer.write_event("data: 1\n\n");
  client.read_until("data: 1\n\n");
  client.close();
  gone_.get_future().get();
  EXPECT_EQ(writer.write_event("data: 2\n\n"), WriteState::kClosed);
  std::optional<DisconnectReason> again;
  writer.on_disconnect([&](DisconnectReason reason) { again = reason; });
  EXPECT_TRUE(again.has_value());
}

TEST_F(StreamTest, a_half_closed_client_counts_as_gone) {
  serve();
  RawClient client(server_->port());
  ResponseWriter writer = request(client);
  client.shutdown_write();
  EXPECT_EQ(gone_.get_future().get(), DisconnectReason::kPeerClosed);
}

TEST_F(StreamTest, a_half_closed_client_is_served_where_that_is_allowed) {
  HttpServerOptions options;
  options.half_close = HalfClose::kIgnore;
  serve(std::move(options));
  RawClient client(server_->port());
  ResponseWriter writer = request(client);
  client.shutdown_write();
  writer.start_stream(200, {});
  writer.write_event("data: 1\n\n");
  EXPECT_NE(client.read_until("data: 1\n\n").find("data: 1"), std::string::npos);
  client.reset();
  EXPECT_EQ(gone_.get_future().get(), DisconnectReason::kPeerReset);
}

TEST_F(StreamTest, a_client_that_never_reads_is_cut_at_the_limit) {
  serve();
  RawClient client(server_->port(), 4096);
  ResponseWriter writer = request(client);
  writer.start_stream(200, {});
  const std::string event = "data: " + std::string(64 * 1024, 'x') + "\n\n";
  bool was_congested = false;
  WriteState state = WriteState::kOk;
  std::int64_t most = 0;
  for (int i = 0; i < 4096 && state != WriteState::kClosed; ++i) {
    state = writer.write_event(event);
    was_congested = was_congested || state == WriteState::kCongested;
    most = std::max(most, state == WriteState::kClosed ? 0 : writer.buffered_bytes());
  }
  EXPECT_EQ(state, WriteState::kClosed);
  EXPECT_TRUE(was_congested);
  EXPECT_LE(most, 32 << 20);
  EXPECT_EQ(gone_.get_future().get(), DisconnectReason::kSlowClient);
}

// Larger than the hard limit, and of a client that reads.
TEST_F(StreamTest, a_large_event_of_a_reader_that_keeps_up_arrives_whole) {
  serve();
  RawClient client(server_->port());
  ResponseWriter writer = request(client, "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  writer.start_stream(200, {});
  std::string event = "data: ";
  for (int i = 0; event.size() < (9 << 20); ++i) {
    event += std::to_string(i) + ",";
  }
  event += "\n\n";
  EXPECT_EQ(writer.write_event(event), WriteState::kCongested);
  writer.finish();
  const std::string all = client.read_all();
  EXPECT_TRUE(joined_chunks(std::string_view(all).substr(all.find("\r\n\r\n") + 4)) == event);
}

TEST_F(StreamTest, behind_a_large_event_the_limit_holds) {
  serve();
  RawClient client(server_->port(), 4096);
  ResponseWriter writer = request(client);
  writer.start_stream(200, {});
  EXPECT_EQ(writer.write_event(std::string(40 << 20, 'x')), WriteState::kCongested);
  EXPECT_EQ(writer.write_event("x"), WriteState::kClosed);
  EXPECT_EQ(gone_.get_future().get(), DisconnectReason::kSlowClient);
}

TEST_F(StreamTest, head_of_a_stream_of_large_events_ends) {
  serve();
  RawClient client(server_->port());
  ResponseWriter writer =
      request(client, "HEAD / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  writer.start_stream(200, {});
  writer.write_event(std::string(5 << 20, 'x'));
  writer.finish();
  const std::string all = client.read_all();
  EXPECT_EQ(all.substr(all.find("\r\n\r\n") + 4), "");
}

// The owner of a finished response goes while its bytes still wait for the reader.
TEST_F(StreamTest, nobody_is_told_of_a_disconnect_once_the_writer_is_gone) {
  serve();
  RawClient client(server_->port(), 4096);
  bool was_told = false;
  const auto owner = std::make_shared<int>();
  {
    ResponseWriter writer = request(client);
    writer.on_disconnect([&was_told, owner](DisconnectReason) { was_told = true; });
    writer.start_stream(200, {});
    writer.write_event(std::string(6 << 20, 'x'));
    writer.finish();
  }
  EXPECT_EQ(owner.use_count(), 1);
  client.read_until("\r\n\r\n");
  client.reset();
  server_.reset();
  EXPECT_FALSE(was_told);
}

TEST_F(StreamTest, a_reader_that_keeps_up_gets_a_long_stream_whole) {
  serve();
  RawClient client(server_->port());
  ResponseWriter writer = request(client);
  constexpr int kNumEvents = 20000;
  const Thread producer("producer", [&] {
    writer.start_stream(200, {});
    for (int i = 0; i < kNumEvents; ++i) {
      std::string event;
      append_sse(&event, "", "{\"n\":" + std::to_string(i) + "}");
      ASSERT_NE(writer.write_event(std::move(event)), WriteState::kClosed);
    }
    writer.finish();
  });
  client.read_until("\r\n\r\n");
  const std::string joined = joined_chunks(client.read_until("\r\n0\r\n\r\n"));
  SseParser parser;
  std::vector<SseEvent> events;
  ASSERT_TRUE(parser.feed(joined, &events).ok());
  ASSERT_EQ(events.size(), static_cast<std::size_t>(kNumEvents));
  EXPECT_EQ(events.back().data, "{\"n\":19999}");
}

}  // namespace
}  // namespace plumb
