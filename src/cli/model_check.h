// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "cli/serving.h"
#include "engine/memory_plan.h"

namespace plumb {

/// One weight format of a checkpoint.
struct FormatUse {
  std::string type;
  std::int64_t num_tensors = 0;
  std::int64_t num_bytes = 0;
  std::vector<std::string> backends;  ///< that have kernels for it
};

/// What a model would need here, found without reading its weights.
struct ModelCheck {
  std::string path;
  std::string family;
  std::int64_t num_parameters = 0;
  std::int64_t context_len = 0;
  std::int64_t vocab_size = 0;
  bool has_chat_template = false;
  std::vector<FormatUse> formats;
  MemoryPlan memory;  ///< weights as they lie in the file
};

/// Loads the model on the back end that computes nothing, and its tokenizer and template.
/// Errors  of every part; kResourceExhausted: the KV cache would be too small.
Result<ModelCheck> check_model(const ServingOptions& options);

Json to_json(const ModelCheck& check);
std::string to_text(const ModelCheck& check);

}  // namespace plumb
