// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/cases.h"

namespace plumb {
namespace {

enum class GluTarget : unsigned char { kOwn, kGate, kUp };

struct GluShape {
  Activation activation;
  std::int64_t num_tokens;
  std::int64_t width;
  CasePlacement place = {};
  GluTarget target;
  float magnitude;

  std::string name() const {
    return std::string(activation == Activation::kSilu ? "silu" : "gelu_tanh") + "_t" +
           std::to_string(num_tokens) + "_i" + std::to_string(width) +
           (place.gap > 0 ? "_strided" : "") +
           (target == GluTarget::kGate ? "_into_gate"
            : target == GluTarget::kUp ? "_into_up"
                                       : "") +
           (magnitude > 3.0F ? "_huge" : "");
  }
};

void run_glu(const GluShape& s, CaseDevice& device) {
  CaseRng rng(static_cast<std::uint64_t>(s.num_tokens * 71 + s.width));
  const Shape shape{s.num_tokens, s.width};
  const std::vector<float> gate = rng.normals(shape.num_elements(), s.magnitude);
  const std::vector<float> up = rng.normals(shape.num_elements());
  CaseTolerance tolerance{.absolute = 1e-37, .relative = 1.3e-6};
  for (std::size_t i = 0; i < gate.size(); ++i) {
    tolerance.element.push_back(1e-7 * std::fabs(static_cast<double>(gate[i]) * up[i]));
  }
  Glu args;
  args.gate = device.floats(shape, gate, s.place);
  args.up = device.floats(shape, up, s.place);
  args.y = s.target == GluTarget::kGate ? args.gate
           : s.target == GluTarget::kUp ? args.up
                                        : device.blank(DType::kF32, shape, s.place);
  args.activation = s.activation;
  device.run(device.ops().glu, args);
  device.result("y", args.y, std::move(tolerance));
}

void worked_glu(Activation activation, const std::vector<float>& expected, CaseDevice& device) {
  const Glu args{device.floats({1, 2}, std::vector<float>{1, -2}),
                 device.floats({1, 2}, std::vector<float>{2, 3}), device.blank(DType::kF32, {1, 2}),
                 activation};
  device.run(device.ops().glu, args);
  device.result("y", args.y, {.absolute = 3e-6}, expected);
}

}  // namespace

void add_glu_cases(std::vector<OpCase>* cases) {
  cases->push_back({"glu", "worked_silu", [](CaseDevice& device) {
                      worked_glu(Activation::kSilu, {1.462117F, -0.715218F}, device);
                    }});
  cases->push_back({"glu", "worked_gelu_tanh", [](CaseDevice& device) {
                      worked_glu(Activation::kGeluTanh, {1.682384F, -0.136207F}, device);
                    }});
  std::vector<GluShape> shapes;
  for (const Activation a : {Activation::kSilu, Activation::kGeluTanh}) {
    for (const std::int64_t width : {1, 2, 3, 7, 8, 9, 15, 17, 31, 33, 127, 1536}) {
      shapes.push_back({a, 1, width, {}, GluTarget::kOwn, 3.0F});
      shapes.push_back({a, 4, width, {5, 3}, GluTarget::kGate, 3.0F});
    }
    shapes.push_back({a, 0, 64, {}, GluTarget::kOwn, 3.0F});
    shapes.push_back({a, 3, 65, {}, GluTarget::kUp, 3.0F});
    shapes.push_back({a, 130, 1536, {}, GluTarget::kGate, 3.0F});
    shapes.push_back({a, 9, 512, {}, GluTarget::kOwn, 100.0F});
    shapes.push_back({a, 9, 512, {}, GluTarget::kOwn, 1e5F});
  }
  for (GluShape& s : shapes) {
    std::string name = s.name() + (s.magnitude > 1e3F ? "_1e5" : "");
    cases->push_back({"glu", std::move(name), [s](CaseDevice& device) { run_glu(s, device); }});
  }
}

}  // namespace plumb
