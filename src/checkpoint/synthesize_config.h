// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"
#include "checkpoint/gguf_writer.h"
#include "checkpoint/synthesize.h"
#include "checkpoint/synthesize_tokenizer.h"

namespace plumb {

/// The metadata of a generated GGUF file, tokenizer included.
GgufPairs synthesis_metadata(const SynthesisSpec& spec, const SynthesisTokenizer& tokenizer);
/// config.json of a generated folder.
Json synthesis_config_json(const SynthesisSpec& spec);
/// generation_config.json of a generated folder.
Json synthesis_generation_config_json();

}  // namespace plumb
