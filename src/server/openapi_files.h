// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "web/assets.h"

namespace plumb {

/// The files of src/server/openapi/, each a part of one OpenAPI document.
///
/// Beside what OpenAPI knows, a path may be the name of another one: it has the same operations.
std::span<const WebAsset> openapi_files();

}  // namespace plumb
