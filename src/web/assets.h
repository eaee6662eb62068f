// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace plumb {

/// A file, as it was when the program was built.
struct WebAsset {
  std::string_view name;  ///< "chat.css": all files lie in one folder
  std::string_view content_type;
  std::string_view sha256;  ///< of the content, in lower-case hexadecimal
  std::string_view content;
};

/// All files of the web console, by name.
std::span<const WebAsset> web_assets();

/// The file of the web console of that name; null if there is none.
const WebAsset* find_web_asset(std::string_view name);

}  // namespace plumb
