// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/status.h"
#include "net/http.h"
#include "net/io_context.h"
#include "net/task.h"
#include "net/transport.h"
#include "net/unique_function.h"

namespace plumb {

struct ClientRequest {
  std::string method = "GET";
  std::string url;  ///< absolute, http or https
  Headers headers;  ///< host, content-length and user-agent are added where absent
  std::string body;
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);  ///< the whole exchange
  std::chrono::nanoseconds read_timeout{0};                      ///< silence; 0 = no bound
  std::int64_t max_response_bytes = std::int64_t{64} << 20;      ///< of a body that is collected
  std::stop_token stop;                                          ///< cancels from any thread
};

struct HttpClientOptions {
  TlsClientOptions tls;
  std::chrono::nanoseconds connect_timeout = std::chrono::seconds(5);
  std::chrono::nanoseconds idle_timeout = std::chrono::seconds(30);  ///< of a kept connection
  std::int64_t max_idle_per_host = 256;
  std::int64_t max_header_bytes = 64 << 10;
};

class ConnectionPool;
class Exchange;

/// A response whose body is read piece by piece.
///
/// Destroyed before its end it closes the connection; read to its end it gives it back for reuse.
/// Thread: the loop.
class HttpExchange {
 public:
  explicit HttpExchange(std::unique_ptr<Exchange> exchange);
  ~HttpExchange();

  int status() const;
  const Headers& headers() const;

  /// The next piece of the body; empty = the body is complete.
  /// Errors: kUnavailable (cut before its end), kDeadlineExceeded, kCancelled.
  Task<Result<std::string>> read();

 private:
  std::unique_ptr<Exchange> exchange_;
};

/// An HTTP/1.1 client that keeps connections for reuse.
///
/// A request that meets a kept connection which its server has just closed is sent once more if its
/// method is idempotent. Redirects are not followed, bodies not decoded.
/// Errors of all calls: kInvalidArgument (URL), kUnavailable (no connection, cut), kDataLoss (not
/// HTTP), kDeadlineExceeded, kCancelled, kResourceExhausted (max_response_bytes); the message names
/// the server.
/// Requires every exchange has ended before the client dies.
/// Thread: tasks on the loop; the blocking forms any thread but the loop's.
class HttpClient {
 public:
  /// Takes body pieces in order; a status that is not ok ends the exchange with it.
  using BodySink = UniqueFunction<Status(std::string_view)>;

  HttpClient(IoContext& loop, Transport& transport, HttpClientOptions options = {});
  ~HttpClient();

  /// Sends and waits for the head of the response.
  Task<Result<std::unique_ptr<HttpExchange>>> open(ClientRequest request);

  /// Sends and collects the whole response.
  Task<Result<HttpResponse>> request(ClientRequest request);

  /// As request(), but the body of a 2xx response goes to the sink as it comes.
  Task<Result<HttpResponse>> stream(ClientRequest request, BodySink sink);

  Result<HttpResponse> request_blocking(ClientRequest request);
  Result<HttpResponse> stream_blocking(ClientRequest request, BodySink sink);

 private:
  Task<Result<std::unique_ptr<ByteStream>>> connect(Url url, ClientRequest request);

  IoContext& loop_;
  Transport& transport_;
  HttpClientOptions options_;
  std::unique_ptr<ConnectionPool> pool_;
};

}  // namespace plumb
