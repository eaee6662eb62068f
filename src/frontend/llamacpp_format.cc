// SPDX-License-Identifier: Apache-2.0
#include "frontend/llamacpp_format.h"

#include <string>
#include <utility>

namespace plumb {
namespace {

class LlamaCppFormat final : public ResponseFormat {
 public:
  LlamaCppFormat(LlamaCppSetup setup, std::size_t num_answers)
      : setup_(std::move(setup)), so_far_(num_answers) {}

  StreamFraming framing() const override { return StreamFraming::kBareEvents; }

  void begin(std::int64_t index, const Usage& prompt) override {
    Usage& usage = so_far_[static_cast<std::size_t>(index)];
    usage = prompt;
    usage.completion_tokens = 0;  // those of the first event come as deltas
  }

  std::vector<Json> start(std::int64_t /*index*/) override { return {}; }

  std::optional<Json> prompt(std::int64_t /*index*/, std::vector<TokenText> /*tokens*/) override {
    return std::nullopt;
  }

  std::vector<Json> delta(const ChoiceDelta& delta) override {
    if (setup_.is_empty) {
      return {};
    }
    Usage& usage = so_far_[static_cast<std::size_t>(delta.index)];
    usage.completion_tokens += std::ssize(delta.tokens);
    return {llamacpp_part(setup_, {delta.index, delta.text, delta.tokens}, usage)};
  }

  std::vector<Json> end(const ChoiceEnd& end) override {
    return {llamacpp_last(setup_, {.index = end.index}, end)};
  }

  std::vector<Json> finish(const std::vector<ChoiceRecord>& /*choices*/) override { return {}; }

  Json complete(std::vector<ChoiceRecord> choices) override {
    JsonArray answers;
    for (ChoiceRecord& choice : choices) {
      LlamaCppPiece piece{.index = choice.end->index};
      if (!setup_.is_empty) {
        piece.text = text_of(choice.parts);
        piece.tokens = std::move(choice.tokens);
      }
      answers.push_back(llamacpp_last(setup_, piece, *choice.end));
    }
    return answers.size() > 1 ? Json(std::move(answers)) : std::move(answers.front());
  }

 private:
  LlamaCppSetup setup_;
  std::vector<Usage> so_far_;  // of each answer
};

}  // namespace

std::optional<ApiError> resolve_text_biases(const Tokenizer& tokenizer, const ApiLimits& limits,
                                            LlamaCppRequest* request) {
  GenerationParams& params = request->completion.generation;
  std::vector<std::pair<TokenId, float>>& biases = params.sampling.logit_bias;
  for (const TextBias& text : request->text_biases) {
    for (const TokenId id : tokenizer.encode(text.text, {false, false})) {
      if (text.bias.has_value()) {
        biases.emplace_back(id, *text.bias);
      } else {
        params.bad_words.emplace_back(std::vector<TokenId>{id});
      }
    }
    const std::int64_t count = std::ssize(biases) + std::ssize(params.bad_words);
    if (count > limits.max_logit_bias) {
      return ApiError::invalid("invalid_value", "logit_bias",
                               "'logit_bias' names " + std::to_string(count) +
                                   " tokens with those of its texts, expected at most " +
                                   std::to_string(limits.max_logit_bias));
    }
  }
  return std::nullopt;
}

std::unique_ptr<ResponseFormat> make_llamacpp_format(LlamaCppSetup setup, std::size_t num_answers) {
  return std::make_unique<LlamaCppFormat>(std::move(setup), num_answers);
}

}  // namespace plumb
