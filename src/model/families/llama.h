// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/status.h"
#include "model/families.h"
#include "model/model.h"
#include "model/model_config.h"

namespace plumb {

/// Llama 2/3, Mistral, SmolLM2 (family "llama"); with biases on q, k and v "qwen2"; with norms on q
/// and k "qwen3".
Result<std::unique_ptr<Model>> load_llama(const ModelSource& source, const ModelConfig& config);

}  // namespace plumb
