// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ops/op_table.h"
#include "ops/weight.h"
#include "tensor/device.h"

namespace plumb {

/// A device and its implementation of the ops: ref, meta, cpu, cuda. The composition root makes
/// one; nothing else knows which it is. Thread: any; a Stream and the ops issued to it belong to
/// one thread.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// What it runs on, for people: "avx512-vnni, 2 threads".
  virtual std::string arch() const = 0;
  virtual Allocator& allocator() = 0;
  virtual std::unique_ptr<Stream> new_stream() = 0;

  /// A stream for copies alone, which another thread may use while one that computes is busy.
  virtual std::unique_ptr<Stream> new_copy_stream() { return new_stream(); }

  virtual const OpTable& ops() const = 0;
  /// Arranges a matrix for linear and embedding. The result owns its bytes, or refers to `raw`
  /// (is_mapped()). Errors kUnsupported: no kernel for that format; kResourceExhausted.
  virtual Result<Weight> pack(const RawMatrix& raw) = 0;
  /// Copies host bytes to device memory and back; on the CPU a memcpy. Ordered in the stream.
  virtual void copy(void* to, const void* from, std::int64_t num_bytes, Stream& stream) = 0;
};

}  // namespace plumb
