// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/metadata.h"
#include "base/status.h"
#include "checkpoint/tensor_record.h"

namespace plumb {

/// What stands before the data of one GGUF file.
struct GgufHeader {
  std::uint32_t version = 0;
  std::uint64_t alignment = 32;
  std::uint64_t data_start = 0;  ///< end of the header if there are no tensors
  Metadata metadata;
  std::vector<TensorRecord> tensors;  ///< in file order
};

/// Parses the header of a GGUF file (version 2 or 3) and proves that every tensor lies inside it.
///
/// Errors    kInvalidArgument: byte offset, what was expected there and what was found; also for
///           metadata that would take more than 512 MiB and for more than 2^20 tensors.
/// Ownership nothing refers to `file` afterwards.
/// Cost      linear in the header; memory is bounded by the file size and those limits.
/// Source    the GGUF format description; nested arrays and repeated keys are rejected.
Result<GgufHeader> parse_gguf(std::span<const std::byte> file);

/// A GGUF model, mapped: one file, or all parts of a split one.
/// Thread: any after open.
class GgufFile {
 public:
  /// Opens a file, or, given any part "…-00001-of-0000N.gguf", all parts.
  /// Errors kNotFound, kInvalidArgument (as parse_gguf; parts that do not belong together).
  static Result<GgufFile> open(const std::string& path);

  /// Of the first part.
  const Metadata& metadata() const { return header_.metadata; }

  /// In file order, part after part.
  std::span<const TensorRecord> tensors() const { return header_.tensors; }

  const TensorRecord* find(std::string_view name) const {
    return find_by_name(header_.tensors, order_, name);
  }

  std::span<const std::byte> bytes(const TensorRecord& record) const;
  void release_pages(const TensorRecord& record) const;

  std::uint32_t version() const { return header_.version; }

  const std::vector<MappedFile>& files() const { return files_; }

 private:
  Status open_parts(const std::string& path, std::int64_t count);
  Status index_names();

  GgufHeader header_;
  std::vector<MappedFile> files_;
  std::vector<std::uint32_t> order_;
};

}  // namespace plumb
