// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/families.h"
#include "model/model.h"
#include "model/model_config.h"
#include "model/weight_loader.h"
#include "ops/kv_layout.h"

namespace plumb {

/// One group for the layers that see everything, one for the window layers; heads are split over
/// the ranks.
KvLayout make_kv_layout(const ModelConfig& config, const ModelSource& source);

ModelFacts make_facts(const ModelConfig& config, const WeightLoader& load);

}  // namespace plumb
