// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/error.h"
#include "base/status.h"

namespace plumb {

/// Routes of other servers that are served only where --compat names their server.
inline constexpr std::string_view kLlamaCppCompat = "llamacpp";

/// Errors kInvalidArgument: a name that is not known, or given twice.
Status check_compat(const std::vector<std::string>& names);

bool is_compat(const std::vector<std::string>& names, std::string_view name);

/// Why a path that is one of those routes is not served; absent for other paths.
std::optional<ApiError> compat_route_error(std::string_view path);

}  // namespace plumb
