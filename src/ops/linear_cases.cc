// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "ops/cases.h"
#include "tensor/format.h"

namespace plumb {
namespace {

enum class Inputs : unsigned char {
  kNormal,
  kZero,
  kConstant,
  kOutlier,  ///< one element of each block 300 times larger than the others
  kHuge,     ///< of about 1e4
  kTiny,     ///< of about 1e-10
};

struct LinearShape {
  DType format = DType::kF32;
  std::int64_t m = 1;
  std::int64_t k = 32;
  std::vector<std::int64_t> n{1};
  bool bias = false;
  CasePlacement place = {};
  Inputs inputs = Inputs::kNormal;
};

std::string_view to_text(Inputs inputs) {
  switch (inputs) {
    case Inputs::kZero:
      return "_zero";
    case Inputs::kConstant:
      return "_constant";
    case Inputs::kOutlier:
      return "_outlier";
    case Inputs::kHuge:
      return "_huge";
    case Inputs::kTiny:
      return "_tiny";
    case Inputs::kNormal:
      break;
  }
  return "";
}

std::string name_of(const LinearShape& s) {
  std::string name = to_lower_ascii(plumb::to_text(s.format)) + "_m" + std::to_string(s.m) + "_k" +
                     std::to_string(s.k) + "_n";
  for (std::size_t i = 0; i < s.n.size(); ++i) {
    name += (i > 0 ? "+" : "") + std::to_string(s.n[i]);
  }
  name += s.bias ? "_bias" : "";
  name += s.place.gap > 0 ? "_strided" : "";
  return name + std::string(to_text(s.inputs));
}

std::vector<float> make_inputs(const LinearShape& s, CaseRng& rng) {
  std::vector<float> x = rng.normals(s.m * s.k);
  for (std::size_t i = 0; i < x.size(); ++i) {
    switch (s.inputs) {
      case Inputs::kZero:
        x[i] = 0.0F;
        break;
      case Inputs::kConstant:
        x[i] = -1.5F;
        break;
      case Inputs::kOutlier:
        x[i] *= i % 32 == 7 ? 300.0F : 1.0F;
        break;
      case Inputs::kHuge:
        x[i] *= 1e4F;
        break;
      case Inputs::kTiny:
        x[i] *= 1e-10F;
        break;
      case Inputs::kNormal:
        break;
    }
  }
  return x;
}

/// How activations may be rounded: elements that share a scale, and the largest integer.
struct Rounding {
  std::int64_t block = 32;
  double most = 127;
};

Rounding rounding_of(DType format) {
  return format == DType::kQ13 ? Rounding{128, 4095} : Rounding{};
}

/// For each row and block of elements: f(sum of squares, largest magnitude).
struct BlockNorms {
  std::int64_t num_blocks;
  std::vector<double> squares;  // [rows, num_blocks]
  std::vector<double> largest;  // [rows, num_blocks]
  std::vector<double> norm;     // [rows]
};

BlockNorms block_norms(const std::vector<float>& values, std::int64_t rows, std::int64_t cols,
                       std::int64_t block_elems) {
  const std::int64_t num_blocks = (cols + block_elems - 1) / block_elems;
  const auto count = static_cast<std::size_t>(rows * num_blocks);
  BlockNorms norms{num_blocks, std::vector<double>(count), std::vector<double>(count), {}};
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 0.0;
    for (std::int64_t c = 0; c < cols; ++c) {
      const double value = values[static_cast<std::size_t>(r * cols + c)];
      const auto block = static_cast<std::size_t>(r * num_blocks + c / block_elems);
      norms.squares[block] += value * value;
      norms.largest[block] = std::max(norms.largest[block], std::fabs(value));
      sum += value * value;
    }
    norms.norm.push_back(std::sqrt(sum));
  }
  return norms;
}

/// Float sums err by about 1e-6 |x| |w|. An activation quantised to 8 bits errs by a uniform amount
/// of up to half a step (largest / 127; with Q13 largest / 4095), so a dot product by the standard
/// deviation sqrt(sum of step^2 / 12 * w^2); six of them are allowed, and their mean magnitude
/// (0.8) where it can be told.
CaseTolerance linear_tolerance(const LinearShape& s, const std::vector<float>& x,
                               const std::vector<float>& w, std::int64_t n_rows) {
  const bool quantised = traits(s.format).block_elems > 1 && s.inputs != Inputs::kConstant;
  const Rounding rounding = rounding_of(s.format);
  const BlockNorms xs = block_norms(x, s.m, s.k, rounding.block);
  const BlockNorms ws = block_norms(w, n_rows, s.k, rounding.block);
  CaseTolerance tolerance{.absolute = 1e-30, .relative = 1e-6};
  double sum_of_bounds = 0.0;
  for (std::int64_t m = 0; m < s.m; ++m) {
    for (std::int64_t n = 0; n < n_rows; ++n) {
      double variance = 0.0;
      for (std::int64_t b = 0; quantised && b < xs.num_blocks; ++b) {
        const double step =
            xs.largest[static_cast<std::size_t>(m * xs.num_blocks + b)] / rounding.most;
        variance +=
            step * step / 12.0 * ws.squares[static_cast<std::size_t>(n * xs.num_blocks + b)];
      }
      const double summation =
          2e-6 * xs.norm[static_cast<std::size_t>(m)] * ws.norm[static_cast<std::size_t>(n)];
      tolerance.element.push_back(6.0 * std::sqrt(variance) + summation);
      sum_of_bounds += 1.25 * std::sqrt(variance) + summation;
    }
  }
  if (s.m >= 64 && n_rows >= 8 && s.inputs == Inputs::kNormal) {
    tolerance.mean = sum_of_bounds / static_cast<double>(s.m * n_rows);
  }
  return tolerance;
}

std::vector<float> unpacked(DType dtype, const std::vector<std::byte>& raw, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  dequantize(dtype, raw.data(), count, values.data());
  return values;
}

void run_linear(const LinearShape& s, CaseDevice& device) {
  CaseRng rng(static_cast<std::uint64_t>(s.m * 1000003 + s.k * 101 + s.n[0]));
  const std::vector<float> x = make_inputs(s, rng);
  std::vector<LinearOutput> outputs;
  std::vector<CaseTolerance> tolerances;
  for (const std::int64_t n : s.n) {
    std::vector<std::byte> raw = random_weight(s.format, n, s.k, rng);
    tolerances.push_back(linear_tolerance(s, x, unpacked(s.format, raw, n * s.k), n));
    LinearOutput output;
    output.weight = device.weight(s.format, n, s.k, std::move(raw));
    output.y = device.blank(DType::kF32, {s.m, n}, s.place);
    if (s.bias) {
      output.bias = device.floats({n}, rng.normals(n));
    }
    outputs.push_back(output);
  }
  const Linear args{device.floats({s.m, s.k}, x, s.place), outputs,
                    device.scratch(linear_scratch_bytes(s.m, s.k))};
  device.run(device.ops().linear, args);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    device.result("y" + std::to_string(i), outputs[i].y, std::move(tolerances[i]));
  }
}

void worked_linear(CaseDevice& device) {
  LinearOutput output;
  output.weight = device.weight(DType::kF32, 2, 3, float_bytes({1, 0, -1, 2, 2, 2}));
  output.y = device.blank(DType::kF32, {1, 2});
  output.bias = device.floats({2}, std::vector<float>{10, 20});
  const Linear args{device.floats({1, 3}, std::vector<float>{1, 2, 3}),
                    {&output, 1},
                    device.scratch(linear_scratch_bytes(1, 3))};
  device.run(device.ops().linear, args);
  device.result("y", output.y, {.absolute = 1e-5}, std::vector<float>{8, 32});
}

std::vector<LinearShape> shapes_of(DType f) {
  const std::int64_t block = traits(f).block_elems;
  std::vector<LinearShape> shapes{
      {.format = f, .m = 0, .k = block, .n = {5}},
      {.format = f, .m = 1, .k = block, .n = {1}},
      {.format = f, .m = 1, .k = block * 3, .n = {37}},
      {.format = f, .m = 1, .k = 2304, .n = {131}},
      {.format = f, .m = 1, .k = 8192, .n = {19}},
      {.format = f, .m = 3, .k = 8192, .n = {9}},
      {.format = f, .m = 64, .k = 768, .n = {66}},
      {.format = f, .m = 65, .k = 256, .n = {31, 8, 9}, .bias = true, .place = {5, 3}},
      {.format = f, .m = 130, .k = 512, .n = {67}},
      {.format = f, .m = 2, .k = 256, .n = {16, 3, 1, 40}, .bias = true, .place = {7, 1}},
      {.format = f, .m = 1, .k = 512, .n = {33, 64}, .bias = true},
      {.format = f, .m = 5, .k = 512, .n = {24}, .inputs = Inputs::kZero},
      {.format = f, .m = 1, .k = 512, .n = {24}, .inputs = Inputs::kZero},
      {.format = f, .m = 5, .k = 512, .n = {24}, .inputs = Inputs::kConstant},
      {.format = f, .m = 1, .k = 512, .n = {24}, .inputs = Inputs::kOutlier},
      {.format = f, .m = 9, .k = 512, .n = {24}, .inputs = Inputs::kOutlier},
      {.format = f, .m = 6, .k = 512, .n = {24}, .inputs = Inputs::kHuge},
      {.format = f, .m = 6, .k = 512, .n = {24}, .inputs = Inputs::kTiny},
  };
  for (const std::int64_t m : {2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33}) {
    shapes.push_back({.format = f, .m = m, .k = block > 32 ? 768 : 288, .n = {2 * m + 11}});
  }
  if (block == 32) {
    for (const std::int64_t k : {64, 96, 160, 416, 576}) {
      shapes.push_back({.format = f, .m = 1, .k = k, .n = {13}});
      shapes.push_back({.format = f, .m = 6, .k = k, .n = {13}});
    }
  }
  if (block == 1) {
    for (const std::int64_t k : {2, 3, 7, 8, 9, 15, 17, 31, 33, 63, 129, 577}) {
      shapes.push_back({.format = f, .m = 1, .k = k, .n = {13}});
      shapes.push_back({.format = f, .m = 7, .k = k, .n = {13}});
    }
  }
  return shapes;
}

}  // namespace

void add_linear_cases(std::vector<OpCase>* cases) {
  cases->push_back({"linear", "worked", worked_linear});
  std::vector<LinearShape> shapes;
  for (const DType format : weight_formats()) {
    const std::vector<LinearShape> some = shapes_of(format);
    shapes.insert(shapes.end(), some.begin(), some.end());
  }
  for (const DType format :
       {DType::kF32, DType::kBF16, DType::kQ4_1, DType::kQ8_0, DType::kQ4_K, DType::kQ13}) {
    shapes.push_back({.format = format, .m = 129, .k = 2048, .n = {257}});  // the largest
  }
  for (const LinearShape& shape : shapes) {
    cases->push_back(
        {"linear", name_of(shape), [shape](CaseDevice& device) { run_linear(shape, device); }});
  }
}

}  // namespace plumb
