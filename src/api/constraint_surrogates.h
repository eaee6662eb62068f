// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "api/error.h"

namespace plumb {

/// An error if a field that constrains the answer (a schema, an expression, a grammar, choices,
/// what a tool takes) holds half of a surrogate pair, in the request of any dialect; parse_json()
/// has put U+FFFD there, so this looks at the request's text. The request is the whole JSON text,
/// or the member of that name. Descriptions and titles of a tool's parameters may hold one.
/// Cost: linear, and without such halves one pass.
std::optional<ApiError> check_constraint_surrogates(std::string_view text,
                                                    std::string_view member = "");

}  // namespace plumb
