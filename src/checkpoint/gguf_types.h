// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/dtype.h"

namespace plumb {

/// Types of metadata values, with the numbers that the file holds.
enum class GgufValueType : std::int32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

/// A tensor type of the file format; `dtype` is absent for types that Plumb lists but cannot load.
struct GgufTensorType {
  std::int32_t id;
  std::string_view name;
  std::int64_t block_elems;
  std::int64_t block_bytes;
  std::optional<DType> dtype;
};

/// nullptr if the number is retired or unknown.
const GgufTensorType* gguf_tensor_type(std::int32_t id);
/// The number under which a DType is written; every DType but kU8 has one.
std::optional<std::int32_t> gguf_type_id(DType dtype);

inline constexpr std::uint32_t kGgufMagic = 0x46554747U;  ///< "GGUF", little-endian
inline constexpr std::uint32_t kGgufVersion = 3;
inline constexpr std::uint64_t kGgufDefaultAlignment = 32;

}  // namespace plumb
