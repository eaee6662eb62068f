// SPDX-License-Identifier: Apache-2.0
#include "model/rope_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

namespace plumb {
namespace {

// Wavelengths short against the original context stay, long ones are stretched, those between are
// blended.
double llama3_scaled(const RopeConfig& c, double freq) {
  const double wavelength = 2.0 * std::numbers::pi / freq;
  const double context = static_cast<double>(c.original_context_len);
  if (wavelength < context / c.high_freq_factor) {
    return freq;
  }
  if (wavelength > context / c.low_freq_factor) {
    return freq / c.factor;
  }
  const double smooth =
      (context / wavelength - c.low_freq_factor) / (c.high_freq_factor - c.low_freq_factor);
  return (1.0 - smooth) * freq / c.factor + smooth * freq;
}

// The pair whose angle makes `rotations` turns over the original context.
double yarn_pair(const RopeConfig& c, double rotations) {
  const double dim = static_cast<double>(c.rotary_dim);
  const double context = static_cast<double>(c.original_context_len);
  return dim * std::log(context / (rotations * 2.0 * std::numbers::pi)) / (2.0 * std::log(c.theta));
}

double yarn_scaled(const RopeConfig& c, double freq, std::int64_t pair) {
  const double low = std::max(0.0, std::floor(yarn_pair(c, c.beta_fast)));
  const double high =
      std::min(static_cast<double>(c.rotary_dim) - 1.0, std::ceil(yarn_pair(c, c.beta_slow)));
  const double span = std::max(high - low, 0.001);
  const double ramp = std::clamp((static_cast<double>(pair) - low) / span, 0.0, 1.0);
  return freq * (1.0 - ramp) + freq / c.factor * ramp;
}

double magnitude_of(const RopeConfig& c, std::int64_t max_context_len) {
  if (c.scaling != RopeScaling::kYarn && c.scaling != RopeScaling::kLongRope) {
    return 1.0;
  }
  if (c.attention_factor > 0) {
    return c.attention_factor;
  }
  if (c.scaling == RopeScaling::kYarn) {
    return c.factor <= 1.0 ? 1.0 : 0.1 * std::log(c.factor) + 1.0;
  }
  const double original = static_cast<double>(c.original_context_len);
  const double stretch = static_cast<double>(max_context_len) / original;
  return stretch <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(stretch) / std::log(original));
}

}  // namespace

Result<RopeTable> make_rope_table(const RopeConfig& c, std::int64_t max_context_len,
                                  const std::vector<float>& divisors) {
  const std::int64_t num_pairs = c.rotary_dim / 2;
  const bool is_long = max_context_len > c.original_context_len;
  const std::vector<double>& factors = is_long ? c.long_factors : c.short_factors;
  if (c.scaling == RopeScaling::kLongRope &&
      static_cast<std::int64_t>(factors.size()) != num_pairs) {
    return Status{Code::kInvalidArgument, "rope: " + std::to_string(factors.size()) +
                                              " long or short factors, expected " +
                                              std::to_string(num_pairs)};
  }
  if (!divisors.empty() && static_cast<std::int64_t>(divisors.size()) != num_pairs) {
    return Status{Code::kInvalidArgument, "rope: " + std::to_string(divisors.size()) +
                                              " frequency divisors, expected " +
                                              std::to_string(num_pairs)};
  }
  RopeTable table;
  table.magnitude = static_cast<float>(magnitude_of(c, max_context_len));
  for (std::int64_t i = 0; i < num_pairs; ++i) {
    const auto at = static_cast<std::size_t>(i);
    double freq =
        std::pow(c.theta, -2.0 * static_cast<double>(i) / static_cast<double>(c.rotary_dim));
    switch (c.scaling) {
      case RopeScaling::kNone:
        break;
      case RopeScaling::kLinear:
        freq /= c.factor;
        break;
      case RopeScaling::kLlama3:
        freq = llama3_scaled(c, freq);
        break;
      case RopeScaling::kYarn:
        freq = yarn_scaled(c, freq, i);
        break;
      case RopeScaling::kLongRope:
        freq /= factors[at];
        break;
    }
    if (!divisors.empty()) {
      if (!(divisors[at] > 0)) {
        return Status{Code::kInvalidArgument,
                      "rope: frequency divisor " + std::to_string(i) + " is not positive"};
      }
      freq /= static_cast<double>(divisors[at]);
    }
    table.inv_freq.push_back(static_cast<float>(freq));
  }
  return table;
}

}  // namespace plumb
