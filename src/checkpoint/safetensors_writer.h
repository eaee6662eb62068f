// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/output_file.h"
#include "tensor/dtype.h"

namespace plumb {

struct SafetensorsSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> dims;  ///< slowest first
};

/// The order in which the format stores tensors: element size descending, then name.
std::vector<SafetensorsSpec> safetensors_order(std::vector<SafetensorsSpec> specs);

/// Writes one safetensors file: the header at once, then the data of the tensors in the order of
/// the specs, in pieces of any size. The file appears only with finish().
class SafetensorsWriter {
 public:
  /// Errors kInvalidArgument: a spec that the format cannot hold; as OutputFile::create.
  static Result<SafetensorsWriter> create(const std::string& path,
                                          const std::vector<SafetensorsSpec>& tensors,
                                          const std::map<std::string, std::string>& metadata = {});

  Status append(std::span<const std::byte> bytes) { return file_.append(bytes); }

  /// Requires exactly the bytes of the specs have been appended.
  Status finish();

 private:
  explicit SafetensorsWriter(OutputFile file) : file_(std::move(file)) {}

  OutputFile file_;
  std::uint64_t final_size_ = 0;
};

}  // namespace plumb
