// SPDX-License-Identifier: Apache-2.0
#include "api/chat_response.h"

#include <utility>

namespace plumb {
namespace {

Json bytes_to_json(const std::string& bytes) {
  JsonArray out;
  for (const char c : bytes) {
    out.emplace_back(static_cast<int>(static_cast<unsigned char>(c)));
  }
  return out;
}

JsonObject token_to_json(const TokenText& token, bool as_id) {
  return {{"token", token_name(token, as_id)},
          {"logprob", logprob_to_json(token.logprob)},
          {"bytes", bytes_to_json(token.bytes)}};
}

}  // namespace

ChatResponse::ChatResponse(ResponseEnvelope envelope, const GenerationParams& params)
    : envelope_(std::move(envelope)),
      include_logprobs_(params.sampling.logprobs),
      include_usage_(params.include_usage),
      return_token_ids_(params.return_token_ids),
      return_prompt_logprobs_(params.return_prompt_logprobs),
      tokens_as_ids_(params.tokens_as_ids) {}

Json ChatResponse::logprobs(const std::vector<TokenText>& tokens) const {
  if (!include_logprobs_) {
    return {};
  }
  JsonArray content;
  for (const TokenText& token : tokens) {
    JsonObject entry = token_to_json(token, tokens_as_ids_);
    JsonArray top;
    for (const TokenText& other : token.top) {
      top.emplace_back(token_to_json(other, tokens_as_ids_));
    }
    entry.append("top_logprobs", std::move(top));
    content.emplace_back(std::move(entry));
  }
  return JsonObject{{"content", std::move(content)}, {"refusal", nullptr}};
}

Json ChatResponse::chunk(std::int64_t index, JsonObject delta, Json logprobs, Json finish_reason,
                         const ChoiceEnd* end) const {
  JsonObject choice{{"index", index},
                    {"delta", std::move(delta)},
                    {"logprobs", std::move(logprobs)},
                    {"finish_reason", std::move(finish_reason)}};
  if (end != nullptr) {
    choice.append("stop_reason", stop_reason(*end));
  }
  JsonObject out = envelope_.open("chat.completion.chunk");
  out.append("system_fingerprint", envelope_.system_fingerprint);
  out.append("choices", JsonArray{std::move(choice)});
  if (include_usage_) {
    out.append("usage", nullptr);
  } else if (end != nullptr) {
    envelope_.add_meta(&out);
  }
  return out;
}

Json ChatResponse::start(std::int64_t index) const {
  Json out = chunk(index, {{"role", "assistant"}, {"content", ""}}, {}, {}, nullptr);
  if (return_token_ids_) {
    out.as_object().append("prompt_token_ids", envelope_.prompt_ids_to_json(0));
  }
  return out;
}

Json ChatResponse::delta(const ChoiceDelta& delta) const {
  JsonObject fields{{"content", delta.text}};
  if (return_token_ids_) {
    fields.append("token_ids", token_ids_to_json(delta.tokens));
  }
  return chunk(delta.index, std::move(fields), logprobs(delta.tokens), {}, nullptr);
}

Json ChatResponse::end(const ChoiceEnd& end) const {
  return chunk(end.index, {}, {}, finish_reason_text(end.reason), &end);
}

Json ChatResponse::usage(const Usage& usage) const {
  JsonObject out = envelope_.open("chat.completion.chunk");
  out.append("system_fingerprint", envelope_.system_fingerprint);
  out.append("choices", JsonArray());
  out.append("usage", usage_to_json(usage));
  envelope_.add_meta(&out);
  return out;
}

Json ChatResponse::complete(const std::vector<std::string>& texts,
                            const std::vector<std::vector<TokenText>>& tokens,
                            const std::vector<ChoiceEnd>& ends,
                            const std::vector<TokenText>& prompt) const {
  JsonArray choices;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    JsonObject choice{
        {"index", ends[i].index},
        {"message", JsonObject{{"role", "assistant"}, {"content", texts[i]}, {"refusal", nullptr}}},
        {"logprobs", logprobs(tokens[i])},
        {"finish_reason", finish_reason_text(ends[i].reason)},
        {"stop_reason", stop_reason(ends[i])},
    };
    if (return_token_ids_) {
      choice.append("token_ids", token_ids_to_json(tokens[i]));
    }
    choices.emplace_back(std::move(choice));
  }
  JsonObject out = envelope_.open("chat.completion");
  out.append("choices", std::move(choices));
  out.append("usage", usage_to_json(sum_usage(ends, static_cast<std::int64_t>(ends.size()))));
  out.append("system_fingerprint", envelope_.system_fingerprint);
  out.append("service_tier", "default");
  if (return_prompt_logprobs_) {
    out.append("prompt_logprobs", prompt_logprobs_to_json(prompt));
  }
  if (return_token_ids_) {
    out.append("prompt_token_ids", envelope_.prompt_ids_to_json(0));
  }
  envelope_.add_meta(&out);
  return out;
}

}  // namespace plumb
