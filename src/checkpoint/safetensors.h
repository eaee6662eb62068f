// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "checkpoint/tensor_record.h"

namespace plumb {

/// What the header of one safetensors file says.
struct SafetensorsHeader {
  std::vector<TensorRecord> tensors;            ///< in the order of their bytes
  std::map<std::string, std::string> metadata;  ///< the "__metadata__" member
};

/// Parses the header of a safetensors file and proves that its tensors fill the rest of the file
/// exactly, without hole or overlap.
///
/// Errors    kInvalidArgument: byte offset, what was expected there and what was found; also for a
///           header above 100,000,000 bytes or with more than four million JSON tokens.
/// Ownership nothing refers to `file` afterwards.
/// Cost      O(n log n) in the header; memory is bounded by those limits.
/// Source    the safetensors format; repeated names and blanks before '{' are rejected.
Result<SafetensorsHeader> parse_safetensors(std::span<const std::byte> file);

/// A safetensors checkpoint, mapped: one file, or the shards that an index names.
/// Thread: any after open.
class SafetensorsFiles {
 public:
  static Result<SafetensorsFiles> open_file(const std::string& path);
  /// Opens "model.safetensors.index.json" and the files beside it that its weight_map names.
  /// Errors kNotFound, kInvalidArgument: a mapped tensor that its file does not hold, a tensor in
  /// two files, a file name with a folder in it.
  static Result<SafetensorsFiles> open_index(const std::string& path);

  /// In file order, shard after shard in order of their names.
  std::span<const TensorRecord> tensors() const { return tensors_; }

  const TensorRecord* find(std::string_view name) const {
    return find_by_name(tensors_, order_, name);
  }

  std::span<const std::byte> bytes(const TensorRecord& record) const;
  void release_pages(const TensorRecord& record) const;

  /// Of the first file.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  const std::vector<MappedFile>& files() const { return files_; }

 private:
  Status add_file(const std::string& path);
  Status index_names();

  std::vector<MappedFile> files_;
  std::vector<TensorRecord> tensors_;
  std::vector<std::uint32_t> order_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace plumb
