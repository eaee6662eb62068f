// SPDX-License-Identifier: Apache-2.0
#include "base/file_store.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace plumb {
namespace {

Status failure(const std::string& path, const char* what, int error) {
  const Code code = error == ENOENT ? Code::kNotFound
                    : error == ENOSPC || error == EDQUOT || error == EFBIG || error == ENOMEM
                        ? Code::kResourceExhausted
                        : Code::kInvalidArgument;
  return {code, path + ": cannot " + what + ": " + std::generic_category().message(error)};
}

class SystemFile final : public RandomFile {
 public:
  SystemFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  ~SystemFile() override { ::close(fd_); }

  SystemFile(const SystemFile&) = delete;
  SystemFile& operator=(const SystemFile&) = delete;

  Result<std::uint64_t> size() const override {
    struct stat st {};

    if (::fstat(fd_, &st) != 0) {
      return failure(path_, "stat", errno);
    }
    return static_cast<std::uint64_t>(st.st_size);
  }

  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const ssize_t n = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) {
        continue;
      }
      if (n < 0) {
        return failure(path_, "read", errno);
      }
      if (n == 0) {
        return {Code::kDataLoss, path_ + ": ends at byte " + std::to_string(offset)};
      }
      out = out.subspan(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
    return {};
  }

  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) {
        continue;
      }
      if (n < 0) {
        return failure(path_, "write", errno);
      }
      bytes = bytes.subspan(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
    return {};
  }

  Status truncate(std::uint64_t num_bytes) override {
    return ::ftruncate(fd_, static_cast<off_t>(num_bytes)) == 0 ? Status()
                                                                : failure(path_, "truncate", errno);
  }

 private:
  int fd_;
  std::string path_;
};

// Closing the descriptor lets the lock go, also when the process is killed.
class SystemLock final : public FolderLock {
 public:
  explicit SystemLock(int fd) : fd_(fd) {}

  ~SystemLock() override { ::close(fd_); }

  SystemLock(const SystemLock&) = delete;
  SystemLock& operator=(const SystemLock&) = delete;

 private:
  int fd_;
};

class SystemFiles final : public FileStore {
 public:
  Status make_folder(const std::string& path) override {
    if (path.empty()) {
      return {Code::kInvalidArgument, "a folder without a name"};
    }
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
      const std::string part = path.substr(0, end);
      if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && errno != EROFS &&
          errno != EACCES) {
        return failure(part, "make the folder", errno);
      }
      if (end == std::string::npos) {
        break;
      }
    }

    struct stat st {};

    if (::stat(path.c_str(), &st) != 0) {
      return failure(path, "make the folder", errno);
    }
    return S_ISDIR(st.st_mode) ? Status()
                               : Status{Code::kInvalidArgument, path + ": is not a folder"};
  }

  Result<std::vector<FolderEntry>> list(const std::string& folder,
                                        std::int64_t max_files) override {
    std::vector<FolderEntry> entries;
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error)) {
      std::error_code of_entry;
      if (!at->is_regular_file(of_entry) || at->is_symlink(of_entry)) {
        continue;
      }
      if (std::ssize(entries) == max_files) {
        return Status{Code::kResourceExhausted,
                      folder + ": holds more than " + std::to_string(max_files) + " files"};
      }
      const std::uintmax_t num_bytes = at->file_size(of_entry);
      entries.push_back({at->path().filename().string(), of_entry ? 0 : num_bytes});
    }
    if (error) {
      return failure(folder, "list", error.value());
    }
    std::sort(entries.begin(), entries.end(),
              [](const FolderEntry& a, const FolderEntry& b) { return a.name < b.name; });
    return entries;
  }

  Result<std::unique_ptr<RandomFile>> open(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
      return failure(path, "open", errno);
    }
    return std::unique_ptr<RandomFile>(std::make_unique<SystemFile>(fd, path));
  }

  Result<std::unique_ptr<RandomFile>> create(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
      return failure(path, "create", errno);
    }
    return std::unique_ptr<RandomFile>(std::make_unique<SystemFile>(fd, path));
  }

  Status remove(const std::string& path) override {
    return ::unlink(path.c_str()) == 0 ? Status() : failure(path, "remove", errno);
  }

  Result<std::unique_ptr<FolderLock>> lock(const std::string& folder) override {
    const std::string path = folder + "/lock";
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
      return failure(path, "open", errno);
    }
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      ::close(fd);
      return error == EWOULDBLOCK
                 ? Status{Code::kUnavailable, folder + ": another process uses this folder"}
                 : failure(path, "lock", error);
    }
    return std::unique_ptr<FolderLock>(std::make_unique<SystemLock>(fd));
  }
};

}  // namespace

FileStore& system_files() {
  static SystemFiles files;
  return files;
}

}  // namespace plumb
