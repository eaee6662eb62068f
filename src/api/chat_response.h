// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/chat_style.h"
#include "api/choice.h"
#include "api/custom_input.h"
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
  /// is_function_form: calls are told as the older function_call. The style is that of this
  /// request: named_call_stops only where it names a function. `custom_tools`: names of those whose
  /// calls are told as the one text that they take.
  ChatResponse(ResponseEnvelope envelope, const GenerationParams& params,
               bool is_function_form = false, const ChatStyle& style = {},
               std::vector<std::string> custom_tools = {});

  /// The first chunk of a choice: the role.
  Json start(std::int64_t index) const;
  /// A chunk for each piece; none if the delta holds nothing that the client is told.
  std::vector<Json> delta(const ChoiceDelta& delta);
  Json end(const ChoiceEnd& end) const;
  /// The chunk without choices that carries the usage.
  Json usage(const Usage& usage) const;

  /// The whole object; answers[i], tokens[i], ends[i] belong to choice i. `prompt`: its tokens with
  /// log probabilities, when they were asked for.
  Json complete(const std::vector<std::vector<AnswerPart>>& answers,
                const std::vector<std::vector<TokenText>>& tokens,
                const std::vector<ChoiceEnd>& ends,
                const std::vector<TokenText>& prompt = {}) const;

 private:
  Json chunk(std::int64_t index, JsonObject delta, Json logprobs, Json finish_reason,
             const ChoiceEnd* end) const;
  Json logprobs(const std::vector<TokenText>& tokens, bool of_text, bool of_reasoning) const;
  void add_reasoning(const std::string& reasoning, JsonObject* message) const;
  bool is_custom(const std::string& tool) const;
  void add_call(std::int64_t index, const ToolCallDelta& call, std::vector<Json>* chunks);
  bool add_custom_call(std::int64_t index, const ToolCallDelta& call, std::vector<Json>* chunks);
  JsonObject message(const std::vector<AnswerPart>& answer) const;
  std::string_view finish_reason(FinishReason reason) const;
  void add_malformed(const ChoiceEnd& end, JsonObject* choice) const;

  ResponseEnvelope envelope_;
  bool include_logprobs_;
  bool include_usage_;
  bool return_token_ids_;
  bool return_prompt_logprobs_;
  bool tokens_as_ids_;
  bool return_meta_info_;
  bool lists_reasoning_;
  bool is_function_form_;
  ChatStyle style_;
  std::vector<std::string> custom_tools_;
  std::map<std::pair<std::int64_t, std::int64_t>, CustomInputReader> custom_calls_;  // open ones
};

}  // namespace plumb
