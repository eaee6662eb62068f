// SPDX-License-Identifier: Apache-2.0
#include "net/sse.h"

#include <algorithm>
#include <utility>

namespace plumb {

void append_sse(std::string* out, std::string_view event, std::string_view data) {
  if (!event.empty()) {
    *out += "event: ";
    *out += event;
    *out += '\n';
  }
  for (;;) {
    const std::size_t end = data.find_first_of("\r\n");
    *out += "data: ";
    *out += data.substr(0, end);
    *out += '\n';
    if (end == std::string_view::npos) {
      break;
    }
    const bool is_pair = data[end] == '\r' && end + 1 < data.size() && data[end + 1] == '\n';
    data.remove_prefix(end + (is_pair ? 2 : 1));
  }
  *out += '\n';
}

void append_sse(std::string* out, std::string_view event, std::string_view data, std::uint64_t id) {
  *out += "id: " + std::to_string(id) + "\n";
  append_sse(out, event, data);
}

Status SseParser::feed(std::string_view bytes, std::vector<SseEvent>* events) {
  while (!bytes.empty()) {
    if (after_cr_ && bytes.front() == '\n') {  // the second half of CRLF
      bytes.remove_prefix(1);
      after_cr_ = false;
      continue;
    }
    after_cr_ = false;
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    line_ += bytes.substr(0, end);
    if (static_cast<std::int64_t>(line_.size() + event_.data.size()) > max_event_bytes_) {
      return Status(Code::kResourceExhausted, "event stream: an event exceeds " +
                                                  std::to_string(max_event_bytes_) + " bytes");
    }
    if (end == bytes.size()) {
      break;
    }
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    end_line(events);
  }
  return Status();
}

void SseParser::end_line(std::vector<SseEvent>* events) {
  std::string_view line = line_;
  if (std::exchange(is_first_line_, false) && line.starts_with("\xef\xbb\xbf")) {
    line.remove_prefix(3);
  }
  if (line.empty()) {
    if (has_data_) {
      event_.data.pop_back();  // the newline behind the last data line
      events->push_back(event_);
    }
    event_.event.clear();
    event_.data.clear();
    has_data_ = false;
  } else if (line.front() != ':') {
    const std::size_t colon = line.find(':');
    std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
    if (value.starts_with(' ')) {
      value.remove_prefix(1);
    }
    take_field(line.substr(0, colon), value);
  }
  line_.clear();
}

void SseParser::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    event_.data += value;
    event_.data += '\n';
    has_data_ = true;
  } else if (name == "event") {
    event_.event = value;
  } else if (name == "id" && value.find('\0') == std::string_view::npos) {
    event_.id = value;
  }
}

}  // namespace plumb
