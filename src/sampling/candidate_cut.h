// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/token_id.h"

namespace plumb {

/// Which tokens survive: those above the threshold, and at the threshold those up to an id. (Equal
/// logits are ordered by id, so that the k most likely are always k.)
struct CandidateCut {
  float threshold = -std::numeric_limits<float>::infinity();
  TokenId last_id = std::numeric_limits<TokenId>::max();

  bool keeps(float z, TokenId id) const {
    return z > threshold || (z == threshold && id <= last_id);
  }

  /// Keeps what both keep.
  CandidateCut stricter(const CandidateCut& other) const {
    if (threshold != other.threshold) {
      return threshold > other.threshold ? *this : other;
    }
    return last_id < other.last_id ? *this : other;
  }
};

/// Finds where top-k, top-p and min-p cut a row, without sorting the vocabulary: one pass counts
/// tokens and probability mass in buckets of 1/32 nat below the maximum, then only the bucket that
/// holds the cut is sorted.
///
/// Thread  device.
/// Cost    O(V), plus sorting one bucket; allocates in its first calls only, as long as V stays.
class CandidateCutter {
 public:
  /// Top-k, then top-p on what is left, renormalised, then min-p. With `joint`, top-p counts the
  /// whole distribution and both must keep a token: of p = .5 .3 .1 .1 with k = 2, p = .6 one
  /// survives (.625 >= .6), jointly two do (.5 < .6).
  ///
  /// Shapes    z [V]: (logit - max) / temperature.
  /// Requires  top_k <= 0 means off; top_p in (0, 1], min_p in [0, 1].
  CandidateCut find(std::span<const float> z, std::int64_t top_k, double top_p, double min_p,
                    bool joint = false);

 private:
  static constexpr std::size_t kNumBuckets = 1024;

  struct Candidate {
    float z;
    TokenId id;
  };

  void fill_buckets(std::span<const float> z, bool with_mass);
  void gather(std::span<const float> z, std::size_t bucket, const CandidateCut& within);
  CandidateCut cut_top_k(std::span<const float> z, std::int64_t top_k, double* kept_mass);
  CandidateCut cut_top_p(std::span<const float> z, double top_p, double total,
                         const CandidateCut& within);

  std::array<std::int64_t, kNumBuckets> counts_{};
  std::array<double, kNumBuckets> masses_{};
  std::vector<float> weights_;
  std::vector<Candidate> members_;  ///< of one bucket, most likely first
};

}  // namespace plumb
