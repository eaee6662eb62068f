// SPDX-License-Identifier: Apache-2.0
#include "web/assets.h"

#include <algorithm>

namespace plumb {

const WebAsset* find_web_asset(std::string_view name) {
  const std::span<const WebAsset> assets = web_assets();
  const auto found = std::find_if(assets.begin(), assets.end(),
                                  [name](const WebAsset& asset) { return asset.name == name; });
  return found != assets.end() ? &*found : nullptr;
}

}  // namespace plumb
