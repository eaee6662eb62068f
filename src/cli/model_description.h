// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "checkpoint/checkpoint.h"
#include "frontend/served_model.h"
#include "model/model.h"

namespace plumb {

/// What a checkpoint says of itself; the digest is left to the caller.
ModelDescription describe_model(const Checkpoint& checkpoint, const ModelFacts& facts,
                                const std::string& chat_template);

}  // namespace plumb
