// SPDX-License-Identifier: Apache-2.0
#include "ops/cases.h"

namespace plumb {
namespace {

std::string pooling_name(Pooling pooling) {
  return pooling == Pooling::kMean ? "mean" : pooling == Pooling::kFirst ? "first" : "last";
}

void run_pool(Pooling pooling, std::int64_t hidden, const std::vector<std::int32_t>& begins,
              CasePlacement place, CaseDevice& device) {
  CaseRng rng(static_cast<std::uint64_t>(hidden * 41 + std::ssize(begins)));
  const Shape shape{begins.back(), hidden};
  Pool args;
  args.x = device.floats(shape, rng.normals(shape.num_elements()), place);
  args.cu_seqlens = device.ints({std::ssize(begins)}, begins);
  args.y = device.blank(DType::kF32, {std::ssize(begins) - 1, hidden}, place);
  args.pooling = pooling;
  device.run(device.ops().pool, args);
  device.result("y", args.y, {.absolute = 2e-6, .relative = 3e-6});
}

void worked_pool(Pooling pooling, const std::vector<float>& expected, CaseDevice& device) {
  Pool args;
  args.x = device.floats({3, 2}, std::vector<float>{3, 0, 3, 8, 5, 12});
  args.cu_seqlens = device.ints({3}, std::vector<std::int32_t>{0, 2, 3});
  args.y = device.blank(DType::kF32, {2, 2});
  args.pooling = pooling;
  device.run(device.ops().pool, args);
  device.result("y", args.y, {.absolute = 1e-6}, expected);
}

}  // namespace

void add_pool_cases(std::vector<OpCase>* cases) {
  const auto add_worked = [&](Pooling pooling, const std::vector<float>& expected) {
    cases->push_back({"pool", "worked_" + pooling_name(pooling),
                      [=](CaseDevice& device) { worked_pool(pooling, expected, device); }});
  };
  add_worked(Pooling::kMean, {3, 4, 5, 12});
  add_worked(Pooling::kFirst, {3, 0, 5, 12});
  add_worked(Pooling::kLast, {3, 8, 5, 12});
  const std::vector<std::int32_t> ragged{0, 1, 34, 51, 52, 400};
  for (const Pooling pooling : {Pooling::kMean, Pooling::kFirst, Pooling::kLast}) {
    for (const std::int64_t hidden : {1, 7, 8, 17, 384, 1025}) {
      cases->push_back(
          {"pool", pooling_name(pooling) + "_h" + std::to_string(hidden), [=](CaseDevice& device) {
             run_pool(pooling, hidden, ragged, {3, 1}, device);
           }});
    }
    cases->push_back({"pool", pooling_name(pooling) + "_none",
                      [=](CaseDevice& device) { run_pool(pooling, 8, {0}, {}, device); }});
  }
}

}  // namespace plumb
