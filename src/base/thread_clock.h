// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"

namespace plumb {

/// The processor time of the calling thread; one instance, without state. Compare only times of one
/// thread.
const Clock& thread_clock();

}  // namespace plumb
