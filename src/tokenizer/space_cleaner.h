// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace plumb {

/// A whole decoded text without the spaces before `?`, `!`, `.`, `,` and before 's, 'm, 're, 've;
/// ` ' ` becomes `'`. For whole texts only: a stream cannot take text back.
std::string clean_spaces(std::string_view text);

}  // namespace plumb
