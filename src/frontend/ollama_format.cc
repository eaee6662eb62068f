// SPDX-License-Identifier: Apache-2.0
#include "frontend/ollama_format.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/timestamp.h"

namespace plumb {
namespace {

constexpr int kMicrosecondDigits = 6;

bool has_text_token(const std::vector<TokenText>& tokens) {
  return std::any_of(tokens.begin(), tokens.end(),
                     [](const TokenText& token) { return token.kind == AnswerKind::kText; });
}

class OllamaFormat final : public ResponseFormat {
 public:
  OllamaFormat(OllamaRoute route, ResponseEnvelope envelope, const GenerationParams& params,
               const Clock& clock)
      : include_logprobs_(params.sampling.logprobs),
        has_context_(route == OllamaRoute::kGenerate && !envelope.prompt_ids.empty()),
        received_(envelope.received),
        clock_(clock),
        response_(route, std::move(envelope.model)) {
    if (has_context_) {
      context_ = std::move(envelope.prompt_ids.front());
    }
  }

  StreamFraming framing() const override { return StreamFraming::kJsonLines; }

  std::string heartbeat() const override { return ""; }

  std::vector<Json> start(std::int64_t /*index*/) override { return {}; }

  std::optional<Json> prompt(std::int64_t /*index*/, std::vector<TokenText> /*tokens*/) override {
    return std::nullopt;
  }

  std::vector<Json> delta(const ChoiceDelta& delta) override {
    std::vector<Json> lines;
    const auto add = [&](OllamaPiece piece) {
      lines.push_back(response_.part(now(), std::move(piece)));
    };
    take_ids(delta.tokens);
    if (!delta.reasoning.empty()) {
      add({.thinking = delta.reasoning});
    }
    const bool has_logprobs = include_logprobs_ && has_text_token(delta.tokens);
    if (!delta.text.empty() || has_logprobs) {
      add({.text = delta.text, .tokens = has_logprobs ? &delta.tokens : nullptr});
    }
    for (const ToolCallDelta& call : delta.calls) {
      if (call.is_first()) {
        open_call_ = {AnswerKind::kCall, "", call.id, call.name};
      }
      open_call_.text += call.arguments;
      if (call.has_ended) {
        add({.calls = {ollama_call(open_call_.name, open_call_.text)}});
      }
    }
    return lines;
  }

  std::vector<Json> end(const ChoiceEnd& end) override { return {last({}, end)}; }

  std::vector<Json> finish(const std::vector<ChoiceRecord>& /*choices*/) override { return {}; }

  Json complete(std::vector<ChoiceRecord> choices) override {
    ChoiceRecord& choice = choices.front();
    take_ids(choice.tokens);
    OllamaPiece piece;
    piece.text = text_of(choice.parts);
    piece.thinking = text_of(choice.parts, AnswerKind::kReasoning);
    for (const AnswerPart& part : choice.parts) {
      if (part.kind == AnswerKind::kCall) {
        piece.calls.push_back(ollama_call(part.name, part.text));
      }
    }
    piece.tokens = include_logprobs_ ? &choice.tokens : nullptr;
    return last(std::move(piece), *choice.end);
  }

 private:
  std::string now() const { return to_rfc3339(clock_.wall_now(), kMicrosecondDigits); }

  void take_ids(const std::vector<TokenText>& tokens) {
    for (const TokenText& token : tokens) {
      if (has_context_) {
        context_.push_back(token.token);
      }
    }
  }

  Json last(OllamaPiece piece, const ChoiceEnd& end) const {
    return response_.last(now(), std::move(piece), end, received_,
                          has_context_ ? &context_ : nullptr);
  }

  bool include_logprobs_;
  bool has_context_;
  Clock::TimePoint received_;
  const Clock& clock_;
  OllamaResponse response_;
  std::vector<TokenId> context_;
  AnswerPart open_call_;
};

}  // namespace

std::unique_ptr<ResponseFormat> make_ollama_format(OllamaRoute route, ResponseEnvelope envelope,
                                                   const GenerationParams& params,
                                                   const Clock& clock) {
  return std::make_unique<OllamaFormat>(route, std::move(envelope), params, clock);
}

}  // namespace plumb
