// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate_format.h"

#include <iterator>
#include <optional>
#include <utility>

namespace plumb {
namespace {

// What both kinds of streams share: whole answers.
class GenerateFormat : public ResponseFormat {
 public:
  GenerateFormat(GenerateFormatOptions options, const Clock& clock)
      : options_(std::move(options)), clock_(clock) {}

  std::vector<Json> start(std::int64_t /*index*/) override { return {}; }

  std::vector<Json> finish(const std::vector<ChoiceRecord>& /*choices*/) override { return {}; }

  Json complete(std::vector<ChoiceRecord> choices) override {
    JsonArray answers;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      ChoiceRecord& choice = choices[i];
      GenerateOutput out;
      out.prompt = std::move(choice.prompt);
      out.num_tokens = choice.end->usage.completion_tokens;
      if (!options_.setups[i].is_empty) {
        out.text = text_of(choice.parts);
        out.tokens = std::move(choice.tokens);
        append_silent_tokens(*choice.end, &out.tokens);
      }
      answers.push_back(generate_object(options_.setups[i], out, &*choice.end, seconds()));
    }
    return options_.is_batch ? Json(std::move(answers)) : std::move(answers.front());
  }

 protected:
  const std::vector<GenerateSetup>& setups() const { return options_.setups; }

  const GenerateSetup& setup(std::int64_t index) const {
    return options_.setups[static_cast<std::size_t>(index)];
  }

  // What an event of that choice says of it.
  std::optional<std::int64_t> told_index(std::int64_t index) const {
    return options_.is_batch ? std::optional(index) : std::nullopt;
  }

  double seconds() const {
    return std::chrono::duration<double>(clock_.now() - options_.received).count();
  }

 private:
  GenerateFormatOptions options_;
  const Clock& clock_;
};

// Events hold what is new.
class IncrementalGenerate final : public GenerateFormat {
 public:
  IncrementalGenerate(GenerateFormatOptions options, const Clock& clock)
      : GenerateFormat(std::move(options), clock), states_(setups().size()) {}

  std::optional<Json> prompt(std::int64_t index, std::vector<TokenText> tokens) override {
    state(index).prompt = std::move(tokens);  // they come with the first token
    return std::nullopt;
  }

  std::vector<Json> delta(const ChoiceDelta& delta) override {
    if (setup(delta.index).is_empty) {
      return {};
    }
    State& choice = state(delta.index);
    choice.num_tokens += std::ssize(delta.tokens);
    return {event(delta.index,
                  {delta.text, delta.tokens, std::exchange(choice.prompt, {}), choice.num_tokens},
                  nullptr)};
  }

  std::vector<Json> end(const ChoiceEnd& end) override {
    GenerateOutput out{
        "", {}, std::exchange(state(end.index).prompt, {}), end.usage.completion_tokens};
    if (!setup(end.index).is_empty) {
      append_silent_tokens(end, &out.tokens);
    }
    return {event(end.index, out, &end)};
  }

 private:
  // Of a choice.
  struct State {
    std::vector<TokenText> prompt;  // until it is told
    std::int64_t num_tokens = 0;
  };

  State& state(std::int64_t index) { return states_[static_cast<std::size_t>(index)]; }

  Json event(std::int64_t index, const GenerateOutput& output, const ChoiceEnd* end) const {
    Json object = generate_object(setup(index), output, end, seconds());
    if (const std::optional<std::int64_t> told = told_index(index)) {
      object.as_object().append("index", *told);
    }
    return object;
  }

  std::vector<State> states_;
};

// Events hold all that there is.
class CumulativeGenerate final : public GenerateFormat {
 public:
  CumulativeGenerate(GenerateFormatOptions options, const Clock& clock)
      : GenerateFormat(std::move(options), clock) {
    for (const GenerateSetup& one : setups()) {
      states_.push_back({GenerateText(one)});
    }
  }

  bool is_cumulative() const override { return true; }

  std::optional<Json> prompt(std::int64_t index, std::vector<TokenText> tokens) override {
    state(index).text.add_prompt(tokens);
    return std::nullopt;
  }

  std::vector<Json> delta(const ChoiceDelta& delta) override {
    if (!setup(delta.index).is_empty) {
      State& choice = state(delta.index);
      choice.text.add(delta.text, delta.tokens);
      choice.num_tokens += std::ssize(delta.tokens);
    }
    return {};
  }

  std::vector<Json> end(const ChoiceEnd& end) override {
    State& choice = state(end.index);
    if (!setup(end.index).is_empty) {
      std::vector<TokenText> last;
      append_silent_tokens(end, &last);
      choice.text.add("", last);
    }
    choice.num_tokens = end.usage.completion_tokens;
    choice.end = end;
    return {};
  }

  std::string newest(std::int64_t index) override {
    const State& choice = state(index);
    if (setup(index).is_empty && !choice.end) {
      return {};
    }
    return choice.text.object(choice.num_tokens, choice.end ? &*choice.end : nullptr, seconds(),
                              told_index(index));
  }

 private:
  // Of a choice.
  struct State {
    GenerateText text;
    std::int64_t num_tokens = 0;
    std::optional<ChoiceEnd> end{};
  };

  State& state(std::int64_t index) { return states_[static_cast<std::size_t>(index)]; }

  std::vector<State> states_;
};

}  // namespace

std::unique_ptr<ResponseFormat> make_generate_format(GenerateFormatOptions options,
                                                     const Clock& clock) {
  if (options.is_incremental) {
    return std::make_unique<IncrementalGenerate>(std::move(options), clock);
  }
  return std::make_unique<CumulativeGenerate>(std::move(options), clock);
}

}  // namespace plumb
