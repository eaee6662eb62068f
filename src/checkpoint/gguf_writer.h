// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "checkpoint/output_file.h"
#include "tensor/dtype.h"

namespace plumb {

/// A metadata value with the exact width that goes into the file.
using GgufValue =
    std::variant<bool, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, std::int8_t,
                 std::int16_t, std::int32_t, std::int64_t, float, double, std::string,
                 std::vector<bool>, std::vector<std::uint8_t>, std::vector<std::int32_t>,
                 std::vector<std::uint32_t>, std::vector<std::int64_t>, std::vector<float>,
                 std::vector<std::string>>;

using GgufPairs = std::vector<std::pair<std::string, GgufValue>>;

struct GgufTensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> dims;  ///< slowest first
};

/// Writes a GGUF version 3 file: the header at once, then the data of the tensors in the order of
/// their specs, in pieces of any size. The file appears only with finish().
class GgufWriter {
 public:
  /// Errors kInvalidArgument: a spec that the format cannot hold; as OutputFile::create.
  static Result<GgufWriter> create(const std::string& path, const GgufPairs& metadata,
                                   std::vector<GgufTensorSpec> tensors);

  /// The next bytes of the tensor data; padding between tensors is added here.
  /// Requires no more bytes than the specs say.
  Status append(std::span<const std::byte> bytes);
  /// Requires all bytes have been appended.
  Status finish();

 private:
  explicit GgufWriter(OutputFile file) : file_(std::move(file)) {}

  Status pad_if_complete();

  OutputFile file_;
  std::vector<std::uint64_t> sizes_;  ///< bytes of each tensor
  std::size_t current_ = 0;
  std::uint64_t written_ = 0;  ///< bytes of the current tensor
};

}  // namespace plumb
