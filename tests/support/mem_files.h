// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/file_store.h"

namespace plumb {

/// Files in memory that a test can read, damage, fill up and write-protect.
class MemFiles final : public FileStore {
 public:
  using Content = std::shared_ptr<std::string>;  // a removed file lives on while it is open

  Status make_folder(const std::string&) override { return {}; }

  Result<std::vector<FolderEntry>> list(const std::string& folder,
                                        std::int64_t max_files) override {
    std::vector<FolderEntry> entries;
    for (const auto& [path, content] : files) {
      if (path.starts_with(folder + "/")) {
        entries.push_back({path.substr(folder.size() + 1), content->size()});
      }
    }
    if (std::ssize(entries) > max_files) {
      return Status{Code::kResourceExhausted, "too many files"};
    }
    return entries;
  }

  Result<std::unique_ptr<RandomFile>> open(const std::string& path) override {
    const auto found = files.find(path);
    if (found == files.end() || fail_opens) {
      return Status{Code::kNotFound, path + ": cannot open"};
    }
    return std::unique_ptr<RandomFile>(std::make_unique<File>(*this, found->second));
  }

  Result<std::unique_ptr<RandomFile>> create(const std::string& path) override {
    if (read_only || files.contains(path)) {
      return Status{Code::kInvalidArgument, path + ": cannot create"};
    }
    const Content content = std::make_shared<std::string>();
    files[path] = content;
    return std::unique_ptr<RandomFile>(std::make_unique<File>(*this, content));
  }

  Status remove(const std::string& path) override {
    if (read_only) {
      return {Code::kInvalidArgument, path + ": cannot remove"};
    }
    return files.erase(path) == 1 ? Status() : Status{Code::kNotFound, path + ": no such file"};
  }

  Result<std::unique_ptr<FolderLock>> lock(const std::string& folder) override {
    if (read_only) {
      return Status{Code::kInvalidArgument, folder + "/lock: cannot open"};
    }
    if (!locked.insert(folder).second) {
      return Status{Code::kUnavailable, folder + ": another process uses this folder"};
    }
    return std::unique_ptr<FolderLock>(std::make_unique<Lock>(*this, folder));
  }

  std::int64_t num_bytes() const {
    std::int64_t sum = 0;
    for (const auto& [path, content] : files) {
      sum += std::ssize(*content);
    }
    return sum;
  }

  std::map<std::string, Content> files;
  std::set<std::string> locked;
  std::int64_t space_left = std::int64_t{1} << 40;  ///< bytes that may still be written
  std::function<void()> on_write;                   ///< called before each write
  bool read_only = false;
  bool fail_opens = false;
  bool fail_reads = false;

 private:
  class File final : public RandomFile {
   public:
    File(MemFiles& owner, Content content) : owner_(owner), content_(std::move(content)) {}

    Result<std::uint64_t> size() const override { return content_->size(); }

    Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
      if (owner_.fail_reads) {
        return {Code::kInvalidArgument, "cannot read: input/output error"};
      }
      if (offset > content_->size() || out.size() > content_->size() - offset) {
        return {Code::kDataLoss, "the file ends"};
      }
      std::memcpy(out.data(), content_->data() + offset, out.size());
      return {};
    }

    // Writes as much as there is space for.
    Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
      if (owner_.on_write) {
        owner_.on_write();
      }
      const auto count = std::min(static_cast<std::int64_t>(bytes.size()), owner_.space_left);
      owner_.space_left -= count;
      const std::uint64_t end = offset + static_cast<std::uint64_t>(count);
      content_->resize(std::max<std::size_t>(content_->size(), end));
      std::memcpy(content_->data() + offset, bytes.data(), static_cast<std::size_t>(count));
      return count == std::ssize(bytes)
                 ? Status()
                 : Status{Code::kResourceExhausted, "cannot write: no space left on device"};
    }

    Status truncate(std::uint64_t num_bytes) override {
      content_->resize(num_bytes);
      return {};
    }

   private:
    MemFiles& owner_;
    Content content_;
  };

  class Lock final : public FolderLock {
   public:
    Lock(MemFiles& owner, std::string folder) : owner_(owner), folder_(std::move(folder)) {}

    ~Lock() override { owner_.locked.erase(folder_); }

    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    MemFiles& owner_;
    std::string folder_;
  };
};

}  // namespace plumb
