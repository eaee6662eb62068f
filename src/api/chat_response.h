// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/choice.h"
#include "api/generation_params.h"
#include "api/response_envelope.h"
#include "base/json.h"

namespace plumb {

/// Turns the choices of a chat completion into the API's objects: chunks of a stream, or one object
/// at the end.
///
/// Stream order per choice: chunk(s) of start(), delta()…, end(); after the last choice usage() if
/// asked for. Thread: any single one.
class ChatResponse {
 public:
  ChatResponse(ResponseEnvelope envelope, const GenerationParams& params);

  /// The first chunk of a choice: the role.
  Json start(std::int64_t index) const;
  Json delta(const ChoiceDelta& delta) const;
  Json end(const ChoiceEnd& end) const;
  /// The chunk without choices that carries the usage.
  Json usage(const Usage& usage) const;

  /// The whole object; texts[i], tokens[i], ends[i] belong to choice i. `prompt`: its tokens with
  /// log probabilities, when they were asked for.
  Json complete(const std::vector<std::string>& texts,
                const std::vector<std::vector<TokenText>>& tokens,
                const std::vector<ChoiceEnd>& ends,
                const std::vector<TokenText>& prompt = {}) const;

 private:
  Json chunk(std::int64_t index, JsonObject delta, Json logprobs, Json finish_reason,
             const ChoiceEnd* end) const;
  Json logprobs(const std::vector<TokenText>& tokens) const;

  ResponseEnvelope envelope_;
  bool include_logprobs_;
  bool include_usage_;
  bool return_token_ids_;
  bool return_prompt_logprobs_;
  bool tokens_as_ids_;
};

}  // namespace plumb
