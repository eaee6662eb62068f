// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace plumb {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}

  ~FileDescriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }

  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return fd_; }

  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Status system_error(const std::string& path, const char* what) {
  const int error = errno;
  const Code code = error == ENOENT ? Code::kNotFound
                    : error == ENOSPC || error == EFBIG || error == ENOMEM
                        ? Code::kResourceExhausted
                        : Code::kInvalidArgument;
  return {code, path + ": cannot " + what + ": " + std::generic_category().message(error)};
}

// After an error `bytes` is what was not written.
Status write_all(int fd, std::string_view* bytes, const std::string& path) {
  while (!bytes->empty()) {
    const ssize_t n = ::write(fd, bytes->data(), bytes->size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return system_error(path, "write");
    }
    bytes->remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

// Everything up to the end of the file; check(part) is asked after each part.
template <class Check>
Result<std::string> read_all(int fd, const std::string& path, std::uint64_t max_bytes,
                             const Check& check) {
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return system_error(path, "read");
    }
    if (n == 0) {
      return content;
    }
    const std::string_view part(buffer, static_cast<std::size_t>(n));
    PLUMB_RETURN_IF_ERROR(check(part));
    content.append(part);
    if (content.size() > max_bytes) {
      return Status{Code::kResourceExhausted,
                    path + ": is larger than the limit of " + std::to_string(max_bytes) + " bytes"};
    }
  }
}

// What a symbolic link names, seen from its folder; the path itself where it is no link.
std::string target_of(const std::string& path) {
  char buffer[4096];
  const ssize_t n = ::readlink(path.c_str(), buffer, sizeof buffer);
  if (n <= 0 || n == static_cast<ssize_t>(sizeof buffer)) {
    return path;
  }
  std::string target(buffer, static_cast<std::size_t>(n));
  const std::size_t slash = path.rfind('/');
  return target.front() == '/' || slash == std::string::npos ? target
                                                             : path.substr(0, slash + 1) + target;
}

Status open_regular(const std::string& path, FileDescriptor* fd, std::uint64_t* size) {
  struct stat st {};

  if (::fstat(fd->get(), &st) != 0) {
    return system_error(path, "stat");
  }
  if (!S_ISREG(st.st_mode)) {
    return {Code::kInvalidArgument, path + ": is not a regular file"};
  }
  *size = static_cast<std::uint64_t>(st.st_size);
  return {};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (fd.get() < 0) {
    return system_error(path, "open");
  }
  std::uint64_t size = 0;
  PLUMB_RETURN_IF_ERROR(open_regular(path, &fd, &size));
  MappedFile file;
  file.path_ = path;
  file.size_ = size;
  if (size > 0) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (address == MAP_FAILED) {
      file.size_ = 0;
      return system_error(path, "map");
    }
    file.address_ = address;
  }
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      path_(std::move(other.path_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}

MappedFile::~MappedFile() {
  if (address_ != nullptr) {
    ::munmap(address_, size_);
  }
}

void MappedFile::release_pages(std::uint64_t offset, std::uint64_t num_bytes) const {
  const std::uint64_t page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = (offset + page - 1) / page * page;
  const std::uint64_t end = std::min<std::uint64_t>(offset + num_bytes, size_) / page * page;
  if (address_ != nullptr && begin < end) {
    ::madvise(static_cast<char*>(address_) + begin, end - begin, MADV_DONTNEED);
  }
}

Result<std::string> read_file(const std::string& path, std::uint64_t max_bytes) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (fd.get() < 0) {
    return system_error(path, "open");
  }
  return read_all(fd.get(), path, max_bytes, [](std::string_view) { return Status(); });
}

Result<std::string> read_lines_file(const std::string& path, std::uint64_t max_line_bytes,
                                    std::uint64_t max_bytes) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) {
    return system_error(path, "open");
  }
  std::uint64_t line = 1;
  std::uint64_t line_bytes = 0;
  return read_all(fd.get(), path, max_bytes, [&](std::string_view bytes) {
    for (std::size_t end = bytes.find('\n'); end != std::string_view::npos;
         end = bytes.find('\n')) {
      if (line_bytes + end > max_line_bytes) {
        break;
      }
      bytes.remove_prefix(end + 1);
      line_bytes = 0;
      ++line;
    }
    line_bytes += bytes.size();
    return line_bytes <= max_line_bytes
               ? Status()
               : Status{Code::kInvalidArgument, path + ": line " + std::to_string(line) +
                                                    " is longer than the limit of " +
                                                    std::to_string(max_line_bytes) + " bytes"};
  });
}

Status check_replaceable(const std::string& path) {
  struct stat st {};

  if (::lstat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode)) {
    return {Code::kInvalidArgument, path + ": is not a regular file and will not be replaced"};
  }
  return {};
}

Status write_file_atomic(const std::string& path, std::string_view content) {
  PLUMB_RETURN_IF_ERROR(check_replaceable(path));
  const std::string temporary = path + ".tmp." + std::to_string(::getpid());
  {
    FileDescriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (fd.get() < 0) {
      return system_error(temporary, "create");
    }
    std::string_view left = content;
    Status status = write_all(fd.get(), &left, temporary);
    if (status.ok() && ::fsync(fd.get()) != 0) {
      status = system_error(temporary, "sync");
    }
    if (!status.ok()) {
      ::unlink(temporary.c_str());
      return status;
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    Status status = system_error(path, "replace");
    ::unlink(temporary.c_str());
    return status;
  }
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  FileDescriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || ::fsync(fd.get()) != 0) {
    return system_error(folder, "sync");
  }
  return {};
}

bool file_exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

Status check_private_file(const std::string& path) {
  FileDescriptor fd(
      ::open(target_of(path).c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() < 0 && errno == ELOOP) {
    return {Code::kInvalidArgument,
            path + ": is a link to a link; give the file itself or one link to it"};
  }
  if (fd.get() < 0) {
    return system_error(path, "open");
  }

  struct stat st {};

  if (::fstat(fd.get(), &st) != 0) {
    return system_error(path, "stat");
  }
  if (!S_ISREG(st.st_mode)) {
    return {Code::kInvalidArgument, path + ": is not a regular file"};
  }
  if (st.st_uid != ::geteuid()) {
    return {Code::kInvalidArgument, path + ": belongs to another user"};
  }
  if ((st.st_mode & 077) != 0) {
    return {Code::kInvalidArgument, path + ": others may read or write it; run: chmod 600 " + path};
  }
  return {};
}

Result<AppendFile> AppendFile::open(const std::string& path) {
  // Not to wait for the reader of a pipe, which is refused.
  FileDescriptor fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0644));
  if (fd.get() < 0) {
    return errno == ENXIO ? Status{Code::kInvalidArgument, path + ": is not a regular file"}
                          : system_error(path, "open");
  }
  AppendFile file;
  PLUMB_RETURN_IF_ERROR(open_regular(path, &fd, &file.size_));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK
               ? Status{Code::kInvalidArgument, path + ": another process is writing it"}
               : system_error(path, "lock");
  }
  file.fd_ = fd.release();
  file.path_ = path;
  return file;
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_(other.size_), path_(std::move(other.path_)) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}

AppendFile::~AppendFile() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

// All of it or nothing: what did not fit would be the beginning of the next line.
Status AppendFile::append(std::string_view bytes) {
  std::string_view left = bytes;
  Status written = write_all(fd_, &left, path_);
  if (written.ok()) {
    size_ += bytes.size();
    return written;
  }

  struct stat st {};

  const auto num_written = static_cast<off_t>(bytes.size() - left.size());
  if (num_written > 0 && ::fstat(fd_, &st) == 0 && st.st_size >= num_written &&
      ::ftruncate(fd_, st.st_size - num_written) != 0) {
    return {written.code(), written.message() + "; a part of it was written"};
  }
  return written;
}

Status AppendFile::sync() {
  return ::fdatasync(fd_) == 0 ? Status() : system_error(path_, "sync");
}

Status AppendFile::truncate(std::uint64_t size) {
  if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) {
    return system_error(path_, "truncate");
  }
  size_ = size;
  return {};
}

}  // namespace plumb
