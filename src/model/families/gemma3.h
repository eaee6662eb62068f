// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/status.h"
#include "model/families.h"
#include "model/model.h"
#include "model/model_config.h"

namespace plumb {

/// Gemma 3 (text): norms before and after each block, norms on q and k, window layers with their
/// own rotation.
Result<std::unique_ptr<Model>> load_gemma3(const ModelSource& source, const ModelConfig& config);

}  // namespace plumb
