// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "tokenizer/jinja_template.h"
#include "tokenizer/segment.h"

namespace plumb {

/// A conversation as an API delivers it.
struct ChatInputs {
  JsonArray messages;
  Json tools;                  ///< array or null
  JsonObject template_kwargs;  ///< override every other variable
  bool add_generation_prompt = false;
  bool continue_final_message = false;
};

struct RenderedChat {
  std::string text;
  std::vector<Segment> segments;  ///< template text and client data, in order
};

/// A model's chat template with the special tokens it may name.
/// Thread: any (immutable).
class ChatTemplate {
 public:
  /// `special_tokens`: variables such as bos_token and eos_token with their texts.
  static Result<std::unique_ptr<ChatTemplate>> create(std::string_view source,
                                                      JsonObject special_tokens);

  /// Errors: the template's, see JinjaTemplate::render().
  Result<RenderedChat> render(const ChatInputs& inputs) const;

 private:
  ChatTemplate(JinjaTemplate parsed, JsonObject special_tokens)
      : template_(std::move(parsed)), special_tokens_(std::move(special_tokens)) {}

  JinjaTemplate template_;
  JsonObject special_tokens_;
};

}  // namespace plumb
