// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/backends.h"
#include "engine/engine_options.h"
#include "server/auth.h"
#include "server/server_options.h"

namespace plumb {

/// What a server's options ask for that has no effect beside the others, a sentence each. It may
/// start all the same: keys can come later, and scripts share options.
std::vector<std::string> option_warnings(const ServerOptions& server, const EngineOptions& engine,
                                         const KeySet& keys);

/// A sentence where there are more than twice as many compute threads as cores that the process may
/// use; else none.
std::vector<std::string> thread_warnings(const BackendOptions& backend, int num_usable_cores);

}  // namespace plumb
