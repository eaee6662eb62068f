// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb {

/// From now on the calling thread runs where others leave the processors idle, or nearly so. For
/// work that can take long and that nobody may be held up by. Where the system refuses, nothing
/// changes.
void yield_to_other_threads();

}  // namespace plumb
