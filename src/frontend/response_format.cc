// SPDX-License-Identifier: Apache-2.0
#include "frontend/response_format.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/chat_response.h"
#include "api/completion_response.h"

namespace plumb {
namespace {

std::vector<ChoiceEnd> ends_of(const std::vector<ChoiceRecord>& choices) {
  std::vector<ChoiceEnd> ends;
  ends.reserve(choices.size());
  for (const ChoiceRecord& choice : choices) {
    ends.push_back(*choice.end);
  }
  return ends;
}

std::vector<std::string> custom_tools_of(const ToolUse& use) {
  std::vector<std::string> names;
  for (const Tool& tool : use.tools) {
    if (tool.is_custom) {
      names.push_back(tool.name);
    }
  }
  return names;
}

class ChatFormat final : public ResponseFormat {
 public:
  ChatFormat(ResponseEnvelope envelope, const ChatRequest& request, const ChatStyle& style)
      : include_usage_(request.generation.include_usage),
        response_(std::move(envelope), request.generation, request.tool_use.is_function_form, style,
                  custom_tools_of(request.tool_use)) {}

  std::vector<Json> start(std::int64_t index) override { return {response_.start(index)}; }

  std::optional<Json> prompt(std::int64_t, std::vector<TokenText>) override { return std::nullopt; }

  std::vector<Json> delta(const ChoiceDelta& delta) override { return response_.delta(delta); }

  std::vector<Json> end(const ChoiceEnd& end) override { return {response_.end(end)}; }

  std::vector<Json> finish(const std::vector<ChoiceRecord>& choices) override {
    if (!include_usage_) {
      return {};
    }
    return {
        response_.usage(sum_usage(ends_of(choices), static_cast<std::int64_t>(choices.size())))};
  }

  Json complete(std::vector<ChoiceRecord> choices) override {
    std::vector<std::vector<AnswerPart>> answers;
    std::vector<std::vector<TokenText>> tokens;
    for (ChoiceRecord& choice : choices) {
      answers.push_back(std::move(choice.parts));
      tokens.push_back(std::move(choice.tokens));
    }
    return response_.complete(answers, tokens, ends_of(choices), choices.front().prompt);
  }

 private:
  bool include_usage_;
  ChatResponse response_;
};

double mean_logprob(const ChoiceRecord& choice) {
  double sum = 0;
  for (const TokenText& token : choice.tokens) {
    sum += static_cast<double>(token.logprob);
  }
  return choice.tokens.empty() ? 0.0 : sum / static_cast<double>(choice.tokens.size());
}

class CompletionFormat final : public ResponseFormat {
 public:
  CompletionFormat(ResponseEnvelope envelope, const CompletionRequest& request,
                   std::vector<std::string> prompt_texts)
      : n_(request.generation.n),
        best_of_(request.best_of),
        echo_(request.echo),
        is_empty_(request.generation.sampling.max_tokens == 0),
        include_usage_(request.generation.include_usage),
        prompt_texts_(std::move(prompt_texts)),
        response_(std::move(envelope), request.generation,
                  static_cast<std::int64_t>(request.prompts.size()) * request.best_of) {}

  std::vector<Json> start(std::int64_t index) override {
    if (!echo_) {
      return {};
    }
    return {response_.delta({index, prompt_text(index), {}}, true)};
  }

  std::optional<Json> prompt(std::int64_t index, std::vector<TokenText> tokens) override {
    return response_.delta({index, "", std::move(tokens)}, true);
  }

  std::vector<Json> delta(const ChoiceDelta& delta) override {
    return {response_.delta(is_empty_ ? ChoiceDelta{delta.index, "", {}} : delta, false)};
  }

  std::vector<Json> end(const ChoiceEnd& end) override { return {response_.end(trimmed(end))}; }

  std::vector<Json> finish(const std::vector<ChoiceRecord>& choices) override {
    if (!include_usage_) {
      return {};
    }
    std::vector<ChoiceEnd> ends = ends_of(choices);
    for (ChoiceEnd& end : ends) {
      end = trimmed(end);
    }
    return {response_.usage(sum_usage(ends, best_of_))};
  }

  Json complete(std::vector<ChoiceRecord> choices) override {
    for (ChoiceRecord& choice : choices) {
      choice.end = trimmed(*choice.end);
      if (is_empty_) {
        choice.parts.clear();
        choice.tokens.clear();
      }
    }
    const std::vector<ChoiceEnd> all = ends_of(choices);
    if (best_of_ > n_) {
      choices = best(std::move(choices));
    }
    CompletionResponse::Columns columns;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      add(std::move(choices[i]), static_cast<std::int64_t>(i) / n_, &columns);
    }
    Json out = response_.complete(columns, echo_, n_);
    out.as_object().set("usage", usage_to_json(sum_usage(all, best_of_)));
    return out;
  }

 private:
  const std::string& prompt_text(std::int64_t index) const {
    return prompt_texts_[static_cast<std::size_t>(index / best_of_)];
  }

  // max_tokens 0: the one token that the engine computed does not exist for the client.
  ChoiceEnd trimmed(ChoiceEnd end) const {
    if (is_empty_) {
      end.usage.completion_tokens = 0;
      end.reason = FinishReason::kLength;
      end.last_token.reset();
      end.cut_tokens.clear();
    }
    return end;
  }

  void add(ChoiceRecord choice, std::int64_t prompt, CompletionResponse::Columns* columns) const {
    columns->outputs.push_back(choice.tokens);
    std::string text = text_of(choice.parts);
    if (echo_) {
      text.insert(0, prompt_texts_[static_cast<std::size_t>(prompt)]);
      choice.tokens.insert(choice.tokens.begin(), choice.prompt.begin(), choice.prompt.end());
    }
    columns->texts.push_back(std::move(text));
    columns->tokens.push_back(std::move(choice.tokens));
    columns->prompts.push_back(std::move(choice.prompt));
    columns->ends.push_back(*std::move(choice.end));
  }

  // The n candidates of each prompt whose tokens are most likely on average, renumbered.
  std::vector<ChoiceRecord> best(std::vector<ChoiceRecord> choices) const {
    std::vector<ChoiceRecord> kept;
    for (std::size_t first = 0; first < choices.size();
         first += static_cast<std::size_t>(best_of_)) {
      const auto begin = choices.begin() + static_cast<std::ptrdiff_t>(first);
      std::stable_sort(begin, begin + static_cast<std::ptrdiff_t>(best_of_),
                       [](const ChoiceRecord& a, const ChoiceRecord& b) {
                         return mean_logprob(a) > mean_logprob(b);
                       });
      for (std::ptrdiff_t i = 0; i < n_; ++i) {
        kept.push_back(std::move(begin[i]));
        kept.back().end->index = static_cast<std::int64_t>(kept.size()) - 1;
      }
    }
    return kept;
  }

  std::int64_t n_;
  std::int64_t best_of_;
  bool echo_;
  bool is_empty_;
  bool include_usage_;
  std::vector<std::string> prompt_texts_;
  CompletionResponse response_;
};

}  // namespace

std::vector<Json> ResponseFormat::fail(const ApiError& /*error*/, Json body) {
  return {std::move(body)};
}

void ChoiceRecord::append(ChoiceDelta delta) {
  append_delta(delta, &parts);
  std::move(delta.tokens.begin(), delta.tokens.end(), std::back_inserter(tokens));
}

void describe_choices(const GenerationParams& params, const std::vector<ChoiceRequest>& choices,
                      std::size_t choices_per_prompt, ResponseEnvelope* envelope) {
  for (std::size_t i = 0; params.return_token_ids && i < choices.size(); i += choices_per_prompt) {
    envelope->prompt_ids.push_back(choices[i].request.prompt);
  }
  if (params.return_meta_info) {
    envelope->seed = choices.front().request.sampling.seed;
  }
}

std::unique_ptr<ResponseFormat> make_chat_format(ResponseEnvelope envelope,
                                                 const ChatRequest& request,
                                                 const ChatStyle& style) {
  ChatStyle own = style;
  own.named_call_stops = style.named_call_stops && request.tool_use.choice.is_named;
  return std::make_unique<ChatFormat>(std::move(envelope), request, own);
}

std::unique_ptr<ResponseFormat> make_completion_format(ResponseEnvelope envelope,
                                                       const CompletionRequest& request,
                                                       std::vector<std::string> prompt_texts) {
  return std::make_unique<CompletionFormat>(std::move(envelope), request, std::move(prompt_texts));
}

}  // namespace plumb
