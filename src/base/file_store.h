// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace plumb {

/// An open file that is read and written at given places.
/// Thread: one at a time.
class RandomFile {
 public:
  virtual ~RandomFile() = default;
  virtual Result<std::uint64_t> size() const = 0;
  /// Fills all of `out`. Errors  kDataLoss: the file ends before; else as the system says.
  virtual Status read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;
  /// After an error some of the bytes may have been written.
  /// Errors  kResourceExhausted: no space; kInvalidArgument: whatever else the system says.
  virtual Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual Status truncate(std::uint64_t num_bytes) = 0;
};

/// A folder that belongs to this process until the lock dies.
class FolderLock {
 public:
  virtual ~FolderLock() = default;
};

/// A regular file of a folder.
struct FolderEntry {
  std::string name;
  std::uint64_t num_bytes = 0;
};

/// The part of a file system that caches on disk need; injected, so that tests decide what fails.
/// Thread: any.
class FileStore {
 public:
  virtual ~FileStore() = default;
  /// Makes the folder (mode 0700) and those above it; one that exists is fine.
  virtual Status make_folder(const std::string& path) = 0;
  /// The regular files of a folder, by name. Errors kResourceExhausted: more than max_files.
  virtual Result<std::vector<FolderEntry>> list(const std::string& folder,
                                                std::int64_t max_files) = 0;
  /// Opens for reading; a link is not followed.
  virtual Result<std::unique_ptr<RandomFile>> open(const std::string& path) = 0;
  /// Makes a file (mode 0600) that did not exist, for reading and writing.
  virtual Result<std::unique_ptr<RandomFile>> create(const std::string& path) = 0;
  virtual Status remove(const std::string& path) = 0;
  /// Takes the folder's lock file. Errors kUnavailable: another process holds it.
  virtual Result<std::unique_ptr<FolderLock>> lock(const std::string& folder) = 0;
};

/// The machine's files; one instance, without state.
FileStore& system_files();

}  // namespace plumb
