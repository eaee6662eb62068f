// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>
#include <utility>

#include "base/text.h"

namespace plumb {
namespace {

constexpr int kBarWidth = 30;

std::string amount(double value, const std::string& unit) {
  if (unit == "B") {
    return bytes_to_text(static_cast<std::uint64_t>(value));
  }
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.1f %s", value, unit.c_str());
  return buffer;
}

}  // namespace

Progress::Progress(std::string what, std::string unit, std::uint64_t first)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      first_(first),
      is_terminal_(::isatty(STDERR_FILENO) == 1),
      start_(system_clock().now()) {}

void Progress::update(std::uint64_t done, std::uint64_t total) {
  const Clock::TimePoint now = system_clock().now();
  const bool is_last = done >= total;
  if (!is_terminal_ || total == 0 ||
      (!is_last && has_drawn_ && now - last_draw_ < std::chrono::milliseconds(100))) {
    return;
  }
  has_drawn_ = true;
  last_draw_ = now;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate =
      seconds > 0 ? static_cast<double>(done - std::min(first_, done)) / seconds : 0;
  char left[32] = "";
  if (rate > 0) {  // before that, nobody knows
    std::snprintf(left, sizeof left, "  %.0f s left", static_cast<double>(total - done) / rate);
  }
  const int filled = static_cast<int>(share * kBarWidth);
  std::fprintf(stderr, "\r%s [%s%s] %3.0f%%  %s/s%s\x1b[K", what_.c_str(),
               std::string(static_cast<std::size_t>(filled), '#').c_str(),
               std::string(static_cast<std::size_t>(kBarWidth - filled), '.').c_str(), share * 100,
               amount(rate, unit_).c_str(), left);
}

void Progress::finish() {
  if (has_drawn_) {
    std::fprintf(stderr, "\n");
    has_drawn_ = false;
  }
}

}  // namespace plumb
