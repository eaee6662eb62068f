// SPDX-License-Identifier: Apache-2.0
#include "ops/cases.h"

namespace plumb {
namespace {

struct NormShape {
  std::int64_t num_tokens;
  std::int64_t hidden;
  CasePlacement place = {};
  bool in_place;
  float magnitude;

  std::string name() const {
    return "t" + std::to_string(num_tokens) + "_h" + std::to_string(hidden) +
           (place.gap > 0 ? "_strided" : "") + (in_place ? "_in_place" : "") +
           (magnitude > 1.0F   ? "_huge"
            : magnitude < 1.0F ? "_tiny"
                               : "");
  }
};

constexpr double kRelative = 2e-6;  // a blocked sum of up to 8192 squares, a root, two products

void run_rms_norm(const NormShape& s, CaseDevice& device) {
  CaseRng rng(static_cast<std::uint64_t>(s.num_tokens * 977 + s.hidden));
  const Shape shape{s.num_tokens, s.hidden};
  RmsNorm args;
  args.x = device.floats(shape, rng.normals(shape.num_elements(), s.magnitude), s.place);
  args.weight = device.floats({s.hidden}, rng.normals(s.hidden));
  args.y = s.in_place ? args.x : device.blank(DType::kF32, shape, s.place);
  args.eps = 1e-5F;
  device.run(device.ops().rms_norm, args);
  device.result("y", args.y, {.absolute = 1e-30, .relative = kRelative});
}

void run_add_rms_norm(const NormShape& s, CaseDevice& device) {
  CaseRng rng(static_cast<std::uint64_t>(s.num_tokens * 983 + s.hidden));
  const Shape shape{s.num_tokens, s.hidden};
  AddRmsNorm args;
  args.x = device.floats(shape, rng.normals(shape.num_elements(), s.magnitude), s.place);
  args.residual = device.floats(shape, rng.normals(shape.num_elements(), s.magnitude), s.place);
  args.weight = device.floats({s.hidden}, rng.normals(s.hidden));
  args.y = s.in_place ? args.x : device.blank(DType::kF32, shape, s.place);
  args.eps = 1e-5F;
  device.run(device.ops().add_rms_norm, args);
  device.result("y", args.y, {.absolute = 1e-30, .relative = kRelative});
  device.result("residual", args.residual);
}

void worked_rms_norm(CaseDevice& device) {
  const RmsNorm args{device.floats({1, 2}, std::vector<float>{3, 4}),
                     device.floats({2}, std::vector<float>{1, 2}),
                     device.blank(DType::kF32, {1, 2}), 0.0F};
  device.run(device.ops().rms_norm, args);
  device.result("y", args.y, {.absolute = 1e-6}, std::vector<float>{0.848528F, 2.262742F});
}

void worked_add_rms_norm(CaseDevice& device) {
  const AddRmsNorm args{device.floats({1, 2}, std::vector<float>{1, 1}),
                        device.floats({1, 2}, std::vector<float>{2, 3}),
                        device.floats({2}, std::vector<float>{1, 2}),
                        device.blank(DType::kF32, {1, 2}), 0.0F};
  device.run(device.ops().add_rms_norm, args);
  device.result("y", args.y, {.absolute = 1e-6}, std::vector<float>{0.848528F, 2.262742F});
  device.result("residual", args.residual, {}, std::vector<float>{3, 4});
}

}  // namespace

void add_rms_norm_cases(std::vector<OpCase>* cases) {
  std::vector<NormShape> shapes;
  for (const std::int64_t hidden : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 96, 127, 576, 2048}) {
    shapes.push_back({1, hidden, {}, false, 1.0F});
    shapes.push_back({5, hidden, {3, 1}, false, 1.0F});
    shapes.push_back({3, hidden, {}, true, 1.0F});
  }
  shapes.push_back({0, 64, {}, false, 1.0F});
  shapes.push_back({130, 640, {}, false, 1.0F});
  shapes.push_back({67, 72, {9, 2}, true, 1.0F});
  shapes.push_back({33, 8192, {}, false, 1.0F});
  shapes.push_back({7, 640, {}, false, 1e10F});
  shapes.push_back({7, 640, {}, false, 1e-10F});
  cases->push_back({"rms_norm", "worked", worked_rms_norm});
  for (const NormShape& s : shapes) {
    cases->push_back({"rms_norm", s.name(), [s](CaseDevice& device) { run_rms_norm(s, device); }});
  }
  cases->push_back({"add_rms_norm", "worked", worked_add_rms_norm});
  for (const NormShape& s : shapes) {
    cases->push_back(
        {"add_rms_norm", s.name(), [s](CaseDevice& device) { run_add_rms_norm(s, device); }});
  }
}

}  // namespace plumb
