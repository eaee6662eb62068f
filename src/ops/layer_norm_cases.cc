// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/cases.h"

namespace plumb {
namespace {

enum class LayerNormTarget : unsigned char { kOwn, kX, kResidual };

struct LayerNormShape {
  std::int64_t num_tokens;
  std::int64_t hidden;
  bool has_residual;
  LayerNormTarget target;
  CasePlacement place = {};
  float offset = 0.0F;  ///< added to every x: the mean that must cancel

  std::string name() const {
    return "t" + std::to_string(num_tokens) + "_h" + std::to_string(hidden) +
           (has_residual ? "_residual" : "") + (place.gap > 0 ? "_strided" : "") +
           (target == LayerNormTarget::kX          ? "_into_x"
            : target == LayerNormTarget::kResidual ? "_into_residual"
                                                   : "") +
           (offset > 0.0F ? "_offset" : "");
  }
};

void run_layer_norm(const LayerNormShape& s, CaseDevice& device) {
  CaseRng rng(static_cast<std::uint64_t>(s.num_tokens * 733 + s.hidden));
  const Shape shape{s.num_tokens, s.hidden};
  std::vector<float> x = rng.normals(shape.num_elements());
  for (float& value : x) {
    value += s.offset;
  }
  LayerNorm args;
  args.x = device.floats(shape, x, s.place);
  if (s.has_residual) {
    args.residual = device.floats(shape, rng.normals(shape.num_elements()), s.place);
  }
  const std::vector<float> weight = rng.normals(s.hidden);
  args.weight = device.floats({s.hidden}, weight);
  args.bias = device.floats({s.hidden}, rng.normals(s.hidden));
  args.y = s.target == LayerNormTarget::kX          ? args.x
           : s.target == LayerNormTarget::kResidual ? args.residual
                                                    : device.blank(DType::kF32, shape, s.place);
  args.eps = 1e-5F;
  device.run(device.ops().layer_norm, args);
  // s - mean cancels: its error is that of s and of the mean. With one or two elements the variance
  // may be of the size of eps, and divides the error once more.
  const double spread = s.hidden < 3 ? 60.0 : 1.0;
  device.result(
      "y", args.y,
      {.absolute = spread * (4e-6 + 1e-6 * static_cast<double>(s.offset)), .relative = 2e-6});
}

void worked_layer_norm(CaseDevice& device) {
  LayerNorm args;
  args.x = device.floats({1, 2}, std::vector<float>{1, 3});
  args.residual = device.floats({1, 2}, std::vector<float>{1, 1});
  args.weight = device.floats({2}, std::vector<float>{1, 2});
  args.bias = device.floats({2}, std::vector<float>{0, 10});
  args.y = device.blank(DType::kF32, {1, 2});
  args.eps = 0.0F;
  device.run(device.ops().layer_norm, args);
  device.result("y", args.y, {.absolute = 1e-6}, std::vector<float>{-1, 12});
}

void run_add(std::int64_t num_tokens, std::int64_t hidden, CasePlacement place,
             CaseDevice& device) {
  CaseRng rng(static_cast<std::uint64_t>(num_tokens * 739 + hidden));
  const Shape shape{num_tokens, hidden};
  Add args;
  args.x = device.floats(shape, rng.normals(shape.num_elements()), place);
  args.y = device.floats(shape, rng.normals(shape.num_elements()), place);
  device.run(device.ops().add, args);
  device.result("y", args.y);
}

void worked_add(CaseDevice& device) {
  Add args;
  args.x = device.floats({1, 2}, std::vector<float>{1, 2});
  args.y = device.floats({1, 2}, std::vector<float>{10, 20});
  device.run(device.ops().add, args);
  device.result("y", args.y, {}, std::vector<float>{11, 22});
}

}  // namespace

void add_layer_norm_cases(std::vector<OpCase>* cases) {
  using enum LayerNormTarget;
  std::vector<LayerNormShape> shapes;
  for (const std::int64_t hidden : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 127, 384, 768}) {
    shapes.push_back({1, hidden, false, kOwn});
    shapes.push_back({5, hidden, true, kOwn, {3, 1}});
    shapes.push_back({3, hidden, true, kResidual});
  }
  shapes.push_back({0, 64, true, kOwn});
  shapes.push_back({130, 384, false, kX});
  shapes.push_back({67, 72, true, kX, {9, 2}});
  shapes.push_back({33, 8192, true, kOwn});
  shapes.push_back({7, 384, false, kOwn, {}, 100.0F});
  cases->push_back({"layer_norm", "worked", worked_layer_norm});
  for (const LayerNormShape& s : shapes) {
    cases->push_back(
        {"layer_norm", s.name(), [s](CaseDevice& device) { run_layer_norm(s, device); }});
  }
}

void add_add_cases(std::vector<OpCase>* cases) {
  cases->push_back({"add", "worked", worked_add});
  for (const std::int64_t hidden : {1, 7, 8, 17, 33, 384}) {
    for (const std::int64_t num_tokens : {0, 1, 5, 130}) {
      const CasePlacement place = num_tokens == 5 ? CasePlacement{3, 1} : CasePlacement{};
      cases->push_back({"add", "t" + std::to_string(num_tokens) + "_h" + std::to_string(hidden),
                        [=](CaseDevice& device) { run_add(num_tokens, hidden, place, device); }});
    }
  }
}

}  // namespace plumb
