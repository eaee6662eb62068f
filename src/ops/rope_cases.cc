// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/cases.h"

namespace plumb {
namespace {

struct RopeShape {
  std::int64_t num_tokens;
  std::int64_t num_heads;
  std::int64_t head_dim;
  std::int64_t rotated;  ///< R
  RopeStyle style;
  std::int64_t first_position;
  float base;
  float magnitude;
  CasePlacement place = {};

  std::string name() const {
    return "t" + std::to_string(num_tokens) + "_h" + std::to_string(num_heads) + "_d" +
           std::to_string(head_dim) + "_r" + std::to_string(rotated) + "_p" +
           std::to_string(first_position) +
           (style == RopeStyle::kInterleaved ? "_interleaved" : "_half_split") +
           (place.gap > 0 ? "_strided" : "") + (magnitude != 1.0F ? "_scaled" : "");
  }
};

/// The angle may err by 1e-6 rad, the products by two roundings; what is not rotated keeps its
/// bits.
CaseTolerance rope_tolerance(const RopeShape& s, const std::vector<float>& x) {
  constexpr double kPerUnit = 1e-6 + 4e-7;
  CaseTolerance tolerance;
  tolerance.element.resize(x.size());
  const std::int64_t num_pairs = s.rotated / 2;
  const bool interleaved = s.style == RopeStyle::kInterleaved;
  for (std::int64_t head = 0; head < s.num_tokens * s.num_heads; ++head) {
    for (std::int64_t i = 0; i < num_pairs; ++i) {
      const auto a = static_cast<std::size_t>(head * s.head_dim + (interleaved ? 2 * i : i));
      const std::size_t b = a + (interleaved ? 1 : static_cast<std::size_t>(num_pairs));
      const double bound = kPerUnit * std::hypot(x[a], x[b]) * std::fabs(s.magnitude);
      tolerance.element[a] = bound;
      tolerance.element[b] = bound;
    }
  }
  return tolerance;
}

void run_rope(const RopeShape& s, CaseDevice& device) {
  CaseRng rng(static_cast<std::uint64_t>(s.num_tokens * 31 + s.head_dim + s.first_position));
  const Shape shape{s.num_tokens, s.num_heads, s.head_dim};
  const std::vector<float> x = rng.normals(shape.num_elements());
  std::vector<std::int32_t> positions;
  for (std::int64_t t = 0; t < s.num_tokens; ++t) {
    positions.push_back(static_cast<std::int32_t>(s.first_position + t));
  }
  if (s.num_tokens > 2) {
    std::swap(positions.front(), positions.back());  // any order
  }
  std::vector<float> inv_freq;
  for (std::int64_t i = 0; i < s.rotated / 2; ++i) {
    inv_freq.push_back(static_cast<float>(
        std::pow(s.base, -2.0 * static_cast<double>(i) / static_cast<double>(s.rotated))));
  }
  const Rope args{device.floats(shape, x, s.place), device.ints({s.num_tokens}, positions),
                  device.floats({s.rotated / 2}, inv_freq), s.style, s.magnitude};
  device.run(device.ops().rope, args);
  device.result("x", args.x, rope_tolerance(s, x));
}

void worked_rope(RopeStyle style, const std::vector<float>& expected, CaseDevice& device) {
  const Rope args{device.floats({1, 1, 4}, std::vector<float>{1, 2, 3, 4}),
                  device.ints({1}, std::vector<std::int32_t>{1}),
                  device.floats({2}, std::vector<float>{1.0F, 0.5F}), style, 1.0F};
  device.run(device.ops().rope, args);
  device.result("x", args.x, {.absolute = 6e-6}, expected);
}

}  // namespace

void add_rope_cases(std::vector<OpCase>* cases) {
  cases->push_back(
      {"rope", "worked_half_split", [](CaseDevice& device) {
         worked_rope(RopeStyle::kHalfSplit, {-1.984111F, -0.162537F, 2.462378F, 4.469181F}, device);
       }});
  cases->push_back({"rope", "worked_interleaved", [](CaseDevice& device) {
                      worked_rope(RopeStyle::kInterleaved,
                                  {-1.142640F, 1.922076F, 0.715046F, 4.948607F}, device);
                    }});
  std::vector<RopeShape> shapes;
  for (const RopeStyle style : {RopeStyle::kInterleaved, RopeStyle::kHalfSplit}) {
    shapes.push_back({0, 2, 64, 64, style, 0, 1e4F, 1.0F, {}});
    shapes.push_back({1, 1, 2, 2, style, 3, 1e4F, 1.0F, {}});
    shapes.push_back({3, 2, 64, 0, style, 3, 1e4F, 1.0F, {}});
    shapes.push_back({9, 3, 64, 64, style, 0, 1e4F, 1.0F, {}});
    shapes.push_back({9, 3, 80, 80, style, 100, 1e4F, 1.0F, {48, 16}});
    shapes.push_back({5, 4, 96, 48, style, 4095, 1e6F, 1.0F, {}});
    shapes.push_back({5, 2, 7, 6, style, 17, 1e4F, 1.0F, {1, 1}});
    shapes.push_back({130, 9, 64, 64, style, 2000, 1e5F, 1.0F, {}});
    shapes.push_back({4, 5, 128, 128, style, 131071, 5e5F, 1.1386294F, {}});
    shapes.push_back({7, 4, 256, 256, style, 1048570, 1e6F, 1.0F, {}});
  }
  for (const RopeShape& s : shapes) {
    cases->push_back({"rope", s.name(), [s](CaseDevice& device) { run_rope(s, device); }});
  }
}

}  // namespace plumb
