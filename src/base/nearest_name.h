// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace plumb {

/// The name that was probably meant: the first of those with the fewest characters to insert, drop
/// or replace; empty if that is more than a third of what was written.
std::string nearest_name(std::string_view written, std::span<const std::string> names);

}  // namespace plumb
