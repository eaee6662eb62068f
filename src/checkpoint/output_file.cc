// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/output_file.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/file.h"

namespace plumb {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

Status system_error(const std::string& path, const char* what) {
  const int error = errno;
  const Code code = error == ENOENT                     ? Code::kNotFound
                    : error == ENOSPC || error == EFBIG ? Code::kResourceExhausted
                                                        : Code::kInvalidArgument;
  return {code, path + ": cannot " + what + ": " + std::generic_category().message(error)};
}

Status sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool ok = fd >= 0 && ::fsync(fd) == 0;
  Status status = ok ? Status() : system_error(folder, "sync");
  if (fd >= 0) {
    ::close(fd);
  }
  return status;
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path) {
  PLUMB_RETURN_IF_ERROR(check_replaceable(path));
  OutputFile file;
  file.path_ = path;
  file.temporary_ = path + ".tmp." + std::to_string(::getpid());
  file.fd_ = ::open(file.temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file.fd_ < 0) {
    return system_error(file.temporary_, "create");
  }
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      buffer_(std::move(other.buffer_)) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) {
    ::close(fd_);
    ::unlink(temporary_.c_str());
  }
}

Status OutputFile::append(std::string_view bytes) {
  size_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), kBufferBytes - buffer_.size());
    buffer_.append(bytes.substr(0, part));
    bytes.remove_prefix(part);
    if (buffer_.size() == kBufferBytes) {
      PLUMB_RETURN_IF_ERROR(flush());
    }
  }
  return {};
}

Status OutputFile::append_zeros(std::uint64_t count) {
  const std::string zeros(std::min<std::uint64_t>(count, 4096), '\0');
  while (count > 0) {
    const std::uint64_t part = std::min<std::uint64_t>(count, zeros.size());
    PLUMB_RETURN_IF_ERROR(append(std::string_view(zeros).substr(0, part)));
    count -= part;
  }
  return {};
}

Status OutputFile::flush() {
  std::string_view left = buffer_;
  while (!left.empty()) {
    const ssize_t n = ::write(fd_, left.data(), left.size());
    if (n < 0 && errno != EINTR) {
      return system_error(temporary_, "write");
    }
    left.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
  }
  buffer_.clear();
  return {};
}

Status OutputFile::commit() {
  PLUMB_RETURN_IF_ERROR(flush());
  if (::fsync(fd_) != 0) {
    return system_error(temporary_, "sync");
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return system_error(path_, "replace");
  }
  ::close(std::exchange(fd_, -1));
  return sync_folder_of(path_);
}

}  // namespace plumb
