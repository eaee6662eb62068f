// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tensor/device.h"

namespace plumb {

/// Anonymous host memory; allocations of 2 MiB and more ask for huge pages.
/// Thread: any. Stateless: one instance serves the process.
Allocator& host_allocator();

/// Gives the pages of that memory back to the system; its contents are undefined afterwards, and it
/// takes pages again where it is written. Parts of pages at its ends stay.
/// Requires memory of host_allocator().
void discard_host_memory(void* address, std::int64_t num_bytes);

/// Gives the memory that was released, and that the process keeps for its next allocations, back to
/// the system.
void trim_host_memory();

/// A stream for host code: work is done when the call returns.
class HostStream : public Stream {
 public:
  Status poll() override { return {}; }

  Status synchronize() override { return {}; }
};

}  // namespace plumb
