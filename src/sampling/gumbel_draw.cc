// SPDX-License-Identifier: Apache-2.0
#include "sampling/gumbel_draw.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/rng.h"

namespace plumb {
namespace {

constexpr std::size_t kWords = 4;
// The largest -log(-log u): u = 1 - 2^-33.
constexpr float kLargestNoise = 33.0F * std::numbers::ln2_v<float>;

class Draw {
 public:
  Draw(std::span<const float> z, const CandidateCut& cut, std::uint64_t seed, std::int64_t position)
      : z_(z),
        cut_(cut),
        key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        position_(static_cast<std::uint64_t>(position)) {}

  std::array<std::uint32_t, kWords> words(std::size_t group) const {
    return philox({static_cast<std::uint32_t>(group), 0, static_cast<std::uint32_t>(position_),
                   static_cast<std::uint32_t>(position_ >> 32)},
                  key_);
  }

  void offer(std::size_t i, std::uint32_t word) {
    const auto id = static_cast<TokenId>(i);
    // -log u >= 1 - u, and 1 - u >= 2^-(n+1) with n leading ones in the word: a bound without a
    // logarithm.
    const float bound =
        z_[i] + static_cast<float>(std::countl_one(word) + 1) * std::numbers::ln2_v<float>;
    if (static_cast<double>(bound) < best_ || !cut_.keeps(z_[i], id)) {
      return;
    }
    const double uniform = (static_cast<double>(word) + 0.5) * 0x1p-32;
    const double score = static_cast<double>(z_[i]) - std::log(-std::log(uniform));
    if (score > best_ || (score == best_ && id < best_id_)) {
      best_ = score;
      best_id_ = id;
    }
  }

  void offer_group(std::size_t group) {
    const std::size_t begin = group * kWords;
    const std::size_t end = std::min(begin + kWords, z_.size());
    const float largest = *std::max_element(z_.begin() + static_cast<std::ptrdiff_t>(begin),
                                            z_.begin() + static_cast<std::ptrdiff_t>(end));
    if (largest < cut_.threshold || static_cast<double>(largest + kLargestNoise) < best_) {
      return;
    }
    const std::array<std::uint32_t, kWords> group_words = words(group);
    for (std::size_t i = begin; i < end; ++i) {
      offer(i, group_words[i - begin]);
    }
  }

  TokenId best_id() const { return best_id_; }

 private:
  std::span<const float> z_;
  const CandidateCut& cut_;
  std::array<std::uint32_t, 2> key_;
  std::uint64_t position_;
  double best_ = -std::numeric_limits<double>::infinity();
  TokenId best_id_ = -1;
};

}  // namespace

TokenId draw_gumbel(std::span<const float> z, const CandidateCut& cut, TokenId most_likely,
                    std::uint64_t seed, std::int64_t position) {
  Draw draw(z, cut, seed, position);
  const std::size_t num_groups = (z.size() + kWords - 1) / kWords;
  draw.offer_group(static_cast<std::size_t>(most_likely) / kWords);  // a good bound at once
  for (std::size_t group = 0; group < num_groups; ++group) {
    draw.offer_group(group);
  }
  return draw.best_id();
}

}  // namespace plumb
