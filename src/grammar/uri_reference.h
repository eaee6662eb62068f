// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace plumb {

/// The target of a URI reference relative to a base, without its fragment.
///
/// An empty base stands for a document without an identity: relative references then stay relative.
/// Source  RFC 3986 §5.2.
std::string resolve_uri(std::string_view base, std::string_view reference);

/// What follows '#', percent-decoded; empty without one.
std::string uri_fragment(std::string_view reference);

}  // namespace plumb
