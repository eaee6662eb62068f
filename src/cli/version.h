// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace plumb {

/// "0.1.0".
std::string version_number();
/// For --version: number, build type, compiler.
std::string version_text();

}  // namespace plumb
