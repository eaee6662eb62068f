// SPDX-License-Identifier: Apache-2.0
#include "tensor/dtype.h"

#include <array>
#include <string>

#include "base/check.h"

namespace plumb {
namespace {

constexpr std::array<DTypeTraits, kNumDTypes> kTraits{{
    {"F32", 1, 4, true},      {"F16", 1, 2, true},      {"BF16", 1, 2, true},
    {"F64", 1, 8, false},     {"I8", 1, 1, false},      {"U8", 1, 1, false},
    {"I16", 1, 2, false},     {"I32", 1, 4, false},     {"I64", 1, 8, false},
    {"Q4_0", 32, 18, true},   {"Q4_1", 32, 20, true},   {"Q5_0", 32, 22, true},
    {"Q5_1", 32, 24, true},   {"Q8_0", 32, 34, true},   {"Q2_K", 256, 84, true},
    {"Q3_K", 256, 110, true}, {"Q4_K", 256, 144, true}, {"Q5_K", 256, 176, true},
    {"Q6_K", 256, 210, true}, {"IQ4_NL", 32, 18, true}, {"IQ4_XS", 256, 136, true},
    {"MXFP4", 32, 17, true},  {"Q13", 128, 260, true},
}};

}  // namespace

const DTypeTraits& traits(DType dtype) {
  return kTraits[static_cast<std::size_t>(dtype)];
}

std::string_view to_text(DType dtype) {
  return traits(dtype).name;
}

std::optional<DType> dtype_from_text(std::string_view name) {
  for (std::size_t i = 0; i < kTraits.size(); ++i) {
    if (kTraits[i].name == name) {
      return static_cast<DType>(i);
    }
  }
  return std::nullopt;
}

std::int64_t row_bytes(DType dtype, std::int64_t cols) {
  const DTypeTraits& t = traits(dtype);
  PLUMB_CHECK(cols % t.block_elems == 0,
              std::string(t.name) + " row of " + std::to_string(cols) + " elements");
  return cols / t.block_elems * t.block_bytes;
}

}  // namespace plumb
