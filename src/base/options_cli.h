// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "base/options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace plumb {

/// Whether an option that the command line does not have is looked for in the environment.
enum class Environment : unsigned char { kIgnored, kRead };

/// Gives the command line parser one flag per option: `--max-num-seqs N`, `--flag/--no-flag` for
/// bools, repeated or comma-separated values for lists; with kRead the environment
/// (PLUMB_MAX_NUM_SEQS) is read where the flag is absent.
///
/// Errors     collected in violations, so that a user sees all of them at once: test it after
///            the parse and end with the usage exit code. Each names the flag or the variable.
/// Ownership  options and violations outlive the parse.
void add_options(CLI::App& app, std::span<const BoundOption> options,
                 std::vector<Status>* violations, Environment environment = Environment::kRead);

}  // namespace plumb
