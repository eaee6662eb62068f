// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_store.h"

namespace plumb {

/// What a file system does wrong.
enum class FileFault : unsigned char {
  kNoSpace,   ///< ENOSPC: nothing is made, half of a write is done
  kReadOnly,  ///< EROFS: nothing is made, written, cut or removed
  kIo,        ///< EIO: every operation fails, half of a write is done
  kDamage,    ///< a read gives another byte
};

/// Files of another store that fail: the operation of a number, or all from it on.
class FaultyFiles final : public FileStore {
 public:
  explicit FaultyFiles(FileStore& files) : files_(files) {}

  Status make_folder(const std::string& path) override {
    return fails(cannot_make()) ? error() : files_.make_folder(path);
  }

  Result<std::vector<FolderEntry>> list(const std::string& folder,
                                        std::int64_t max_files) override {
    if (fails(fault == FileFault::kIo)) {
      return error();
    }
    return files_.list(folder, max_files);
  }

  Result<std::unique_ptr<RandomFile>> open(const std::string& path) override {
    if (fails(fault == FileFault::kIo)) {
      return error();
    }
    return wrapped(files_.open(path));
  }

  Result<std::unique_ptr<RandomFile>> create(const std::string& path) override {
    if (fails(cannot_make())) {
      return error();
    }
    return wrapped(files_.create(path));
  }

  Status remove(const std::string& path) override {
    return fails(cannot_change()) ? error() : files_.remove(path);
  }

  Result<std::unique_ptr<FolderLock>> lock(const std::string& folder) override {
    if (fails(cannot_make())) {
      return error();
    }
    return files_.lock(folder);
  }

  FileFault fault = FileFault::kIo;
  std::int64_t fail_at = -1;  ///< number of the first operation that fails; -1: none
  bool is_lasting = false;    ///< those after it too
  std::int64_t num_operations = 0;
  std::int64_t num_faults = 0;
  std::size_t damaged_byte = 0;  ///< of a read, counted from its end round and round

 private:
  class File final : public RandomFile {
   public:
    File(FaultyFiles& owner, std::unique_ptr<RandomFile> file)
        : owner_(owner), file_(std::move(file)) {}

    Result<std::uint64_t> size() const override {
      if (owner_.fails(owner_.fault == FileFault::kIo)) {
        return owner_.error();
      }
      return file_->size();
    }

    Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
      const bool is_damage = owner_.fault == FileFault::kDamage;
      const bool fails = owner_.fails(is_damage || owner_.fault == FileFault::kIo);
      if (fails && !is_damage) {
        return owner_.error();
      }
      PLUMB_RETURN_IF_ERROR(file_->read_at(offset, out));
      if (fails && !out.empty()) {
        out[out.size() - 1 - owner_.damaged_byte % out.size()] ^= std::byte{0x20};
      }
      return {};
    }

    Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
      if (!owner_.fails(owner_.cannot_make())) {
        return file_->write_at(offset, bytes);
      }
      if (owner_.fault != FileFault::kReadOnly) {
        PLUMB_RETURN_IF_ERROR(file_->write_at(offset, bytes.first(bytes.size() / 2)));
      }
      return owner_.error();
    }

    Status truncate(std::uint64_t num_bytes) override {
      return owner_.fails(owner_.cannot_change()) ? owner_.error() : file_->truncate(num_bytes);
    }

   private:
    FaultyFiles& owner_;
    std::unique_ptr<RandomFile> file_;
  };

  bool cannot_make() const { return fault != FileFault::kDamage; }

  bool cannot_change() const { return fault == FileFault::kReadOnly || fault == FileFault::kIo; }

  // Counts an operation; whether it is to fail. Where the fault spares it the turn is lost.
  bool fails(bool is_of_kind) {
    const std::int64_t number = num_operations++;
    const bool is_its_turn = fail_at >= 0 && (is_lasting ? number >= fail_at : number == fail_at);
    const bool does_fail = is_its_turn && is_of_kind;
    num_faults += does_fail ? 1 : 0;
    return does_fail;
  }

  Status error() const {
    return fault == FileFault::kNoSpace
               ? Status{Code::kResourceExhausted, "no space left on device"}
           : fault == FileFault::kReadOnly ? Status{Code::kInvalidArgument, "read-only file system"}
                                           : Status{Code::kInvalidArgument, "input/output error"};
  }

  Result<std::unique_ptr<RandomFile>> wrapped(Result<std::unique_ptr<RandomFile>> file) {
    if (!file.ok()) {
      return file.status();
    }
    return std::unique_ptr<RandomFile>(std::make_unique<File>(*this, std::move(file).value()));
  }

  FileStore& files_;
};

}  // namespace plumb
