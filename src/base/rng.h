// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace plumb {

/// Philox4x32-10: a pure function from (counter, key) to four random words.
///
/// Numerics  equal inputs give equal words on every machine; distinct counters give independent
///           words, so any draw can be computed without the draws before it.
/// Source    Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                              std::array<std::uint32_t, 2> key) {
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
        static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// Spreads a number over all 64 bits, one to one: neighbours come out unlike each other.
/// Source    the finaliser of splitmix64 (Steele, Lea and Flood 2014).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// The word as a double in [0, 1), a multiple of 2^-32.
constexpr double to_uniform(std::uint32_t word) {
  return static_cast<double>(word) * 0x1p-32;
}

/// A sequence of random numbers from a seed, equal on every machine: dummy weights, load
/// generators, tests. Distinct streams of one seed are independent.
/// Thread: one at a time.
class Rng {
 public:
  explicit Rng(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  std::uint32_t next_u32();
  std::uint64_t next_u64();
  /// In [0, 1), a multiple of 2^-53.
  double uniform();

  /// In [low, high).
  double uniform(double low, double high) { return low + (high - low) * uniform(); }

  /// An integer in [0, limit), without bias. Requires limit >= 1.
  std::int64_t below(std::int64_t limit);
  /// Mean 0, standard deviation 1 (Box and Muller's transform; one value is kept for the next
  /// call).
  double normal();

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t block_ = 0;
  std::array<std::uint32_t, 4> words_{};
  int num_left_ = 0;
  double kept_normal_ = 0;
  bool has_kept_normal_ = false;
};

/// Fills memory with the operating system's randomness: ids, salts, keys.
/// Thread: any.
void random_bytes(void* out, std::size_t num_bytes);

}  // namespace plumb
