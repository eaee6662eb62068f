// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/choice.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/option_field.h"
#include "base/status.h"
#include "net/http.h"

namespace plumb {

/// Where requests are written down.
struct AccessLogOptions {
  std::string access_log;

  static constexpr auto fields() {
    using S = AccessLogOptions;
    return std::tuple{path_field(&S::access_log, "access-log",
                                 "file that gets a line of JSON for each request, with the times "
                                 "of its phases; - is standard error; default: none")};
  }
};

/// What the log tells of one request, gathered while it runs: nothing that it says, and no key.
struct AccessEntry {
  /// Of the head of a request that came just now. `now` says what time it is.
  AccessEntry(const HttpRequest& head, std::chrono::system_clock::time_point now);

  std::chrono::system_clock::time_point begun;
  std::string request_id;
  std::string trace_id;  ///< of the caller's traceparent; empty without one
  std::string key;       ///< the name of the key
  std::string client;    ///< address
  std::string method;
  std::string route;  ///< the path of the route, "unknown" where there is none
  std::string user_agent;
  std::string error_code;       ///< of an error body
  std::string response_id;      ///< of a response in the background that has ended, as what follows
  std::string response_status;  ///< "completed", "incomplete", "failed" or "cancelled"
  std::string model;            ///< of those that generate, as what follows
  bool is_stream = false;
  std::int64_t choices_per_prompt = 1;
  std::optional<Clock::TimePoint> first_token;
  std::vector<ChoiceEnd> ends;
};

/// {"time","request_id","key","client","method","route","status", …}: times of phases in
/// milliseconds; what a request does not have is left out, as the status of what is no answer.
Json access_line(const AccessEntry& entry, std::optional<int> http_status,
                 Clock::TimePoint received, Clock::TimePoint now);

/// One line of JSON for each request, and for each response in the background, in a file that only
/// grows (so it may be truncated by whoever rotates it), or on standard error. Thread: the server's
/// loop, but for open().
class AccessLog {
 public:
  /// Null for an empty path. Errors: as AppendFile::open().
  static Result<std::unique_ptr<AccessLog>> open(const std::string& path);

  /// A line that cannot be written is lost; the first of several is said in the program's log.
  void write(const Json& line);

 private:
  explicit AccessLog(std::optional<AppendFile> file) : file_(std::move(file)) {}

  std::optional<AppendFile> file_;  // absent: standard error
  bool is_failing_ = false;
};

}  // namespace plumb
