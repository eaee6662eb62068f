// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace plumb {

/// What a 404 says of a path that is no route: the route that was probably meant, or that an API of
/// OpenAI is not offered. "no route POST /chat/completions; did you mean /v1/chat/completions? (see
/// /openapi.json)"
///
/// `path` is what was asked for, with the root path if it has it; `routes` are those of the router,
/// below the root path.
std::string unknown_route(std::string_view method, std::string_view path, std::string_view root,
                          std::span<const std::string> routes);

}  // namespace plumb
