// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "api/field_reader.h"
#include "api/generation_params.h"

namespace plumb {

/// Reads the members of a native `sampling_params`, which is at that path. Its defaults are
/// SGLang's, not the model's: temperature 1, 128 tokens. A max_tokens of 0 means none. Errors stay
/// in the reader.
GenerationParams read_generate_sampling(FieldReader& fields, const std::string& path,
                                        const ApiLimits& limits);

}  // namespace plumb
