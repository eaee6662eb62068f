// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"

namespace plumb {

/// The path without symbolic links and dots of what `path` names, which is relative to the folder
/// `root` or absolute, and lies below that folder once all links are followed.
///
/// Errors  kInvalidArgument: it does not lie there, or there is no such thing, which are told in
///         the same words. kNotFound: there is no root.
/// Thread  any.
Result<std::string> path_below(const std::string& root, const std::string& path);

}  // namespace plumb
