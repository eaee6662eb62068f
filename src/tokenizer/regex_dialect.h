// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace plumb {

/// Rewrites a pattern of a tokenizer file (the dialect of Oniguruma's Ruby syntax, which is what
/// the `tokenizers` package runs) into PCRE2 with UTF and UCP.
///
/// Changed are: \uXXXX; \s, which becomes the 25 White_Space characters (PCRE2 adds U+180E); \w;
/// \h (a hexadecimal digit); scripts in \p{}, which mean Script and not Script_Extensions; nested
/// classes and class intersection &&; ^ and $, which stand for lines.
/// Errors: kInvalidArgument for a class that does not end; kUnsupported for the option (?m).
Result<std::string> to_pcre2_pattern(std::string_view pattern);

}  // namespace plumb
