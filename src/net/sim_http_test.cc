// SPDX-License-Identifier: Apache-2.0
// Server and client over a simulated network: every timeout and fault, in simulated time.
#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "net/http_client.h"
#include "net/http_server.h"
#include "net/task.h"
#include "support/sim_net.h"

namespace plumb {
namespace {

using namespace std::chrono_literals;

/// A simulated network with one server and a client that speaks raw bytes.
class SimHttpTest : public testing::Test, public HttpHandler {
 protected:
  void handle(HttpRequest request, ResponseWriter writer) override {
    writer.on_disconnect([this](DisconnectReason reason) { gone_.push_back(reason); });
    if (request.path == "/wait") {
      waiting_.push_back(std::move(writer));
    } else if (request.path == "/stream") {
      writer.start_stream(200, {}, {.heartbeat_interval = 15s});
      waiting_.push_back(std::move(writer));
    } else {
      writer.send({200, {}, request.path + request.body});
    }
  }

  void serve(HttpServerOptions options = {}) {
    options.address = "10.0.0.1";
    options.port = 80;
    Result<std::unique_ptr<HttpServer>> server =
        HttpServer::create_on(std::move(options), *this, net_, {&net_.loop()});
    ASSERT_TRUE(server.ok());
    server_ = std::move(server).value();
  }

  void connect() {
    bool done = false;
    ConnectOptions options;
    options.host = "10.0.0.1";
    options.port = 80;
    net_.connect(net_.loop(), options, [&](Result<std::unique_ptr<ByteStream>> stream) {
      ASSERT_TRUE(stream.ok());
      raw_ = std::move(stream).value();
      done = true;
    });
    ASSERT_TRUE(net_.run_until([&] { return done; }));
    listen_on();
  }

  void listen_on() {
    raw_->read([this](Result<std::string_view> bytes) {
      if (!bytes.ok() || bytes.value().empty()) {
        ended_ = true;
        return;
      }
      seen_ += bytes.value();
      listen_on();
    });
  }

  void send(std::string_view text) {
    raw_->write({&text, 1}, [](const Status&) {});
  }

  template <class T>
  std::optional<T> run(Task<T> task, std::chrono::nanoseconds limit = 1h) {
    std::optional<T> outcome;
    TaskScope scope(net_.loop());
    scope.spawn([](Task<T> inner, std::optional<T>* out) -> Task<void> {
      out->emplace(co_await std::move(inner));
    }(std::move(task), &outcome));
    net_.run_until([&] { return scope.num_running() == 0; }, limit);
    return outcome;
  }

  SimNet net_{7};
  std::vector<DisconnectReason> gone_;
  std::vector<ResponseWriter> waiting_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<ByteStream> raw_;
  std::string seen_;
  bool ended_ = false;
};

TEST_F(SimHttpTest, a_head_that_takes_over_ten_seconds_gets_408) {
  serve();
  connect();
  send("GET / HTTP/1.1\r\nhost:");
  net_.run_for(9s);
  EXPECT_EQ(seen_, "");
  net_.run_for(2s);
  EXPECT_TRUE(seen_.starts_with("HTTP/1.1 408 Request Timeout\r\n")) << seen_;
  EXPECT_TRUE(ended_);
}

TEST_F(SimHttpTest, a_body_that_takes_over_sixty_seconds_gets_408) {
  serve();
  connect();
  send("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n");
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(seen_, "");
    send("x");
    net_.run_for(9s);
  }
  EXPECT_TRUE(seen_.starts_with("HTTP/1.1 408 Request Timeout\r\n")) << seen_;
}

TEST_F(SimHttpTest, an_idle_connection_is_closed_after_75_seconds) {
  serve();
  connect();
  send("GET /a HTTP/1.1\r\nhost: x\r\n\r\n");
  net_.run_for(74s);
  EXPECT_FALSE(ended_);
  EXPECT_EQ(server_->num_connections(), 1);
  net_.run_for(2s);
  EXPECT_TRUE(ended_);
  EXPECT_EQ(server_->num_connections(), 0);
}

TEST_F(SimHttpTest, a_connection_that_never_speaks_is_closed_without_a_word) {
  serve();
  connect();
  net_.run_for(11s);
  EXPECT_TRUE(ended_);
  EXPECT_EQ(seen_, "");
}

TEST_F(SimHttpTest, a_long_answer_is_not_cut_by_any_timeout) {
  serve();
  connect();
  send("GET /wait HTTP/1.1\r\nhost: x\r\n\r\n");
  net_.run_for(10min);
  ASSERT_EQ(waiting_.size(), 1U);
  waiting_[0].send({200, {}, "at last"});
  net_.run_for(1s);
  EXPECT_NE(seen_.find("at last"), std::string::npos);
  EXPECT_TRUE(gone_.empty());
}

TEST_F(SimHttpTest, a_silent_stream_sends_a_heartbeat_every_interval) {
  serve();
  connect();
  send("GET /stream HTTP/1.1\r\nhost: x\r\n\r\n");
  net_.run_for(1s);
  const std::size_t head = seen_.size();
  net_.run_for(15s);
  EXPECT_EQ(seen_.substr(head), "3\r\n:\n\n\r\n");
  waiting_[0].write_event("data: 1\n\n");  // restarts the silence
  net_.run_for(10s);
  EXPECT_EQ(seen_.substr(head + 8), "9\r\ndata: 1\n\n\r\n");
  net_.run_for(6s);
  EXPECT_EQ(seen_.substr(head + 8), "9\r\ndata: 1\n\n\r\n3\r\n:\n\n\r\n");
  EXPECT_EQ(waiting_[0].buffered_bytes(), 0);
  waiting_[0].finish();
  net_.run_for(60s);
  EXPECT_TRUE(seen_.ends_with(":\n\n\r\n0\r\n\r\n"));
}

// As where the loop has had no time for a while: all of it waits before the connection looks.
TEST_F(SimHttpTest, a_burst_of_a_reader_that_keeps_up_arrives_whole) {
  serve();
  connect();
  send("GET /stream HTTP/1.1\r\nhost: x\r\n\r\n");
  net_.run_for(1s);
  const std::string event(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) {
    ASSERT_NE(waiting_[0].write_event(event), WriteState::kClosed) << i;
  }
  waiting_[0].finish();
  net_.run_for(10s);
  EXPECT_TRUE(seen_.ends_with("0\r\n\r\n"));
  EXPECT_GE(std::count(seen_.begin(), seen_.end(), 'x'), 20 << 20);
  EXPECT_TRUE(gone_.empty());
}

TEST_F(SimHttpTest, what_stays_unread_for_two_seconds_cuts_the_client) {
  serve();
  connect();
  send("GET /stream HTTP/1.1\r\nhost: x\r\n\r\n");
  net_.run_for(1s);
  net_.partition("10.0.0.1");
  const std::string event(1 << 20, 'x');
  for (int i = 0; i < 10; ++i) {
    EXPECT_NE(waiting_[0].write_event(event), WriteState::kClosed) << i;
  }
  net_.run_for(1900ms);
  EXPECT_EQ(waiting_[0].write_event("x"), WriteState::kCongested);
  net_.run_for(200ms);
  EXPECT_EQ(waiting_[0].write_event("x"), WriteState::kClosed);
  net_.run_for(1s);
  EXPECT_EQ(gone_, std::vector{DisconnectReason::kSlowClient});
}

TEST_F(SimHttpTest, a_peer_that_stops_reading_its_answer_is_cut_after_the_write_timeout) {
  serve();
  connect();
  send("GET /wait HTTP/1.1\r\nhost: x\r\n\r\n");
  net_.run_for(1s);
  net_.partition("10.0.0.1");
  waiting_[0].send({200, {}, std::string(1 << 20, 'x')});
  net_.run_for(59s);
  EXPECT_EQ(server_->num_connections(), 1);
  net_.run_for(2s);
  EXPECT_EQ(server_->num_connections(), 0);
  EXPECT_EQ(gone_, std::vector{DisconnectReason::kSlowClient});
}

TEST_F(SimHttpTest, a_request_survives_a_short_partition) {
  serve();
  connect();
  send("GET /a HTTP/1.1\r\nhost: x\r\n\r\n");
  net_.partition("10.0.0.1");
  net_.run_for(3s);
  EXPECT_EQ(seen_, "");
  net_.heal("10.0.0.1");
  net_.run_for(1s);
  EXPECT_TRUE(seen_.ends_with("/a"));
}

TEST_F(SimHttpTest, a_reset_connection_ends_only_its_own_request) {
  serve();
  connect();
  send("GET /wait HTTP/1.1\r\nhost: x\r\n\r\n");
  net_.run_for(1s);
  net_.reset_connections("10.0.0.1");
  net_.run_for(1s);
  EXPECT_EQ(gone_, std::vector{DisconnectReason::kPeerReset});
  HttpClient client(net_.loop(), net_);
  const auto response = run(client.request({.url = "http://10.0.0.1/b"}));
  ASSERT_TRUE(response && response->ok());
  EXPECT_EQ(response->value().body, "/b");
}

TEST_F(SimHttpTest, the_client_reuses_its_connection) {
  serve();
  HttpClient client(net_.loop(), net_);
  for (int i = 0; i < 20; ++i) {
    const auto response = run(client.request({.url = "http://10.0.0.1/" + std::to_string(i)}), 1s);
    ASSERT_TRUE(response && response->ok());
    EXPECT_EQ(response->value().body, "/" + std::to_string(i));
    EXPECT_EQ(server_->num_connections(), 1);
  }
}

TEST_F(SimHttpTest, the_client_repeats_a_request_that_met_a_stale_connection) {
  serve();
  HttpClient client(net_.loop(), net_, {.idle_timeout = 10min});
  ASSERT_TRUE(run(client.request({.url = "http://10.0.0.1/1"}), 1s)->ok());
  net_.run_for(80s);  // the server has closed the kept connection
  EXPECT_EQ(server_->num_connections(), 0);
  const auto response = run(client.request({.url = "http://10.0.0.1/2"}), 1s);
  ASSERT_TRUE(response && response->ok());
}

TEST_F(SimHttpTest, the_client_gives_up_at_its_deadline) {
  serve();
  HttpClient client(net_.loop(), net_);
  const auto response = run(client.request({.url = "http://10.0.0.1/wait", .timeout = 30s}));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(response->status().message(), "http://10.0.0.1:80: request timed out");
  net_.run_for(1s);
  EXPECT_EQ(gone_, std::vector{DisconnectReason::kPeerClosed});
}

TEST_F(SimHttpTest, the_client_gives_up_on_silence_but_heartbeats_renew_it) {
  serve();
  HttpClient client(net_.loop(), net_);
  const auto silent =
      run(client.request({.url = "http://10.0.0.1/wait", .read_timeout = 20s}), 21s);
  ASSERT_TRUE(silent);
  EXPECT_EQ(silent->status().code(), Code::kDeadlineExceeded);
  const auto beating =
      run(client.request({.url = "http://10.0.0.1/stream", .timeout = 100s, .read_timeout = 20s}));
  ASSERT_TRUE(beating);
  EXPECT_EQ(beating->status().message(), "request timed out");
}

TEST_F(SimHttpTest, a_stop_request_ends_the_exchange) {
  serve();
  HttpClient client(net_.loop(), net_);
  std::stop_source stop;
  net_.loop().run_after(5s, [&] { stop.request_stop(); });
  const auto response =
      run(client.request({.url = "http://10.0.0.1/wait", .stop = stop.get_token()}), 6s);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status().code(), Code::kCancelled);
  net_.run_for(1s);
  EXPECT_EQ(server_->num_connections(), 0);
}

TEST_F(SimHttpTest, an_unreachable_server_is_a_connect_timeout_and_a_closed_port_is_refused) {
  serve();
  HttpClient client(net_.loop(), net_);
  const auto refused = run(client.request({.url = "http://10.0.0.1:81/"}));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status().code(), Code::kUnavailable);
  net_.partition("10.0.0.1");
  const auto lost = run(client.request({.url = "http://10.0.0.1/"}), 6s);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->status().code(), Code::kDeadlineExceeded);
}

TEST_F(SimHttpTest, a_stream_that_is_cut_is_an_error_for_the_client) {
  serve();
  HttpClient client(net_.loop(), net_);
  net_.loop().run_after(5s, [&] {
    waiting_[0].write_event("data: 1\n\n");
    net_.loop().run_after(1s, [&] { waiting_[0].abort(); });
  });
  std::string seen;
  const auto response = run(client.stream({.url = "http://10.0.0.1/stream"},
                                          [&](std::string_view piece) {
                                            seen += piece;
                                            return Status();
                                          }),
                            10s);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status().code(), Code::kUnavailable);
  EXPECT_EQ(seen, "data: 1\n\n");
}

TEST_F(SimHttpTest, any_cut_of_the_bytes_gives_the_same_answers) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimNet net(seed, {.max_segment_bytes = 7});
    HttpServerOptions options;
    options.port = 80;
    auto server = HttpServer::create_on(std::move(options), *this, net, {&net.loop()});
    ASSERT_TRUE(server.ok());
    HttpClient client(net.loop(), net);
    std::optional<Result<HttpResponse>> response;
    TaskScope scope(net.loop());
    ClientRequest request{.method = "POST", .url = "http://127.0.0.1/p"};
    request.headers.add("transfer-encoding", "chunked");
    request.body = "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n";
    scope.spawn(
        [](HttpClient* c, ClientRequest r, std::optional<Result<HttpResponse>>* out) -> Task<void> {
          out->emplace(co_await c->request(std::move(r)));
        }(&client, std::move(request), &response));
    ASSERT_TRUE(net.run_until([&] { return scope.num_running() == 0; }, 10s));
    ASSERT_TRUE(response->ok()) << response->status().message();
    EXPECT_EQ(response->value().body, "/phello world");
  }
}

Task<void> ask_often(HttpClient* client, int id, int* num_good, int* num_failed) {
  for (int i = 0; i < 30; ++i) {
    ClientRequest request{.method = "POST", .url = "http://127.0.0.1/p"};
    request.timeout = 60s;
    request.body = std::string(static_cast<std::size_t>(1 + (id * 131 + i * 977) % 5000), 'b');
    const std::string want = "/p" + request.body;
    const Result<HttpResponse> response = co_await client->request(std::move(request));
    if (response.ok()) {
      EXPECT_EQ(response.value().body, want);
      ++*num_good;
    } else {
      EXPECT_EQ(response.status().code(), Code::kUnavailable) << response.status().message();
      ++*num_failed;
    }
  }
}

TEST_F(SimHttpTest, random_resets_never_mix_answers_or_leak_connections) {
  int num_good = 0;
  int num_failed = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SimNet net(seed, {.reset_probability = 0.02, .max_segment_bytes = 1500});
    HttpServerOptions options;
    options.port = 80;
    auto server = HttpServer::create_on(std::move(options), *this, net, {&net.loop()});
    ASSERT_TRUE(server.ok());
    {
      HttpClient client(net.loop(), net);
      TaskScope scope(net.loop());
      for (int id = 0; id < 8; ++id) {
        scope.spawn(ask_often(&client, id, &num_good, &num_failed));
      }
      ASSERT_TRUE(net.run_until([&] { return scope.num_running() == 0; }));
    }
    net.run_for(1s);
    EXPECT_EQ(server.value()->num_connections(), 0);
  }
  EXPECT_EQ(num_good + num_failed, 2400);
  EXPECT_GT(num_good, 1000);
  EXPECT_GT(num_failed, 50);
}

}  // namespace
}  // namespace plumb
