// SPDX-License-Identifier: Apache-2.0
#include "cli/line_reader.h"

#include <array>
#include <cerrno>
#include <unistd.h>
#include <utility>

#include "cli/signals.h"

namespace plumb {

LineReader::Read LineReader::next(std::string* line) {
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched_);
    if (end != std::string::npos) {
      *line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      searched_ = 0;
      return std::exchange(is_too_long_, false) ? Read::kTooLong : Read::kLine;
    }
    if (buffer_.size() > kMaxLine) {
      is_too_long_ = true;
      buffer_.clear();
    }
    searched_ = buffer_.size();
    if (!wait_for_input(fd_)) {
      if (::isatty(fd_) == 1) {  // what was typed is given up; a file's line goes on
        buffer_.clear();
        is_too_long_ = false;
      }
      return Read::kStopped;
    }
    std::array<char, 1 << 16> bytes;
    const ssize_t num = ::read(fd_, bytes.data(), bytes.size());
    if (num > 0) {
      buffer_.append(bytes.data(), static_cast<std::size_t>(num));
    } else if (num == 0 || errno != EINTR) {
      if (buffer_.empty() && !is_too_long_) {
        return Read::kEnd;
      }
      buffer_ += '\n';  // of the last line
    }
  }
}

}  // namespace plumb
