// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace plumb {

/// What one op call must do at least: the two floors of its time are flops / peak and (read +
/// written) / bandwidth.
struct Cost {
  std::int64_t flops = 0;
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;

  Cost& operator+=(const Cost& other) {
    flops += other.flops;
    bytes_read += other.bytes_read;
    bytes_written += other.bytes_written;
    return *this;
  }

  bool operator==(const Cost&) const = default;
};

}  // namespace plumb
