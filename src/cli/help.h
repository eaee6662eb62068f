// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace plumb {

/// Lets --help show a switch as `--[no-]prefix-cache=on`: both its spellings and its default.
/// Commands that are added later inherit it.
void use_short_help(CLI::App& app);

}  // namespace plumb
