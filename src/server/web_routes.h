// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/route_context.h"

namespace plumb {

/// The web console: its page at / and its files below /web, unless the options want none. They hold
/// no secret, so nobody is asked for a key; the API that they call asks.
void add_web_routes(const RouteContext& context);

}  // namespace plumb
