// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "base/options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace plumb {

/// Gives the command line parser one flag per option: `--max-num-seqs N`, `--flag/--no-flag` for
/// bools, repeated or comma-separated values for lists; the environment (PLUMB_MAX_NUM_SEQS) is
/// read where the flag is absent.
///
/// Errors     collected in violations, so that a user sees all of them at once: test it after
///            the parse and end with the usage exit code.
/// Ownership  options and violations outlive the parse.
void add_options(CLI::App& app, std::span<const BoundOption> options,
                 std::vector<Status>* violations);

}  // namespace plumb
