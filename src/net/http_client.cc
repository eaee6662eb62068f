// SPDX-License-Identifier: Apache-2.0
#include "net/http_client.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "net/http_client_pool.h"
#include "net/http_parser.h"

namespace plumb {
namespace {

constexpr std::array<std::string_view, 6> kIdempotent = {"GET",    "HEAD",    "PUT",
                                                         "DELETE", "OPTIONS", "TRACE"};

std::string request_head(const ClientRequest& request, const Url& url) {
  std::string head = request.method + " " + url.target + " HTTP/1.1\r\n";
  if (!request.headers.contains("host")) {
    const bool is_v6 = url.host.find(':') != std::string::npos;
    const std::string host = is_v6 ? "[" + url.host + "]" : url.host;
    const bool is_default = url.port == (url.is_tls ? 443 : 80);
    append_header(&head, "host", is_default ? host : host + ":" + std::to_string(url.port));
  }
  for (const HeaderField& field : request.headers) {
    append_header(&head, field.name, field.value);
  }
  if (!request.headers.contains("user-agent")) {
    append_header(&head, "user-agent", "plumb");
  }
  const bool has_body_method =
      request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (!request.headers.contains("content-length") &&
      !request.headers.contains("transfer-encoding") &&
      (!request.body.empty() || has_body_method)) {
    append_header(&head, "content-length", std::to_string(request.body.size()));
  }
  return head + "\r\n";
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
  });
}

/// Receives the outcome of a write that did not end at once.
struct WriteWait {
  UniqueFunction<void(Status)> waiter;
};

Task<Status> write_all(ByteStream* stream, std::array<std::string_view, 2> parts) {
  const auto wait = std::make_shared<WriteWait>();  // shared with the callback
  std::optional<Status> outcome =
      stream->write(parts, [wait](Status status) { wait->waiter(std::move(status)); });
  if (outcome) {
    co_return std::move(*outcome);
  }
  // Named, because g++ 12 destroys a temporary of a co_await expression twice.
  UniqueFunction<void(UniqueFunction<void(Status)>)> start =
      [wait](UniqueFunction<void(Status)> done) { wait->waiter = std::move(done); };
  co_return co_await await_callback<Status>(std::move(start));
}

/// Ends a stream when time is up or a stop is requested; why says what happened.
struct Watch {
  void fire(Status status) {
    if (stream != nullptr) {
      why = std::move(status);
      std::exchange(stream, nullptr)->close();
    }
  }

  ByteStream* stream = nullptr;
  Status why;
};

struct FireOnStop {
  std::weak_ptr<Watch> watch;
  IoContext* loop;

  void operator()() const {
    loop->post([weak = watch] {
      if (const auto locked = weak.lock()) {
        locked->fire(Status(Code::kCancelled, "request cancelled"));
      }
    });
  }
};

}  // namespace

/// One request on one connection.
class Exchange {
 public:
  Exchange(IoContext& loop, ConnectionPool& pool, std::string server,
           std::unique_ptr<ByteStream> stream, const ClientRequest& request,
           const HttpLimits& limits, Clock::TimePoint deadline)
      : loop_(loop),
        pool_(pool),
        server_(std::move(server)),
        stream_(std::move(stream)),
        limits_(limits),
        no_body_(request.method == "HEAD"),
        deadline_(deadline),
        read_timeout_(request.read_timeout),
        parser_(std::make_unique<ResponseParser>(limits, no_body_)),
        watch_(std::make_shared<Watch>()) {
    watch_->stream = stream_.get();
    on_stop_.emplace(request.stop, FireOnStop{watch_, &loop});
  }

  ~Exchange() {
    loop_.cancel(timer_);
    on_stop_.reset();
    const bool is_open = std::exchange(watch_->stream, nullptr) != nullptr;
    if (is_open && complete_ && parser_->keep_alive() && in_.empty() && sent_all_) {
      pool_.give(server_, std::move(stream_));
    } else if (is_open) {
      stream_->close();
    }
  }

  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Sends the request and reads the head. A server may answer and hang up before it has read the
  /// whole request: a failed write is an error only if no answer can be read.
  Task<Status> run(std::string head, std::string body) {
    set_timer();
    const Status sent =
        co_await write_all(stream_.get(), std::array<std::string_view, 2>{head, body});
    sent_all_ = sent.ok();
    while (!parser_->head_done() || is_interim()) {
      if (parser_->head_done()) {
        parser_ = std::make_unique<ResponseParser>(limits_, no_body_);
        complete_ = false;
      }
      Status status = co_await more();
      if (!status.ok()) {
        co_return sent.ok() || watch_->stream == nullptr ? std::move(status) : sent;
      }
    }
    co_return Status();
  }

  Task<Result<std::string>> read() {
    for (;;) {
      std::string piece = parser_->take_body();
      if (!piece.empty() || complete_) {
        co_return std::move(piece);
      }
      Status status = co_await more();
      if (!status.ok()) {
        co_return std::move(status);
      }
    }
  }

  const ResponseParser& parser() const { return *parser_; }

  const Headers& headers() const { return parser_->headers(); }

  bool got_bytes() const { return got_bytes_; }

 private:
  bool is_interim() const { return parser_->status() / 100 == 1; }

  // Parses what is there, or waits for more.
  Task<Status> more() {
    if (in_.empty() || !feed()) {
      if (failed_) {
        co_return failure();
      }
      if (watch_->stream == nullptr) {
        co_return watch_->why;
      }
      set_timer();
      Status status = co_await await_callback<Status>([this](UniqueFunction<void(Status)> done) {
        stream_->read([this, done = std::move(done)](Result<std::string_view> bytes) mutable {
          done(on_read(bytes));
        });
      });
      co_return watch_->stream == nullptr ? watch_->why : std::move(status);
    }
    co_return Status();
  }

  Status on_read(const Result<std::string_view>& bytes) {
    if (!bytes.ok()) {
      return bytes.status();
    }
    if (bytes.value().empty()) {
      if (parser_->feed_end() != ParseStep::kDone) {
        return Status(Code::kUnavailable, got_bytes_
                                              ? "connection closed before the response was complete"
                                              : "connection closed without a response");
      }
      complete_ = true;
      return Status();
    }
    got_bytes_ = true;
    in_ += bytes.value();
    feed();
    return failed_ ? failure() : Status();
  }

  // True if it took anything.
  bool feed() {
    const ParseOutcome outcome = parser_->feed(in_);
    in_.erase(0, static_cast<std::size_t>(outcome.num_consumed));
    complete_ = outcome.step == ParseStep::kDone;
    failed_ = outcome.step == ParseStep::kFailed;
    return !failed_ && (outcome.num_consumed > 0 || complete_);
  }

  static Status failure() { return Status(Code::kDataLoss, "response is not valid HTTP/1.1"); }

  void set_timer() {
    Clock::TimePoint at = deadline_;
    std::string_view what = "request timed out";
    if (read_timeout_.count() > 0 && loop_.now() + read_timeout_ < at) {
      at = loop_.now() + read_timeout_;
      what = "server was silent for too long";
    }
    loop_.cancel(timer_);
    timer_ = loop_.run_at(at, [weak = std::weak_ptr(watch_), what] {
      if (const auto locked = weak.lock()) {
        locked->fire(Status(Code::kDeadlineExceeded, std::string(what)));
      }
    });
  }

  IoContext& loop_;
  ConnectionPool& pool_;
  std::string server_;
  std::unique_ptr<ByteStream> stream_;
  HttpLimits limits_;
  bool no_body_;
  Clock::TimePoint deadline_;
  std::chrono::nanoseconds read_timeout_;
  std::unique_ptr<ResponseParser> parser_;
  std::string in_;
  bool sent_all_ = false;
  bool got_bytes_ = false;
  bool complete_ = false;
  bool failed_ = false;
  TimerId timer_;
  std::shared_ptr<Watch> watch_;  // shared with the timer and the stop request's post
  std::optional<std::stop_callback<FireOnStop>> on_stop_;
};

HttpExchange::HttpExchange(std::unique_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

HttpExchange::~HttpExchange() = default;

int HttpExchange::status() const {
  return exchange_->parser().status();
}

const Headers& HttpExchange::headers() const {
  return exchange_->headers();
}

Task<Result<std::string>> HttpExchange::read() {
  return exchange_->read();
}

HttpClient::HttpClient(IoContext& loop, Transport& transport, HttpClientOptions options)
    : loop_(loop),
      transport_(transport),
      options_(std::move(options)),
      pool_(std::make_unique<ConnectionPool>(loop_, options_)) {}

HttpClient::~HttpClient() = default;

Task<Result<std::unique_ptr<HttpExchange>>> HttpClient::open(ClientRequest request) {
  const std::optional<Url> url = parse_url(request.url);
  if (!url || !is_token(request.method)) {
    co_return Status(Code::kInvalidArgument,
                     "url '" + request.url + "' is not an absolute http or https URL");
  }
  const std::string server =
      (url->is_tls ? "https://" : "http://") + url->host + ":" + std::to_string(url->port);
  const Clock::TimePoint deadline = loop_.now() + request.timeout;
  const bool may_repeat =
      std::find(kIdempotent.begin(), kIdempotent.end(), request.method) != kIdempotent.end();
  HttpLimits limits;
  limits.max_header_bytes = options_.max_header_bytes;
  limits.max_body_bytes = std::numeric_limits<std::int64_t>::max();
  for (;;) {
    std::unique_ptr<ByteStream> stream = pool_->take(server);
    const bool is_reused = stream != nullptr;
    if (!is_reused) {
      Result<std::unique_ptr<ByteStream>> fresh = co_await connect(*url, request);
      if (!fresh.ok()) {
        co_return fresh.status();
      }
      stream = std::move(fresh).value();
    }
    auto exchange = std::make_unique<Exchange>(loop_, *pool_, server, std::move(stream), request,
                                               limits, deadline);
    Status status = co_await exchange->run(request_head(request, *url), request.body);
    if (status.ok()) {
      co_return std::make_unique<HttpExchange>(std::move(exchange));
    }
    const bool was_stale =
        is_reused && !exchange->got_bytes() && status.code() == Code::kUnavailable;
    if (!was_stale || !may_repeat) {
      co_return std::move(status).with(server);
    }
  }
}

Task<Result<std::unique_ptr<ByteStream>>> HttpClient::connect(Url url, ClientRequest request) {
  ConnectOptions options;
  options.host = url.host;
  options.port = url.port;
  options.timeout = std::min(options_.connect_timeout, request.timeout);
  options.stop = request.stop;
  if (url.is_tls) {
    options.tls = options_.tls;
  }
  co_return co_await await_callback<Result<std::unique_ptr<ByteStream>>>(
      [this, &options](Transport::ConnectCallback done) {
        transport_.connect(loop_, std::move(options), std::move(done));
      });
}

Task<Result<HttpResponse>> HttpClient::request(ClientRequest request) {
  return stream(std::move(request), nullptr);
}

Task<Result<HttpResponse>> HttpClient::stream(ClientRequest request, BodySink sink) {
  const std::int64_t limit = request.max_response_bytes;
  Result<std::unique_ptr<HttpExchange>> opened = co_await open(std::move(request));
  if (!opened.ok()) {
    co_return opened.status();
  }
  HttpExchange& exchange = *opened.value();
  HttpResponse response{exchange.status(), exchange.headers(), {}};
  const bool to_sink = sink && response.status / 100 == 2;
  for (;;) {
    Result<std::string> piece = co_await exchange.read();
    if (!piece.ok()) {
      co_return piece.status();
    }
    if (piece.value().empty()) {
      co_return std::move(response);
    }
    if (to_sink) {
      Status status = sink(piece.value());
      if (!status.ok()) {
        co_return std::move(status);
      }
      continue;
    }
    response.body += piece.value();
    if (static_cast<std::int64_t>(response.body.size()) > limit) {
      co_return Status(Code::kResourceExhausted,
                       "response body exceeds " + std::to_string(limit) + " bytes");
    }
  }
}

Result<HttpResponse> HttpClient::request_blocking(ClientRequest request_in) {
  return run_blocking(loop_, request(std::move(request_in)));
}

Result<HttpResponse> HttpClient::stream_blocking(ClientRequest request_in, BodySink sink) {
  return run_blocking(loop_, stream(std::move(request_in), std::move(sink)));
}

}  // namespace plumb
