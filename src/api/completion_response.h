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

  /// texts, tokens and ends by choice; `echoed[i]`: choice i begins with its prompt.
  Json complete(const std::vector<std::string>& texts,
                const std::vector<std::vector<TokenText>>& tokens,
                const std::vector<ChoiceEnd>& ends, bool echoed, std::int64_t choices_per_prompt);

 private:
  Json logprobs(std::int64_t index, const std::vector<TokenText>& tokens, bool first_has_none);
  Json wrap(JsonObject choice) const;

  ResponseEnvelope envelope_;
  bool include_logprobs_;
  bool include_top_;
  bool include_usage_;
  std::vector<std::int64_t> text_offset_;  // code points of each choice so far
};

}  // namespace plumb
