// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb {

/// From now on the calling thread gets about a third of the time of a thread of the main one's
/// priority that it shares a processor with. For work that can take long while others are in a
/// hurry. Where the system refuses, nothing changes. Calling it again changes nothing.
void yield_to_other_threads();

}  // namespace plumb
