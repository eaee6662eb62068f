// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace plumb {

/// Whether a JSON text has an escape of half a surrogate pair, which stands for no character.
/// Cost: linear.
bool has_lone_surrogate(std::string_view json);

/// The text with four other hex digits in each such escape.
std::string replace_lone_surrogates(std::string_view json, std::string_view digits);

}  // namespace plumb
