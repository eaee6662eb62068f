// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/seal.h"
#include "base/status.h"
#include "server/response_options.h"
#include "server/response_store.h"

namespace plumb {

/// What is kept of responses: here, and sealed with the client.
struct ResponseKeeping {
  std::unique_ptr<ResponseStore> store;  ///< null without one
  std::unique_ptr<Seal> seal;            ///< of reasoning that clients keep

  /// The clock outlives it. Errors: the file of the key, the store's.
  static Result<ResponseKeeping> open(const ResponseOptions& options, const Clock& clock);
};

}  // namespace plumb
