// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace plumb {

/// One server-sent event.
struct SseEvent {
  std::string event;  ///< empty = unnamed
  std::string data;   ///< lines joined by '\n'
  std::string id;     ///< the last id that the stream has stated

  bool operator==(const SseEvent&) const = default;
};

/// Appends one event: an event line if the name is not empty, a data line for each line of data,
/// and the blank line. Requires the name holds no line break.
void append_sse(std::string* out, std::string_view event, std::string_view data);
/// As above, with an id line: what a client that comes back names in last-event-id.
void append_sse(std::string* out, std::string_view event, std::string_view data, std::uint64_t id);

/// Decodes a stream of server-sent events piece by piece, wherever it is cut.
///
/// Line ends may be LF, CR or CRLF; comments are skipped; events without data are dropped.
/// Thread: one at a time. Source: WHATWG HTML, section 9.2.
class SseParser {
 public:
  explicit SseParser(std::int64_t max_event_bytes = std::int64_t{16} << 20)
      : max_event_bytes_(max_event_bytes) {}

  /// Appends the events that these bytes complete.
  /// Errors: kResourceExhausted for an event above the limit; the parser is then useless.
  Status feed(std::string_view bytes, std::vector<SseEvent>* events);

 private:
  void end_line(std::vector<SseEvent>* events);
  void take_field(std::string_view name, std::string_view value);

  std::int64_t max_event_bytes_;
  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool after_cr_ = false;
  bool is_first_line_ = true;
};

}  // namespace plumb
