// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "ops/backend.h"

namespace plumb {

/// An allocator whose leases have sizes but no addresses.
/// Thread: one at a time.
class MetaAllocator : public Allocator {
 public:
  Result<Buffer> allocate(std::int64_t num_bytes) override {
    used_ += num_bytes;
    peak_ = used_ > peak_ ? used_ : peak_;
    return Buffer(this, nullptr, num_bytes);
  }

  void release(void*, std::int64_t num_bytes) override { used_ -= num_bytes; }

  std::int64_t used_bytes() const { return used_; }

  std::int64_t peak_bytes() const { return peak_; }

 private:
  std::int64_t used_ = 0;
  std::int64_t peak_ = 0;
};

/// The back end of dry runs: every op checks its arguments and computes nothing.
///
/// All addresses may be null. On a CostStream (new_stream() gives one) each call adds its cost;
/// with Workspace::measure() and the allocator's counters a run yields workspace, KV and weight
/// bytes before anything is allocated.
class MetaBackend : public Backend {
 public:
  virtual const MetaAllocator& counters() const = 0;
};

std::unique_ptr<MetaBackend> make_meta_backend();

}  // namespace plumb
