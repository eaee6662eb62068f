// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace plumb {

/// Processor time that the calling thread has had: for limits on work, which are the same however
/// busy the machine is. Thread: any.
std::chrono::nanoseconds thread_processor_time();

}  // namespace plumb
