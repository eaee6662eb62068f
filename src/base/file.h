// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace plumb {

/// A whole file mapped read-only; unmapped by the destructor.
/// Thread: any.
class MappedFile {
 public:
  /// Errors kNotFound, kInvalidArgument (a folder, unreadable), with the path in the message.
  static Result<MappedFile> open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(address_), size_};
  }

  const std::string& path() const { return path_; }

  /// Tells the kernel that the pages of that range are no longer needed (they stay readable from
  /// the file).
  void release_pages(std::uint64_t offset, std::uint64_t num_bytes) const;

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
  std::string path_;
};

/// Reads a whole file. Errors kNotFound, kInvalidArgument; kResourceExhausted above max_bytes.
Result<std::string> read_file(const std::string& path,
                              std::uint64_t max_bytes = std::uint64_t{1} << 30);
/// Reads a file, a pipe or a device of lines to its end, waiting for a writer where there is none
/// yet. Errors kNotFound, kInvalidArgument (a line above max_line_bytes, by its number);
/// kResourceExhausted above max_bytes.
Result<std::string> read_lines_file(const std::string& path, std::uint64_t max_line_bytes,
                                    std::uint64_t max_bytes);
/// Writes beside the target, fsyncs, renames, fsyncs the folder: the file is old or new, never
/// half.
Status write_file_atomic(const std::string& path, std::string_view content);
bool file_exists(const std::string& path);
/// Ok if nothing is at that path or a regular file is: what may be replaced by a rename.
Status check_replaceable(const std::string& path);
/// Ok if the path, or what it is a symbolic link to, is a regular file of this user that nobody
/// else may read or write (mode & 077 == 0); a link to a link is not followed. Errors kNotFound,
/// kInvalidArgument: says what is wrong and how to set it right.
Status check_private_file(const std::string& path);

/// A file that is appended to line by line; what sync() returned ok for survives a power cut. No
/// two of them write the same file at a time, in any process.
class AppendFile {
 public:
  /// Errors kInvalidArgument: not a regular file, or open for appending already.
  static Result<AppendFile> open(const std::string& path);
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  ~AppendFile();
  Status append(std::string_view bytes);
  Status sync();
  Status truncate(std::uint64_t size);

  std::uint64_t size() const { return size_; }

 private:
  AppendFile() = default;
  int fd_ = -1;
  std::uint64_t size_ = 0;
  std::string path_;
};

}  // namespace plumb
