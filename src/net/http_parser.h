// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/http.h"

namespace plumb {

enum class ParseStep : unsigned char { kNeedMore, kDone, kFailed };

struct ParseOutcome {
  ParseStep step = ParseStep::kNeedMore;
  std::int64_t num_consumed = 0;  ///< bytes not consumed are given again, with more behind them
};

/// Reads one HTTP/1.x request, body decoding included. No input makes it hold more than the limits.
/// Thread: one at a time.
class RequestParser {
 public:
  explicit RequestParser(const HttpLimits& limits);
  ~RequestParser();

  /// Takes what it can. Requires that the last outcome was kNeedMore.
  ParseOutcome feed(std::string_view bytes);

  /// The status that answers a request for which feed() failed: 400, 413, 414, 415, 417, 431, 501.
  int error_status() const;

  bool head_done() const;
  /// The request without its body. Requires head_done().
  HttpRequest head() const;
  bool expects_continue() const;
  bool keep_alive() const;
  bool is_http_10() const;

  /// Requires kDone.
  HttpRequest take_request();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Reads one HTTP/1.x response; body bytes are handed on as they come.
/// Thread: one at a time.
class ResponseParser {
 public:
  /// no_body: the answer to a HEAD request.
  ResponseParser(const HttpLimits& limits, bool no_body);
  ~ResponseParser();

  ParseOutcome feed(std::string_view bytes);
  /// The peer has closed: kDone if that is a legal end of the body.
  ParseStep feed_end();

  bool head_done() const;
  bool keep_alive() const;
  int status() const;
  Headers& headers();
  /// Body bytes that have come since the last call.
  std::string take_body();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plumb
