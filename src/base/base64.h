// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace plumb {

/// Base64 (RFC 4648, standard alphabet) with padding.
std::string encode_base64(std::string_view bytes);

/// Decodes base64 (RFC 4648, padding optional). False if a character is not of its alphabet or the
/// length is impossible.
bool decode_base64(std::string_view text, std::string* bytes);

}  // namespace plumb
