// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/generation_params.h"
#include "base/status.h"
#include "base/token_id.h"
#include "checkpoint/checkpoint.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace plumb {

/// The text side of a checkpoint: tokenizer, chat template (null if it has none), recommended
/// sampling.
struct TextParts {
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat_template;
  std::string template_source;  ///< its text; empty without one
  SamplingDefaults defaults;
};

/// From GGUF metadata, or from the JSON files of a Hugging Face folder.
/// Errors: as the tokenizer and the template; naming the file.
Result<TextParts> load_text_parts(const Checkpoint& checkpoint);
/// The tokenizer alone (a file that holds only a vocabulary is enough).
Result<std::unique_ptr<Tokenizer>> load_tokenizer(const Checkpoint& checkpoint);
/// Null when the checkpoint has no template.
Result<std::unique_ptr<ChatTemplate>> load_chat_template(const Checkpoint& checkpoint,
                                                         const Tokenizer& tokenizer);

/// The source of the template, if there is one.
Result<std::optional<std::string>> chat_template_source(const Checkpoint& checkpoint);

}  // namespace plumb
