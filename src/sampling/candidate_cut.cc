// SPDX-License-Identifier: Apache-2.0
#include "sampling/candidate_cut.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sampling/logits_math.h"

namespace plumb {
namespace {

constexpr float kBucketsPerNat = 32.0F;

std::size_t bucket_of(float z) {
  return static_cast<std::size_t>(std::min(-z * kBucketsPerNat, 1023.0F));
}

}  // namespace

CandidateCut CandidateCutter::find(std::span<const float> z, std::int64_t top_k, double top_p,
                                   double min_p, bool joint) {
  CandidateCut cut;
  const bool by_count = top_k > 0 && top_k < std::ssize(z);
  const bool by_mass = top_p < 1.0;
  if (by_count || by_mass) {
    fill_buckets(z, by_mass);
    double total = std::accumulate(masses_.begin(), masses_.end(), 0.0);
    const double whole = total;
    if (by_count) {
      cut = cut_top_k(z, top_k, &total);
    }
    if (by_mass && joint) {
      cut = cut.stricter(cut_top_p(z, top_p, whole, {}));
    } else if (by_mass) {
      cut = cut_top_p(z, top_p, total, cut);
    }
  }
  if (min_p > 0) {
    cut = cut.stricter({static_cast<float>(std::log(min_p)), std::numeric_limits<TokenId>::max()});
  }
  return cut;
}

void CandidateCutter::fill_buckets(std::span<const float> z, bool with_mass) {
  counts_.fill(0);
  masses_.fill(0);
  for (const float value : z) {
    ++counts_[bucket_of(value)];
  }
  if (with_mass) {
    weights_.resize(z.size());
    exp_all(z, weights_);
    for (std::size_t i = 0; i < z.size(); ++i) {
      masses_[bucket_of(z[i])] += static_cast<double>(weights_[i]);
    }
  }
}

void CandidateCutter::gather(std::span<const float> z, std::size_t bucket,
                             const CandidateCut& within) {
  members_.clear();
  members_.reserve(z.size());  // so that no later distribution makes it grow
  for (std::size_t i = 0; i < z.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (bucket_of(z[i]) == bucket && within.keeps(z[i], id)) {
      members_.push_back({z[i], id});
    }
  }
  std::sort(members_.begin(), members_.end(), [](const Candidate& a, const Candidate& b) {
    return a.z != b.z ? a.z > b.z : a.id < b.id;
  });
}

CandidateCut CandidateCutter::cut_top_k(std::span<const float> z, std::int64_t top_k,
                                        double* kept_mass) {
  std::size_t bucket = 0;
  std::int64_t num_above = 0;
  double mass = 0;
  while (num_above + counts_[bucket] < top_k) {
    num_above += counts_[bucket];
    mass += masses_[bucket];
    ++bucket;
  }
  gather(z, bucket, {});
  const auto num_kept = static_cast<std::size_t>(top_k - num_above);
  for (std::size_t i = 0; i < num_kept && !weights_.empty(); ++i) {
    mass += static_cast<double>(weights_[static_cast<std::size_t>(members_[i].id)]);
  }
  *kept_mass = mass;
  return {members_[num_kept - 1].z, members_[num_kept - 1].id};
}

CandidateCut CandidateCutter::cut_top_p(std::span<const float> z, double top_p, double total,
                                        const CandidateCut& within) {
  const double wanted = top_p * total;
  std::size_t bucket = 0;
  double mass = 0;
  while (bucket + 1 < kNumBuckets && mass + masses_[bucket] < wanted) {
    mass += masses_[bucket];
    ++bucket;
  }
  gather(z, bucket, within);
  for (const Candidate& member : members_) {
    mass += static_cast<double>(weights_[static_cast<std::size_t>(member.id)]);
    if (mass >= wanted) {
      return {member.z, member.id};
    }
  }
  return within;  // rounding: the sum of all falls short of p
}

}  // namespace plumb
