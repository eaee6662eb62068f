// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"

#include <cerrno>
#include <cmath>
#include <limits>
#include <numbers>
#include <sys/random.h>

#include "base/check.h"

namespace plumb {
namespace {

std::uint32_t low_word(std::uint64_t x) {
  return static_cast<std::uint32_t>(x);
}

std::uint32_t high_word(std::uint64_t x) {
  return static_cast<std::uint32_t>(x >> 32);
}

}  // namespace

std::uint32_t Rng::next_u32() {
  if (num_left_ == 0) {
    words_ = philox({low_word(block_), high_word(block_), low_word(stream_), high_word(stream_)},
                    {low_word(seed_), high_word(seed_)});
    ++block_;
    num_left_ = 4;
  }
  return words_[static_cast<std::size_t>(4 - num_left_--)];
}

std::uint64_t Rng::next_u64() {
  const std::uint64_t low = next_u32();
  return low | std::uint64_t{next_u32()} << 32;
}

double Rng::uniform() {
  return static_cast<double>(next_u64() >> 11) * 0x1p-53;
}

std::int64_t Rng::below(std::int64_t limit) {
  PLUMB_CHECK(limit >= 1, "Rng::below needs a limit of at least 1");
  const auto n = static_cast<std::uint64_t>(limit);
  // Values of the last, incomplete run of n are drawn again.
  const std::uint64_t first_biased = std::numeric_limits<std::uint64_t>::max() / n * n;
  std::uint64_t x = next_u64();
  while (x >= first_biased) {
    x = next_u64();
  }
  return static_cast<std::int64_t>(x % n);
}

double Rng::normal() {
  if (has_kept_normal_) {
    has_kept_normal_ = false;
    return kept_normal_;
  }
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  kept_normal_ = radius * std::sin(angle);
  has_kept_normal_ = true;
  return radius * std::cos(angle);
}

void random_bytes(void* out, std::size_t num_bytes) {
  char* at = static_cast<char*>(out);
  while (num_bytes > 0) {
    const ssize_t n = ::getrandom(at, num_bytes, 0);
    PLUMB_CHECK(n > 0 || errno == EINTR, "the system gives no random bytes");
    if (n > 0) {
      at += n;
      num_bytes -= static_cast<std::size_t>(n);
    }
  }
}

}  // namespace plumb
