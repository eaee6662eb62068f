// SPDX-License-Identifier: Apache-2.0
#include "net/http_server.h"

#include <algorithm>
#include <future>
#include <utility>

#include "net/http_connection.h"
#include "net/tcp_transport.h"

namespace plumb {
namespace {

// Above max_connections this many more are told so; the rest is closed without a word.
constexpr std::int64_t kMaxRefusals = 64;

void drain_all(ServerLoop& home) {
  const auto connections = home.connections;  // draining removes from the map
  for (const auto& [key, connection] : connections) {
    connection->drain();
  }
}

void cut_all(ServerLoop& home) {
  const auto connections = home.connections;
  for (const auto& [key, connection] : connections) {
    connection->cut(DisconnectReason::kShutdown);
  }
}

}  // namespace

HttpServer::HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::create(HttpServerOptions options,
                                                       HttpHandler& handler) {
  std::unique_ptr<HttpServer> server(new HttpServer());
  for (int i = 0; i < std::max(options.num_io_threads, 1); ++i) {
    PLUMB_ASSIGN(std::unique_ptr<IoContext> loop,
                 IoContext::create("http-io-" + std::to_string(i)));
    server->loops_.push_back(loop.get());
    server->own_loops_.push_back(std::move(loop));
  }
  server->own_transport_ = make_tcp_transport();
  server->transport_ = server->own_transport_.get();
  PLUMB_RETURN_IF_ERROR(server->open(std::move(options), handler));
  return server;
}

Result<std::unique_ptr<HttpServer>> HttpServer::create_on(HttpServerOptions options,
                                                          HttpHandler& handler,
                                                          Transport& transport,
                                                          std::vector<IoContext*> loops) {
  std::unique_ptr<HttpServer> server(new HttpServer());
  server->transport_ = &transport;
  server->loops_ = std::move(loops);
  PLUMB_RETURN_IF_ERROR(server->open(std::move(options), handler));
  return server;
}

Status HttpServer::open(HttpServerOptions options, HttpHandler& handler) {
  ListenOptions listen{options.address, options.port, options.reuse_address, std::nullopt};
  if (options.tls_cert_file.empty() != options.tls_key_file.empty()) {
    return Status(Code::kInvalidArgument,
                  "http server: TLS needs both a certificate file and a key file");
  }
  if (!options.tls_cert_file.empty()) {
    listen.tls = TlsServerOptions{options.tls_cert_file, options.tls_key_file};
  }
  context_.reset(new ServerContext{std::move(options), handler, {}, {}, {}, {}});
  for (IoContext* loop : loops_) {
    homes_.push_back(std::make_unique<ServerLoop>(ServerLoop{*context_, *loop, {}, {}, {}}));
  }
  Result<std::unique_ptr<Listener>> listener = transport_->listen(*loops_[0], std::move(listen));
  if (!listener.ok()) {
    return listener.status().with("http server");
  }
  listener_ = std::move(listener).value();
  listener_->start([this]() -> IoContext& { return *loops_[next_loop_++ % loops_.size()]; },
                   [this](IoContext& loop, std::unique_ptr<ByteStream> stream) {
                     on_accept(loop, std::move(stream));
                   });
  return Status();
}

HttpServer::~HttpServer() {
  if (listener_) {
    shutdown(std::chrono::nanoseconds(0));
  }
  listener_.reset();
  // Before the rest: what is queued on the loops may refer to it.
  own_loops_.clear();
}

int HttpServer::port() const {
  return listener_->port();
}

std::int64_t HttpServer::num_connections() const {
  return context_->num_connections;
}

void HttpServer::on_accept(IoContext& loop, std::unique_ptr<ByteStream> stream) {
  std::size_t i = 0;
  while (loops_[i] != &loop) {
    ++i;
  }
  ServerLoop& home = *homes_[i];
  const std::int64_t limit = context_->options.max_connections;
  const std::int64_t count = context_->num_connections.fetch_add(1) + 1;
  if (count > limit + kMaxRefusals || context_->draining) {
    stream->close();
    context_->on_closed();
    return;
  }
  auto connection = std::make_shared<HttpConnection>(home, std::move(stream));
  home.connections.emplace(connection.get(), connection);
  if (count > limit) {
    connection->start_full();
  } else {
    connection->start();
  }
}

void HttpServer::on_each_loop(void (*action)(ServerLoop&)) {
  for (const std::unique_ptr<ServerLoop>& home : homes_) {
    if (home->loop.in_loop_thread()) {
      action(*home);
    } else {
      home->loop.post([action, raw = home.get()] { action(*raw); });
    }
  }
}

// Connections that were on their way to another loop have arrived, and were refused, afterwards.
void HttpServer::settle() {
  for (IoContext* loop : loops_) {
    if (!loop->in_loop_thread()) {
      std::promise<void> reached;
      loop->post([&reached] { reached.set_value(); });
      reached.get_future().wait();
    }
  }
}

void HttpServer::shutdown(std::chrono::nanoseconds grace) {
  context_->draining = true;
  listener_->close();
  on_each_loop(drain_all);
  settle();
  const bool is_threaded = !loops_[0]->is_manual();
  if (is_threaded && context_->wait_closed(system_clock().now() + grace)) {
    return;
  }
  on_each_loop(cut_all);
  if (is_threaded) {
    context_->wait_closed(Clock::TimePoint::max());
  }
}

}  // namespace plumb
