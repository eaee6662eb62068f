// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/metadata.h"
#include "base/status.h"
#include "checkpoint/gguf.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/tensor_record.h"

namespace plumb {

/// A tensor of a checkpoint as it lies in its mapped file: packed bytes, no alignment promised.
/// Ownership the checkpoint must outlive it.
struct RawTensor {
  std::string_view name;
  DType dtype = DType::kF32;
  Shape shape;  ///< slowest first: a matrix is [out, in]
  std::span<const std::byte> bytes;
  std::uint64_t file_offset = 0;
};

/// A model's weights and descriptions, whatever the files are.
/// Thread: any after open.
class Checkpoint {
 public:
  enum class Kind : unsigned char { kGguf, kSafetensors };

  /// Opens a GGUF file (any part of a split one), a .safetensors file, an index
  /// (.safetensors.index.json) or a folder that holds config.json with model.safetensors or its
  /// index. A file's kind is decided by its first bytes, not by its name.
  ///
  /// Errors kNotFound: no such path, or a folder without weights; kInvalidArgument: malformed
  /// files, with path and byte offset.
  static Result<std::unique_ptr<Checkpoint>> open(const std::string& path);

  Kind kind() const {
    return std::holds_alternative<GgufFile>(files_) ? Kind::kGguf : Kind::kSafetensors;
  }

  /// The path given to open().
  const std::string& path() const { return path_; }

  /// The folder of the files, without a slash at its end.
  const std::string& folder() const { return folder_; }

  /// The typed header of a GGUF file; empty for safetensors.
  const Metadata& metadata() const;

  /// config.json beside safetensors; null if there is none, and for GGUF.
  const Json& config() const { return config_; }

  /// Another JSON file beside the weights, such as tokenizer_config.json. Errors kNotFound,
  /// kInvalidArgument, with the path.
  Result<Json> read_json(std::string_view file_name) const;

  std::span<const TensorRecord> tensors() const;
  /// nullptr if absent.
  const TensorRecord* find(std::string_view name) const;

  /// A tensor for loading. Errors kNotFound: no such tensor; kUnsupported: a type or rank that
  /// Plumb does not compute with.
  Result<RawTensor> tensor(std::string_view name) const;
  Result<RawTensor> tensor(const TensorRecord& record) const;

  /// Tells the kernel that the tensor's pages may leave memory, for instance after repacking.
  void release_pages(std::string_view name) const;

  /// Bytes of all tensors.
  std::uint64_t total_tensor_bytes() const;
  /// Bytes of all files that hold tensors.
  std::uint64_t total_file_bytes() const;
  std::int64_t num_files() const;

 private:
  explicit Checkpoint(std::variant<GgufFile, SafetensorsFiles> files) : files_(std::move(files)) {}

  const std::vector<MappedFile>& files() const;

  std::string path_;
  std::string folder_;
  std::variant<GgufFile, SafetensorsFiles> files_;
  Json config_;
  Metadata no_metadata_;  ///< what metadata() shows for safetensors
};

}  // namespace plumb
