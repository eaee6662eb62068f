// SPDX-License-Identifier: Apache-2.0
#include "api/completion_response.h"

#include <utility>

#include "base/text.h"

namespace plumb {

CompletionResponse::CompletionResponse(ResponseEnvelope envelope, const GenerationParams& params,
                                       std::int64_t num_choices)
    : envelope_(std::move(envelope)),
      include_logprobs_(params.sampling.logprobs),
      include_top_(params.sampling.top_logprobs > 0),
      include_usage_(params.include_usage),
      return_token_ids_(params.return_token_ids),
      return_prompt_logprobs_(params.return_prompt_logprobs),
      tokens_as_ids_(params.tokens_as_ids),
      text_offset_(static_cast<std::size_t>(num_choices), 0) {}

Json CompletionResponse::logprobs(std::int64_t index, const std::vector<TokenText>& tokens,
                                  bool first_has_none) {
  if (!include_logprobs_) {
    return {};
  }
  JsonArray labels;
  JsonArray values;
  JsonArray tops;
  JsonArray offsets;
  std::int64_t& offset = text_offset_[static_cast<std::size_t>(index)];
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool has_none = first_has_none && i == 0;
    labels.emplace_back(token_name(tokens[i], tokens_as_ids_));
    values.emplace_back(has_none ? Json() : logprob_to_json(tokens[i].logprob));
    JsonObject top;
    for (const TokenText& other : tokens[i].top) {
      top.set(token_name(other, tokens_as_ids_), logprob_to_json(other.logprob));
    }
    tops.emplace_back(has_none || !include_top_ ? Json() : Json(std::move(top)));
    offsets.emplace_back(offset);
    offset += num_code_points(tokens[i].bytes);
  }
  return JsonObject{{"tokens", std::move(labels)},
                    {"token_logprobs", std::move(values)},
                    {"top_logprobs", std::move(tops)},
                    {"text_offset", std::move(offsets)}};
}

Json CompletionResponse::wrap(JsonObject choice) const {
  JsonObject out = envelope_.open("text_completion");
  out.append("system_fingerprint", envelope_.system_fingerprint);
  out.append("choices", JsonArray{std::move(choice)});
  if (include_usage_) {
    out.append("usage", nullptr);
  }
  return out;
}

Json CompletionResponse::delta(const ChoiceDelta& delta, bool first_token_has_no_logprob) {
  JsonObject choice{{"index", delta.index},
                    {"text", delta.text},
                    {"logprobs", logprobs(delta.index, delta.tokens, first_token_has_no_logprob)},
                    {"finish_reason", nullptr}};
  if (return_token_ids_) {
    choice.append("token_ids", token_ids_to_json(delta.tokens));
  }
  return wrap(std::move(choice));
}

Json CompletionResponse::end(const ChoiceEnd& end) const {
  JsonObject choice{{"index", end.index},
                    {"text", ""},
                    {"logprobs", nullptr},
                    {"finish_reason", finish_reason_text(end.reason)},
                    {"stop_reason", stop_reason(end)}};
  if (return_token_ids_ && (end.last_token || !end.cut_tokens.empty())) {
    choice.append("token_ids", counted_ids_to_json({}, end));
  }
  Json out = wrap(std::move(choice));
  if (!include_usage_) {
    envelope_.add_meta(&out.as_object());
  }
  return out;
}

Json CompletionResponse::usage(const Usage& usage) const {
  JsonObject out = envelope_.open("text_completion");
  out.append("system_fingerprint", envelope_.system_fingerprint);
  out.append("choices", JsonArray());
  out.append("usage", usage_to_json(usage));
  envelope_.add_meta(&out);
  return out;
}

Json CompletionResponse::complete(const Columns& columns, bool echoed,
                                  std::int64_t choices_per_prompt) {
  JsonArray choices;
  for (std::size_t i = 0; i < columns.ends.size(); ++i) {
    const ChoiceEnd& end = columns.ends[i];
    JsonObject choice{{"index", end.index},
                      {"text", columns.texts[i]},
                      {"logprobs", logprobs(end.index, columns.tokens[i], echoed)},
                      {"finish_reason", finish_reason_text(end.reason)},
                      {"stop_reason", stop_reason(end)}};
    if (return_prompt_logprobs_) {
      choice.append("prompt_logprobs", prompt_logprobs_to_json(columns.prompts[i]));
    }
    if (return_token_ids_) {
      choice.append("token_ids", counted_ids_to_json(columns.outputs[i], end));
      choice.append("prompt_token_ids",
                    envelope_.prompt_ids_to_json(i / static_cast<std::size_t>(choices_per_prompt)));
    }
    choices.emplace_back(std::move(choice));
  }
  JsonObject out = envelope_.open("text_completion");
  out.append("choices", std::move(choices));
  out.append("usage", usage_to_json(sum_usage(columns.ends, choices_per_prompt)));
  out.append("system_fingerprint", envelope_.system_fingerprint);
  envelope_.add_meta(&out);
  return out;
}

}  // namespace plumb
