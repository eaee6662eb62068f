// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor/device.h"

namespace plumb {

/// Anonymous host memory; allocations of 2 MiB and more ask for huge pages.
/// Thread: any. Stateless: one instance serves the process.
Allocator& host_allocator();

/// A stream for host code: work is done when the call returns.
class HostStream : public Stream {
 public:
  Status poll() override { return {}; }

  Status synchronize() override { return {}; }
};

}  // namespace plumb
