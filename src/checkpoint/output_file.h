// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace plumb {

/// A file that is written front to back and appears under its name only when it is complete.
///
/// Bytes go to "path.tmp.PID"; commit() syncs and renames it, the destructor removes what was not
/// committed. Memory is one buffer of 1 MiB. Thread: one at a time.
class OutputFile {
 public:
  /// Errors kInvalidArgument, kNotFound, kResourceExhausted, with the path.
  static Result<OutputFile> create(const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  Status append(std::string_view bytes);

  Status append(std::span<const std::byte> bytes) {
    return append(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

  Status append_zeros(std::uint64_t count);
  Status commit();

  /// Bytes appended so far.
  std::uint64_t size() const { return size_; }

 private:
  OutputFile() = default;
  Status flush();

  int fd_ = -1;
  std::uint64_t size_ = 0;
  std::string path_;
  std::string temporary_;
  std::string buffer_;
};

}  // namespace plumb
