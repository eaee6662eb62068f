// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "net/http.h"
#include "net/io_context.h"
#include "net/response_writer.h"
#include "net/transport.h"

namespace plumb {

/// Answers requests.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// Takes one request; the answer may be given now or later, from any thread.
  /// Thread: the loop of the connection; must not block.
  virtual void handle(HttpRequest request, ResponseWriter writer) = 0;

  /// Sees the head of a request (its body is empty) whose body has not all come yet. An answer is
  /// sent at once and the body is not read; handle() never hears of the request.
  /// Thread: as handle().
  virtual std::optional<HttpResponse> refuse(const HttpRequest& /*head*/) { return std::nullopt; }
};

/// What a client that shuts its sending side while it waits for an answer means.
enum class HalfClose : unsigned char {
  kAbort,   ///< it is gone
  kIgnore,  ///< it still listens: only a reset or a failed write ends the response
};

/// Body of an answer that the transport gives by itself (bad head, limits, time-outs).
struct ErrorBody {
  std::string content_type;
  std::string body;
  Headers headers = {};  ///< further ones
};

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;  ///< 0 = any free one; see HttpServer::port()
  bool reuse_address = true;
  int num_io_threads = 1;     ///< create() only
  std::string tls_cert_file;  ///< PEM chain; with tls_key_file it makes the server speak TLS
  std::string tls_key_file;
  HttpLimits limits;
  std::int64_t max_connections = 65535;  ///< above: 503 and close
  HalfClose half_close = HalfClose::kAbort;
  std::chrono::nanoseconds header_timeout = std::chrono::seconds(10);  ///< 408
  std::chrono::nanoseconds body_timeout = std::chrono::seconds(60);    ///< 408
  std::chrono::nanoseconds idle_timeout = std::chrono::seconds(75);    ///< silent close
  std::chrono::nanoseconds write_timeout = std::chrono::seconds(60);   ///< without any progress
  std::int64_t soft_buffer_bytes = std::int64_t{1} << 20;
  std::int64_t hard_buffer_bytes = std::int64_t{8} << 20;
  /// `head`: of the request that is refused, null where it has not come. Empty = the reason phrase
  /// as plain text. Thread: any loop.
  std::function<ErrorBody(int status, const HttpRequest* head)> error_body;
};

struct ServerContext;
struct ServerLoop;

/// An HTTP/1.1 server.
///
/// Answers bad heads with 400, 414, 431 or 501, slow ones with 408, bodies above the limit with 413
/// (before they are read, if their length was declared), Expect with 100 Continue; decodes gzip and
/// zstd bodies; serves pipelined requests one after the other. While a request is answered it
/// watches the connection and reports a client that has gone at once.
/// Requires the handler outlives it.
/// Thread: any but the loops'.
class HttpServer {
 public:
  /// A server on TCP with its own threads. Errors: see Transport::listen().
  static Result<std::unique_ptr<HttpServer>> create(HttpServerOptions options,
                                                    HttpHandler& handler);
  /// A server on given loops, which outlive it; loops[0] accepts.
  static Result<std::unique_ptr<HttpServer>> create_on(HttpServerOptions options,
                                                       HttpHandler& handler, Transport& transport,
                                                       std::vector<IoContext*> loops);

  /// shutdown() without grace.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  std::int64_t num_connections() const;

  /// Closes the port and idle connections, lets running answers end for at most grace, then cuts
  /// what is left. Returns when no connection is left; on manual loops it cuts at once.
  void shutdown(std::chrono::nanoseconds grace);

 private:
  HttpServer();
  Status open(HttpServerOptions options, HttpHandler& handler);
  void on_accept(IoContext& loop, std::unique_ptr<ByteStream> stream);
  void on_each_loop(void (*action)(ServerLoop&));
  void settle();

  std::unique_ptr<Transport> own_transport_;
  std::vector<std::unique_ptr<IoContext>> own_loops_;
  Transport* transport_ = nullptr;
  std::vector<IoContext*> loops_;
  std::unique_ptr<ServerContext> context_;
  std::vector<std::unique_ptr<ServerLoop>> homes_;
  std::unique_ptr<Listener> listener_;
  std::size_t next_loop_ = 0;
};

}  // namespace plumb
