// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/status.h"

namespace plumb {

/// Runs a program found on PATH and waits for it; its output goes to standard error.
///
/// A signal that sets `stop` ends the program. Errors kNotFound: no such program; kUnavailable: it
/// ended with another status than 0, or by a signal; kCancelled: stopped.
Status run_program(const std::vector<std::string>& command, const std::atomic<bool>& stop);

}  // namespace plumb
