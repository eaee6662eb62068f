// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/cases.h"

namespace plumb {
namespace {

struct GeluShape {
  GeluForm form;
  std::int64_t num_tokens;
  std::int64_t width;
  CasePlacement place = {};
  bool in_place = false;
  float magnitude = 3.0F;

  std::string name() const {
    return std::string(form == GeluForm::kErf ? "erf" : "tanh") + "_t" +
           std::to_string(num_tokens) + "_i" + std::to_string(width) +
           (place.gap > 0 ? "_strided" : "") + (in_place ? "_in_place" : "") +
           (magnitude > 1e3F   ? "_1e5"
            : magnitude > 3.0F ? "_huge"
                               : "");
  }
};

void run_gelu(const GeluShape& s, CaseDevice& device) {
  CaseRng rng(static_cast<std::uint64_t>(s.num_tokens * 79 + s.width));
  const Shape shape{s.num_tokens, s.width};
  const std::vector<float> x = rng.normals(shape.num_elements(), s.magnitude);
  CaseTolerance tolerance{.absolute = 1e-37, .relative = 1.3e-6};
  for (const float value : x) {
    tolerance.element.push_back(4e-7 * std::fabs(static_cast<double>(value)));
  }
  Gelu args;
  args.x = device.floats(shape, x, s.place);
  args.y = s.in_place ? args.x : device.blank(DType::kF32, shape, s.place);
  args.form = s.form;
  device.run(device.ops().gelu, args);
  device.result("y", args.y, std::move(tolerance));
}

void worked_gelu(GeluForm form, const std::vector<float>& expected, CaseDevice& device) {
  const Gelu args{device.floats({1, 2}, std::vector<float>{1, -2}),
                  device.blank(DType::kF32, {1, 2}), form};
  device.run(device.ops().gelu, args);
  device.result("y", args.y, {.absolute = 2e-6}, expected);
}

}  // namespace

void add_gelu_cases(std::vector<OpCase>* cases) {
  cases->push_back({"gelu", "worked_erf", [](CaseDevice& device) {
                      worked_gelu(GeluForm::kErf, {0.841345F, -0.045500F}, device);
                    }});
  cases->push_back({"gelu", "worked_tanh", [](CaseDevice& device) {
                      worked_gelu(GeluForm::kTanh, {0.841192F, -0.045402F}, device);
                    }});
  std::vector<GeluShape> shapes;
  for (const GeluForm form : {GeluForm::kErf, GeluForm::kTanh}) {
    for (const std::int64_t width : {1, 2, 3, 7, 8, 9, 15, 17, 31, 33, 127, 1536}) {
      shapes.push_back({form, 1, width});
      shapes.push_back({form, 4, width, {5, 3}, true});
    }
    shapes.push_back({form, 0, 64});
    shapes.push_back({form, 130, 1536, {}, true});
    shapes.push_back({form, 9, 512, {}, false, 100.0F});
    shapes.push_back({form, 9, 512, {}, false, 1e5F});
  }
  for (const GeluShape& s : shapes) {
    cases->push_back({"gelu", s.name(), [s](CaseDevice& device) { run_gelu(s, device); }});
  }
}

}  // namespace plumb
