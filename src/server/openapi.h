// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "base/json.h"
#include "server/router.h"

namespace plumb {

/// The OpenAPI document of a server with these routes: what src/server/openapi/ says of them. An
/// operation's id, the keys that it asks for and how it tells errors come from its route.
/// Thread: any. Cost: some milliseconds.
Json openapi_document(std::span<const Route> routes, const std::string& version,
                      const std::string& root_path);

/// Adds GET /openapi.json: the document of the routes that are there, and of itself.
void add_openapi_route(Router& router, const std::string& version, const std::string& root_path);

}  // namespace plumb
