// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ops/cases.h"

namespace plumb {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

void run_gather(std::int64_t rows, std::int64_t hidden, std::int64_t wanted, CasePlacement place,
                CaseDevice& device) {
  CaseRng rng(static_cast<std::uint64_t>(rows * 7 + hidden));
  std::vector<std::int32_t> ids;
  for (std::int64_t r = 0; r < wanted; ++r) {
    ids.push_back(static_cast<std::int32_t>(r == 0 ? rows - 1 : rng.below(rows)));
  }
  const GatherRows args{device.floats({rows, hidden}, rng.normals(rows * hidden), place),
                        device.ints({wanted}, ids),
                        device.blank(DType::kF32, {wanted, hidden}, place)};
  device.run(device.ops().gather_rows, args);
  device.result("y", args.y);
}

void worked_gather(CaseDevice& device) {
  const GatherRows args{device.floats({2, 2}, std::vector<float>{1, 2, 3, 4}),
                        device.ints({3}, std::vector<std::int32_t>{1, 1, 0}),
                        device.blank(DType::kF32, {3, 2})};
  device.run(device.ops().gather_rows, args);
  device.result("y", args.y, {}, std::vector<float>{3, 4, 3, 4, 1, 2});
}

/// Logits whose values repeat, so that the largest often occurs twice.
std::vector<float> coarse_logits(std::int64_t rows, std::int64_t vocab) {
  CaseRng rng(static_cast<std::uint64_t>(rows * 13 + vocab));
  std::vector<float> x = rng.normals(rows * vocab, 4.0F);
  for (float& value : x) {
    value = std::round(value);
  }
  return x;
}

void run_argmax(std::int64_t rows, std::int64_t vocab, CasePlacement place, CaseDevice& device) {
  std::vector<float> x = coarse_logits(rows, vocab);
  for (std::int64_t r = 1; r < rows; r += 3) {  // the largest at each end, and a NaN somewhere
    x[static_cast<std::size_t>(r * vocab + (r % 2 == 0 ? 0 : vocab - 1))] = 99.0F;
    x[static_cast<std::size_t>((r - 1) * vocab + (r * 5) % vocab)] = r % 2 == 0 ? kNaN : -kInfinity;
  }
  const Argmax args{device.floats({rows, vocab}, x, place), device.blank(DType::kI32, {rows}),
                    device.blank(DType::kF32, {rows})};
  device.run(device.ops().argmax, args);
  device.result("y", args.y);
  device.result("best", args.best);
}

void worked_argmax(CaseDevice& device) {
  const std::vector<float> x{1, 5, 5, -kInfinity, -kInfinity, -kInfinity, 1, kNaN, 9};
  const Argmax args{device.floats({3, 3}, x), device.blank(DType::kI32, {3}),
                    device.blank(DType::kF32, {3})};
  device.run(device.ops().argmax, args);
  device.result("y", args.y, {}, std::vector<float>{1, 0, -1});
  device.result("best", args.best, {}, std::vector<float>{5, -kInfinity, kNaN});
}

constexpr CaseTolerance kLogSumTolerance{.absolute = 1e-5, .relative = 2e-7};

void run_log_sum_exp(std::int64_t rows, std::int64_t vocab, float magnitude, CasePlacement place,
                     CaseDevice& device) {
  CaseRng rng(static_cast<std::uint64_t>(rows * 17 + vocab));
  std::vector<float> x = rng.normals(rows * vocab, magnitude);
  for (std::int64_t r = 1; r < rows; r += 2) {  // a grammar leaves one token
    for (std::int64_t v = 0; v < vocab; ++v) {
      x[static_cast<std::size_t>(r * vocab + v)] =
          v == r % vocab ? x[static_cast<std::size_t>(r * vocab + v)] : -kInfinity;
    }
  }
  const LogSumExp args{device.floats({rows, vocab}, x, place), device.blank(DType::kF32, {rows})};
  device.run(device.ops().log_sum_exp, args);
  device.result("y", args.y, kLogSumTolerance);
}

void worked_log_sum_exp(CaseDevice& device) {
  const std::vector<float> x{0.0F, 1.0986123F, 1000.0F, 1000.0F, -kInfinity, -kInfinity};
  const LogSumExp args{device.floats({3, 2}, x), device.blank(DType::kF32, {3})};
  device.run(device.ops().log_sum_exp, args);
  device.result("y", args.y, kLogSumTolerance,
                std::vector<float>{1.386294F, 1000.693147F, -kInfinity});
}

std::string rows_name(std::int64_t rows, std::int64_t cols, CasePlacement place) {
  return "r" + std::to_string(rows) + "_v" + std::to_string(cols) +
         (place.gap > 0 ? "_strided" : "");
}

void add_gather_cases(std::vector<OpCase>* cases) {
  struct Gather {
    std::int64_t rows;
    std::int64_t hidden;
    std::int64_t wanted;
    CasePlacement place;
  };

  cases->push_back({"gather_rows", "worked", worked_gather});
  for (const Gather g : {Gather{3, 8, 0, {}}, Gather{1, 1, 1, {}}, Gather{9, 33, 5, {}},
                         Gather{7, 65, 11, {3, 1}}, Gather{130, 2048, 64, {}}}) {
    cases->push_back(
        {"gather_rows", rows_name(g.rows, g.hidden, g.place) + "_w" + std::to_string(g.wanted),
         [g](CaseDevice& device) { run_gather(g.rows, g.hidden, g.wanted, g.place, device); }});
  }
}

struct Logits {
  std::int64_t rows;
  std::int64_t vocab;
  CasePlacement place = {};
};

std::vector<Logits> logits_shapes() {
  std::vector<Logits> shapes{{0, 32, {}}, {5, 49152, {}}, {2, 262145, {}}};
  for (const std::int64_t vocab : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 65, 1000}) {
    shapes.push_back({1, vocab, {}});
    shapes.push_back({14, vocab, {3, 1}});
  }
  return shapes;
}

}  // namespace

void add_rows_cases(std::vector<OpCase>* cases) {
  add_gather_cases(cases);
  cases->push_back({"argmax", "worked", worked_argmax});
  for (const Logits& s : logits_shapes()) {
    cases->push_back({"argmax", rows_name(s.rows, s.vocab, s.place),
                      [s](CaseDevice& device) { run_argmax(s.rows, s.vocab, s.place, device); }});
  }
  cases->push_back({"log_sum_exp", "worked", worked_log_sum_exp});
  for (const Logits& s : logits_shapes()) {
    for (const float magnitude : {3.0F, 200.0F}) {
      cases->push_back({"log_sum_exp",
                        rows_name(s.rows, s.vocab, s.place) + (magnitude > 3.0F ? "_wide" : ""),
                        [s, magnitude](CaseDevice& device) {
                          run_log_sum_exp(s.rows, s.vocab, magnitude, s.place, device);
                        }});
    }
  }
}

}  // namespace plumb
