// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/field_reader.h"
#include "api/generation_params.h"

namespace plumb {

/// Reads the fields beyond OpenAI's that shape sampling, stops and output: bad_words, stop_regex,
/// custom_logit_processor, prompt_logprobs, stream_interval and their like. Errors stay in the
/// reader.
void read_extension_fields(FieldReader& fields, const ApiLimits& limits, GenerationParams* params);

/// Refuses by name what changes the result and is not offered; a value that changes nothing is
/// accepted.
void refuse_unsupported_fields(FieldReader& fields);

}  // namespace plumb
