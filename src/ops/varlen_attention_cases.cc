// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/cases.h"

namespace plumb {
namespace {

struct VarlenShape {
  std::string name;
  std::int64_t num_heads;
  std::int64_t head_dim;
  std::vector<std::int32_t> lengths;
  CasePlacement place = {};
  float magnitude = 1.0F;
};

std::vector<std::int32_t> cumulated(const std::vector<std::int32_t>& lengths) {
  std::vector<std::int32_t> begins{0};
  for (const std::int32_t length : lengths) {
    begins.push_back(begins.back() + length);
  }
  return begins;
}

void run_varlen(const VarlenShape& s, CaseDevice& device) {
  CaseRng rng(static_cast<std::uint64_t>(s.head_dim * 31 + std::ssize(s.lengths)));
  const std::vector<std::int32_t> begins = cumulated(s.lengths);
  const Shape shape{begins.back(), s.num_heads, s.head_dim};
  const std::int64_t count = shape.num_elements();
  VarlenAttention args;
  args.q = device.floats(shape, rng.normals(count, s.magnitude), s.place);
  args.k = device.floats(shape, rng.normals(count, s.magnitude), s.place);
  args.v = device.floats(shape, rng.normals(count), s.place);
  args.cu_seqlens = device.ints({std::ssize(begins)}, begins);
  args.y = device.blank(DType::kF32, shape, s.place);
  args.scale = 1.0F / std::sqrt(static_cast<float>(s.head_dim));
  device.run(device.ops().varlen_attention, args);
  // A score of size m^2 sqrt(D) errs by that times 1e-7 or so, and a weight by as much of itself.
  const double scores = s.magnitude * s.magnitude * std::sqrt(static_cast<double>(s.head_dim));
  device.result("y", args.y, {.absolute = 2e-6 + 6e-7 * scores, .relative = 2e-6});
}

void worked_varlen(CaseDevice& device) {
  VarlenAttention args;
  args.q = device.floats({3, 1, 1}, std::vector<float>{1, 0, 9});
  args.k = device.floats({3, 1, 1}, std::vector<float>{0, std::log(3.0F), 5});
  args.v = device.floats({3, 1, 1}, std::vector<float>{4, 8, 2});
  args.cu_seqlens = device.ints({3}, std::vector<std::int32_t>{0, 2, 3});
  args.y = device.blank(DType::kF32, {3, 1, 1});
  device.run(device.ops().varlen_attention, args);
  device.result("y", args.y, {.absolute = 1e-5}, std::vector<float>{7, 6, 2});
}

}  // namespace

void add_varlen_attention_cases(std::vector<OpCase>* cases) {
  cases->push_back({"varlen_attention", "worked", worked_varlen});
  std::vector<VarlenShape> shapes;
  for (const std::int64_t head_dim : {1, 7, 16, 24, 32, 64, 80, 128}) {
    shapes.push_back({"d" + std::to_string(head_dim), 3, head_dim, {1, 33, 0, 17, 70}});
    shapes.push_back(
        {"d" + std::to_string(head_dim) + "_strided", 2, head_dim, {31, 32, 5}, {40, 8}});
  }
  for (const std::int32_t length : {1, 2, 31, 32, 33, 95, 96, 97, 128, 129, 515}) {
    shapes.push_back({"n" + std::to_string(length), 2, 32, {length, 3}});
  }
  shapes.push_back({"no_sequence", 2, 32, {}});
  shapes.push_back({"no_row", 2, 32, {0, 0}});
  shapes.push_back({"many", 12, 32, std::vector<std::int32_t>(40, 21)});
  shapes.push_back({"large_scores", 2, 32, {70, 129}, {}, 5.0F});
  for (const VarlenShape& s : shapes) {
    cases->push_back(
        {"varlen_attention", s.name, [s](CaseDevice& device) { run_varlen(s, device); }});
  }
}

}  // namespace plumb
