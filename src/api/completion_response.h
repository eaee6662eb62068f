// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/choice.h"
#include "api/generation_params.h"
#include "api/response_envelope.h"
#include "base/json.h"

namespace plumb {

/// Turns the choices of a text completion into the API's objects.
/// Thread: any single one.
class CompletionResponse {
 public:
  CompletionResponse(ResponseEnvelope envelope, const GenerationParams& params,
                     std::int64_t num_choices);

  /// Also used for the echoed prompt: tokens[0] of a prompt has no log probability.
  Json delta(const ChoiceDelta& delta, bool first_token_has_no_logprob);
  Json end(const ChoiceEnd& end) const;
  Json usage(const Usage& usage) const;

  /// What complete() is made of, by choice.
  struct Columns {
    std::vector<std::string> texts;
    std::vector<std::vector<TokenText>> tokens;   ///< of the text
    std::vector<std::vector<TokenText>> prompts;  ///< with log probabilities, if asked for
    std::vector<std::vector<TokenText>> outputs;  ///< generated ones, if their ids are asked for
    std::vector<ChoiceEnd> ends;
  };

  /// `echoed`: the choices begin with their prompts.
  Json complete(const Columns& columns, bool echoed, std::int64_t choices_per_prompt);

 private:
  Json logprobs(std::int64_t index, const std::vector<TokenText>& tokens, bool first_has_none);
  Json wrap(JsonObject choice) const;

  ResponseEnvelope envelope_;
  bool include_logprobs_;
  bool include_top_;
  bool include_usage_;
  bool return_token_ids_;
  bool return_prompt_logprobs_;
  bool tokens_as_ids_;
  std::vector<std::int64_t> text_offset_;  // code points of each choice so far
};

}  // namespace plumb
