// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "api/generation_params.h"
#include "api/ollama_response.h"
#include "api/response_envelope.h"
#include "base/clock.h"
#include "frontend/response_format.h"

namespace plumb {

/// How Ollama's routes answer: whole, or as lines of JSON. Thoughts, text and calls have lines of
/// their own, each call one of its own when it is complete. The clock outlives the format.
std::unique_ptr<ResponseFormat> make_ollama_format(OllamaRoute route, ResponseEnvelope envelope,
                                                   const GenerationParams& params,
                                                   const Clock& clock);

}  // namespace plumb
