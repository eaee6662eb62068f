// SPDX-License-Identifier: Apache-2.0
#include "sampling/logits_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace plumb {
namespace {

constexpr std::size_t kLanes = 16;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// exp(x) for -87 <= x <= 0: x = n ln 2 + r, a polynomial for exp(r), n added to the exponent.
inline float exp_of(float x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693145752F;
  constexpr float kLn2Low = 1.42860677e-6F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  x = std::max(x, -87.0F);
  const float rounded = x * kLog2E + kRound;
  const float n = rounded - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const std::int32_t bits =
      std::bit_cast<std::int32_t>(rounded) - std::bit_cast<std::int32_t>(kRound);
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(p) + bits * (1 << 23));
}

}  // namespace

LogitsSummary summarize(std::span<const float> logits) {
  float max[kLanes];
  std::uint32_t bad[kLanes] = {};
  std::fill_n(max, kLanes, -kInfinity);
  const auto look = [&](std::size_t lane, float x) {
    max[lane] = x > max[lane] ? x : max[lane];
    bad[lane] |= x < kInfinity ? 0U : 1U;
  };
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      look(lane, logits[i + lane]);
    }
  }
  for (; i < logits.size(); ++i) {
    look(0, logits[i]);
  }
  const float all = *std::max_element(max, max + kLanes);
  const bool any_bad = std::any_of(bad, bad + kLanes, [](std::uint32_t b) { return b != 0; });
  return {all, !any_bad && all > -kInfinity};
}

TokenId first_of(std::span<const float> logits, float max) {
  const auto found = std::find(logits.begin(), logits.end(), max);
  PLUMB_CHECK(found != logits.end(), "the maximum is not among the logits");
  return static_cast<TokenId>(found - logits.begin());
}

void scale(std::span<const float> logits, float max, double temperature, std::span<float> out) {
  // A factor of zero would turn minus infinity into NaN.
  const float factor =
      std::max(static_cast<float>(1.0 / temperature), std::numeric_limits<float>::min());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    out[i] = (logits[i] - max) * factor;
  }
}

void exp_all(std::span<const float> z, std::span<float> out) {
  for (std::size_t i = 0; i < z.size(); ++i) {
    out[i] = z[i] < -87.0F ? 0.0F : exp_of(z[i]);
  }
}

double log_sum_exp(std::span<const float> logits, float max) {
  double sum[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sum[lane] += static_cast<double>(exp_of(logits[i + lane] - max));
    }
  }
  for (; i < logits.size(); ++i) {
    sum[0] += static_cast<double>(exp_of(logits[i] - max));
  }
  double all = 0;
  for (const double s : sum) {
    all += s;
  }
  return static_cast<double>(max) + std::log(all);
}

std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, double log_sum,
                                       std::int64_t count) {
  std::vector<TokenLogprob> top;
  const auto limit = static_cast<std::size_t>(
      std::clamp<std::int64_t>(count, 0, static_cast<std::int64_t>(logits.size())));
  top.reserve(limit + 1);
  float lowest = -kInfinity;
  for (std::size_t i = 0; limit > 0 && i < logits.size(); ++i) {
    if (top.size() == limit && logits[i] <= lowest) {
      continue;
    }
    const auto place = std::find_if(top.begin(), top.end(),
                                    [&](const TokenLogprob& t) { return t.logprob < logits[i]; });
    top.insert(place, {static_cast<TokenId>(i), logits[i]});
    if (top.size() > limit) {
      top.pop_back();
    }
    lowest = top.back().logprob;
  }
  for (TokenLogprob& t : top) {
    t.logprob = static_cast<float>(static_cast<double>(t.logprob) - log_sum);
  }
  return top;
}

EmittedToken logprobs_of(std::span<const float> logits, float max, TokenId token,
                         std::int64_t num_top) {
  const double log_sum = log_sum_exp(logits, max);
  const double logit = logits[static_cast<std::size_t>(token)];
  return {token, static_cast<float>(logit - log_sum), top_logprobs(logits, log_sum, num_top)};
}

std::int64_t rank_of(std::span<const float> logits, TokenId token) {
  const auto at = static_cast<std::size_t>(token);
  const float logit = logits[at];
  std::int64_t num_before = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    num_before += logits[i] > logit || (logits[i] == logit && i < at) ? 1 : 0;
  }
  return num_before + 1;
}

}  // namespace plumb
