// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/field_reader.h"
#include "api/generation_params.h"

namespace plumb {

/// Reads `options` of Ollama's API. Options of its engine that change no answer are accepted, those
/// that this one does not have are refused where they are not neutral, unknown ones are ignored.
/// Errors stay in the reader.
GenerationParams read_ollama_options(FieldReader& fields, const SamplingDefaults& defaults,
                                     const ApiLimits& limits);

}  // namespace plumb
