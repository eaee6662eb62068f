// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/metrics.h"
#include "frontend/embedding_service.h"
#include "frontend/model_control.h"
#include "frontend/step_metrics.h"
#include "frontend/text_service.h"

namespace plumb {

/// What the server serves; all of it outlives the server.
struct ServerParts {
  TextService& service;
  Metrics& metrics;
  const Clock& clock;
  /// The whole configuration for /server_info, without secrets.
  std::function<Json()> describe;
  std::string version;
  StepMetrics* steps = nullptr;            ///< observes the engine; may be null
  EmbeddingService* embeddings = nullptr;  ///< null: the model gives no vectors
  ModelControl* control = nullptr;         ///< null: memory and weights stay as they are
};

}  // namespace plumb
