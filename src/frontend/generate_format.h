// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "api/generate_response.h"
#include "base/clock.h"
#include "frontend/response_format.h"

namespace plumb {

/// How a native request is answered as a whole.
struct GenerateFormatOptions {
  std::vector<GenerateSetup> setups;  ///< of each choice
  bool is_batch = false;              ///< an array; in a stream objects with an index
  bool is_incremental = false;        ///< events hold what is new, not all that there is
  Clock::TimePoint received{};        ///< when the request came
};

/// The clock outlives the format.
std::unique_ptr<ResponseFormat> make_generate_format(GenerateFormatOptions options,
                                                     const Clock& clock);

}  // namespace plumb
