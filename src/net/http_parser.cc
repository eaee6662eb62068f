// SPDX-License-Identifier: Apache-2.0
#include "net/http_parser.h"

#include <algorithm>
#include <utility>

// The chunk parser asserts that a last chunk brings 5 bytes, which input cut behind "0\r\n" does
// not; the code below the assertion is right for it. No other file instantiates the parser.
#define BOOST_DISABLE_ASSERTS  // NOLINT(readability-identifier-naming): the library's name
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "net/content_coding.h"

namespace plumb {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

// A request line is at most the URL, a method and a version.
constexpr std::int64_t kRequestLineSlack = 64;
// The end of the first line and the empty line behind the fields.
constexpr std::int64_t kLineEndSlack = 3;
// A declared length is believed up to here; a longer body grows as it comes.
constexpr std::uint64_t kMaxReserveBytes = 1 << 20;

std::string_view to_view(beast::string_view text) {
  return {text.data(), text.size()};
}

/// The parts that requests and responses have in common.
template <bool is_request>
class Parser : public http::basic_parser<is_request> {
 public:
  explicit Parser(const HttpLimits& limits) : limits_(limits) {
    this->eager(true);
    // The library counts the first line with the fields as long as it has not seen the end.
    this->header_limit(static_cast<std::uint32_t>(limits.max_url_bytes + kRequestLineSlack +
                                                  limits.max_header_bytes));
    this->body_limit(static_cast<std::uint64_t>(limits.max_body_bytes));
  }

  ParseOutcome feed(std::string_view bytes) {
    std::int64_t skipped = 0;
    if (!this->got_some()) {  // empty lines before the first line are ignored (RFC 9112 2.2)
      while (skipped < static_cast<std::int64_t>(bytes.size()) &&
             (bytes[static_cast<std::size_t>(skipped)] == '\r' ||
              bytes[static_cast<std::size_t>(skipped)] == '\n')) {
        ++skipped;
      }
      bytes.remove_prefix(static_cast<std::size_t>(skipped));
    }
    if (bytes.empty()) {
      return {ParseStep::kNeedMore, skipped};
    }
    beast::error_code error;
    const std::size_t consumed =
        this->put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    const std::int64_t num_consumed = skipped + static_cast<std::int64_t>(consumed);
    if (error && error != http::error::need_more) {
      // A declared length is refused before the library says that the head is complete.
      head_done_ = head_done_ || error == http::error::body_limit;
      if (error_status_ == 0) {
        error_status_ = status_of(error, bytes.substr(consumed));
      }
      return {ParseStep::kFailed, num_consumed};
    }
    if (this->is_done()) {
      return {ParseStep::kDone, num_consumed};
    }
    if (!within_limits(bytes.substr(consumed))) {
      return {ParseStep::kFailed, num_consumed};
    }
    return {ParseStep::kNeedMore, num_consumed};
  }

  int error_status() const { return error_status_; }

  bool head_done() const { return head_done_; }

  Headers headers;
  std::string body;

 protected:
  virtual void on_head_done(beast::error_code& error) = 0;
  virtual bool append_body(std::string_view bytes) = 0;
  virtual bool on_body_end() = 0;

  void fail(int status, beast::error_code& error) {
    error_status_ = status;
    error = http::error::bad_value;  // any error: the status says what it is
  }

  void on_field_impl(http::field, beast::string_view name, beast::string_view value,
                     beast::error_code& error) override {
    field_bytes_ += static_cast<std::int64_t>(name.size() + value.size()) + 4;
    if (field_bytes_ > limits_.max_header_bytes) {
      fail(431, error);
      return;
    }
    if (!head_done_) {  // trailers are checked, not kept
      headers.add(std::string(to_view(name)), std::string(to_view(value)));
    }
  }

  void on_header_impl(beast::error_code& error) override {
    head_done_ = true;
    on_head_done(error);
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>& length,
                         beast::error_code&) override {
    if (is_request && length) {
      body.reserve(static_cast<std::size_t>(std::min(*length, kMaxReserveBytes)));
    }
  }

  std::size_t on_body_impl(beast::string_view bytes, beast::error_code& error) override {
    if (!append_body(to_view(bytes))) {
      error = http::error::bad_value;
    }
    return bytes.size();
  }

  void on_chunk_header_impl(std::uint64_t, beast::string_view, beast::error_code&) override {}

  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view bytes,
                                 beast::error_code& error) override {
    return on_body_impl(bytes, error);
  }

  void on_finish_impl(beast::error_code& error) override {
    if (!on_body_end()) {
      error = http::error::bad_value;
    }
  }

  HttpLimits limits_;
  int error_status_ = 0;
  bool first_line_done_ = false;

 private:
  int status_of(const beast::error_code& error, std::string_view left) const {
    if (error == http::error::body_limit) {
      return 413;
    }
    if (error == http::error::header_limit) {
      return is_first_line_long(left) ? 414 : 431;
    }
    return 400;
  }

  // Bytes at the front that belong to a first line not yet parsed.
  std::size_t first_line_bytes(std::string_view left) const {
    return first_line_done_ ? 0 : std::min(left.find('\n'), left.size());
  }

  bool is_first_line_long(std::string_view left) const {
    return is_request && static_cast<std::int64_t>(first_line_bytes(left)) >
                             limits_.max_url_bytes + kRequestLineSlack;
  }

  // Bounds the bytes that the parser asks to see again.
  bool within_limits(std::string_view left) {
    const auto num_left = static_cast<std::int64_t>(left.size() - first_line_bytes(left));
    if (is_first_line_long(left)) {
      error_status_ = 414;
    } else if (num_left > limits_.max_header_bytes + kLineEndSlack) {
      error_status_ = head_done_ ? 400 : 431;
    }
    return error_status_ == 0;
  }

  std::int64_t field_bytes_ = 0;
  bool head_done_ = false;
};

}  // namespace

class RequestParser::Impl final : public Parser<true> {
 public:
  using Parser::Parser;

  bool expects_continue() const { return expects_continue_; }

  bool version_10() const { return version_ == 10; }

  HttpRequest head() const {
    HttpRequest head = request_;
    head.headers = headers;
    return head;
  }

  HttpRequest take_request() {
    request_.headers = std::move(headers);
    request_.body = std::move(body);
    return std::move(request_);
  }

 private:
  void on_request_impl(http::verb, beast::string_view method, beast::string_view target,
                       int version, beast::error_code& error) override {
    first_line_done_ = true;
    version_ = version;
    if (static_cast<std::int64_t>(target.size()) > limits_.max_url_bytes) {
      fail(414, error);
      return;
    }
    request_.head_only = to_view(method) == "HEAD";
    request_.method = request_.head_only ? "GET" : std::string(to_view(method));
    request_.target = std::string(to_view(target));
    split_target();
  }

  void on_response_impl(int, beast::string_view, int, beast::error_code&) override {}

  void split_target() {
    std::string_view rest = request_.target;
    const std::size_t scheme = rest.find("://");
    if (!rest.starts_with('/') && scheme != std::string_view::npos) {
      rest.remove_prefix(scheme + 3);
      rest.remove_prefix(std::min(rest.find_first_of("/?"), rest.size()));
    }
    const std::size_t mark = rest.find('?');
    request_.path = rest.substr(0, mark);
    if (request_.path.empty()) {
      request_.path = "/";
    }
    if (mark != std::string_view::npos) {
      request_.query = rest.substr(mark + 1);
    }
  }

  void on_head_done(beast::error_code& error) override {
    std::int64_t num_hosts = 0;
    std::string_view coding;
    for (const HeaderField& field : headers) {
      if (equals_ignore_case(field.name, "host")) {
        ++num_hosts;
      } else if (equals_ignore_case(field.name, "transfer-encoding")) {
        // Anything but the one coding we undo leaves the length of the body in doubt.
        if (version_10() || !equals_ignore_case(field.value, "chunked")) {
          fail(version_10() ? 400 : 501, error);
          return;
        }
      } else if (equals_ignore_case(field.name, "content-encoding")) {
        if (!coding.empty()) {
          fail(415, error);
          return;
        }
        coding = field.value;
      } else if (equals_ignore_case(field.name, "expect") && !version_10()) {
        if (!equals_ignore_case(field.value, "100-continue")) {
          fail(417, error);
          return;
        }
        expects_continue_ = true;
      }
    }
    if (num_hosts > 1 || (num_hosts == 0 && !version_10())) {
      fail(400, error);
      return;
    }
    start_decoder(coding, error);
  }

  void start_decoder(std::string_view coding, beast::error_code& error) {
    if (coding.empty() || equals_ignore_case(coding, "identity")) {
      return;
    }
    Result<std::unique_ptr<BodyDecoder>> decoder =
        BodyDecoder::create(coding, limits_.max_body_bytes);
    if (!decoder.ok()) {
      fail(415, error);
      return;
    }
    decoder_ = std::move(decoder).value();
    headers.erase("content-encoding");
  }

  bool append_body(std::string_view bytes) override {
    if (!decoder_) {
      body.append(bytes);
      return true;
    }
    decoded_some_ = true;
    const Status status = decoder_->feed(bytes, &body);
    if (!status.ok()) {
      error_status_ = status.code() == Code::kResourceExhausted ? 413 : 400;
    }
    return status.ok();
  }

  bool on_body_end() override {
    if (decoded_some_ && !decoder_->finish().ok()) {
      error_status_ = 400;
      return false;
    }
    return true;
  }

  HttpRequest request_;
  std::unique_ptr<BodyDecoder> decoder_;
  bool decoded_some_ = false;
  bool expects_continue_ = false;
  int version_ = 11;
};

RequestParser::RequestParser(const HttpLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}

RequestParser::~RequestParser() = default;

ParseOutcome RequestParser::feed(std::string_view bytes) {
  return impl_->feed(bytes);
}

int RequestParser::error_status() const {
  return impl_->error_status();
}

bool RequestParser::head_done() const {
  return impl_->head_done();
}

HttpRequest RequestParser::head() const {
  return impl_->head();
}

bool RequestParser::expects_continue() const {
  return impl_->expects_continue();
}

bool RequestParser::keep_alive() const {
  return impl_->keep_alive();
}

bool RequestParser::is_http_10() const {
  return impl_->version_10();
}

HttpRequest RequestParser::take_request() {
  return impl_->take_request();
}

class ResponseParser::Impl final : public Parser<false> {
 public:
  Impl(const HttpLimits& limits, bool no_body) : Parser(limits) {
    if (no_body) {
      this->skip(true);
    }
  }

  int status = 0;

 private:
  void on_request_impl(http::verb, beast::string_view, beast::string_view, int,
                       beast::error_code&) override {}

  void on_response_impl(int code, beast::string_view, int, beast::error_code&) override {
    first_line_done_ = true;
    status = code;
  }

  void on_head_done(beast::error_code& error) override {
    const std::optional<std::string_view> coding = headers.find("transfer-encoding");
    if (coding && !equals_ignore_case(*coding, "chunked")) {
      fail(501, error);
    }
  }

  bool append_body(std::string_view bytes) override {
    body.append(bytes);
    return true;
  }

  bool on_body_end() override { return true; }
};

ResponseParser::ResponseParser(const HttpLimits& limits, bool no_body)
    : impl_(std::make_unique<Impl>(limits, no_body)) {}

ResponseParser::~ResponseParser() = default;

ParseOutcome ResponseParser::feed(std::string_view bytes) {
  return impl_->feed(bytes);
}

ParseStep ResponseParser::feed_end() {
  if (!impl_->got_some()) {
    return ParseStep::kFailed;
  }
  beast::error_code error;
  impl_->put_eof(error);
  return error ? ParseStep::kFailed : ParseStep::kDone;
}

bool ResponseParser::head_done() const {
  return impl_->head_done();
}

bool ResponseParser::keep_alive() const {
  return impl_->keep_alive();
}

int ResponseParser::status() const {
  return impl_->status;
}

Headers& ResponseParser::headers() {
  return impl_->headers;
}

std::string ResponseParser::take_body() {
  return std::exchange(impl_->body, std::string());
}

}  // namespace plumb
