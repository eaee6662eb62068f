// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plumb {

/// What a terminal of Lark's library `common` matches, as a pattern for parse_regex().
std::optional<std::string_view> find_lark_common(std::string_view name);

/// "CNAME, CPP_COMMENT, …", for messages.
std::string list_lark_common();

}  // namespace plumb
