// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tensor/device.h"
#include "tensor/tensor.h"

namespace plumb {

/// A bump allocator for the activations of one step; a Mark gives back everything allocated after
/// it.
///
/// Without memory (`measure()`) it hands out null addresses and only counts, so that a dry run on
/// the meta back end yields the exact size: peak_bytes(). Thread: device. Cost: allocation is an
/// addition.
class Workspace {
 public:
  static Workspace measure() { return {}; }

  /// Errors kResourceExhausted.
  static Result<Workspace> create(Allocator& allocator, std::int64_t num_bytes);

  /// Rows are aligned only as the element type; the tensor starts at a multiple of 64 bytes.
  /// Requires the dry run has seen at least this much: exhaustion is a bug.
  Tensor allocate(DType dtype, const Shape& shape);

  class Mark {
   public:
    explicit Mark(Workspace& workspace) : workspace_(workspace), used_(workspace.used_) {}

    ~Mark() { workspace_.used_ = used_; }

    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;

   private:
    Workspace& workspace_;
    std::int64_t used_;
  };

  std::int64_t peak_bytes() const { return peak_; }

  std::int64_t used_bytes() const { return used_; }

  bool is_measuring() const { return memory_.address() == nullptr; }

 private:
  Workspace() = default;
  Buffer memory_;
  std::int64_t used_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace plumb
