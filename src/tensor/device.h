// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "base/status.h"

namespace plumb {

class Allocator;

/// A lease of device memory; gives it back when it dies. An empty Buffer owns nothing.
/// Thread: any.
class Buffer {
 public:
  Buffer() = default;

  Buffer(Allocator* from, void* address, std::int64_t num_bytes)
      : from_(from), address_(address), num_bytes_(num_bytes) {}

  Buffer(Buffer&& other) noexcept
      : from_(std::exchange(other.from_, nullptr)),
        address_(std::exchange(other.address_, nullptr)),
        num_bytes_(std::exchange(other.num_bytes_, 0)) {}

  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(from_, other.from_);
    std::swap(address_, other.address_);
    std::swap(num_bytes_, other.num_bytes_);
    return *this;
  }

  ~Buffer();

  void* address() const { return address_; }

  std::int64_t num_bytes() const { return num_bytes_; }

 private:
  Allocator* from_ = nullptr;
  void* address_ = nullptr;
  std::int64_t num_bytes_ = 0;
};

/// Memory of one device. Addresses are aligned to at least 64 bytes.
/// Thread: any.
class Allocator {
 public:
  virtual ~Allocator() = default;
  /// Errors kResourceExhausted, with the bytes asked for. Contents are undefined.
  virtual Result<Buffer> allocate(std::int64_t num_bytes) = 0;
  virtual void release(void* address, std::int64_t num_bytes) = 0;
};

inline Buffer::~Buffer() {
  if (from_ != nullptr) {
    from_->release(address_, num_bytes_);
  }
}

/// An in-order queue of device work. On the CPU an op has finished when its call returns.
/// Thread: one at a time.
class Stream {
 public:
  virtual ~Stream() = default;
  /// kDeviceLost after a device fault; asked once per step.
  virtual Status poll() = 0;
  /// Waits for all work queued so far.
  virtual Status synchronize() = 0;
};

}  // namespace plumb
