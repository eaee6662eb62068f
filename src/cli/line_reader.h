// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace plumb {

/// Lines of a file or terminal, for a person who may interrupt at any time. Thread: main.
class LineReader {
 public:
  enum class Read : unsigned char {
    kLine,     ///< without its end; the last one may have none
    kTooLong,  ///< more than kMaxLine bytes: skipped
    kStopped,  ///< stop_requested() was set, and is not any more
    kEnd,
  };
  static constexpr std::size_t kMaxLine = 16 << 20;

  explicit LineReader(int fd) : fd_(fd) {}

  /// Waits for the next line.
  Read next(std::string* line);

 private:
  int fd_;
  std::string buffer_;
  std::size_t searched_ = 0;  // bytes of the buffer without a line end
  bool is_too_long_ = false;
};

}  // namespace plumb
