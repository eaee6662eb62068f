// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate_format.h"

#include <iterator>
#include <optional>
#include <utility>

namespace plumb {
namespace {

class GenerateFormat final : public ResponseFormat {
 public:
  GenerateFormat(GenerateFormatOptions options, const Clock& clock)
      : options_(std::move(options)), clock_(clock), outputs_(options_.setups.size()) {}

  std::vector<Json> start(std::int64_t /*index*/) override { return {}; }

  std::optional<Json> prompt(std::int64_t index, std::vector<TokenText> tokens) override {
    output(index).prompt = std::move(tokens);  // they come with the first token
    return std::nullopt;
  }

  std::vector<Json> delta(const ChoiceDelta& delta) override {
    if (setup(delta.index).is_empty) {
      return {};
    }
    GenerateOutput& out = output(delta.index);
    if (options_.is_incremental) {
      out.text.clear();
      out.tokens.clear();
    }
    out.text += delta.text;
    out.tokens.insert(out.tokens.end(), delta.tokens.begin(), delta.tokens.end());
    out.num_tokens += std::ssize(delta.tokens);
    std::vector<Json> events{event(delta.index, nullptr)};
    if (options_.is_incremental) {
      out.prompt.clear();
    }
    return events;
  }

  std::vector<Json> end(const ChoiceEnd& end) override {
    GenerateOutput& out = output(end.index);
    if (options_.is_incremental) {
      out.text.clear();
      out.tokens.clear();
    }
    add_last(end, &out);
    return {event(end.index, &end)};
  }

  std::vector<Json> finish(const std::vector<ChoiceRecord>& /*choices*/) override { return {}; }

  Json complete(std::vector<ChoiceRecord> choices) override {
    JsonArray answers;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      ChoiceRecord& choice = choices[i];
      GenerateOutput out;
      out.prompt = std::move(choice.prompt);
      if (!options_.setups[i].is_empty) {
        out.text = text_of(choice.parts);
        out.tokens = std::move(choice.tokens);
      }
      add_last(*choice.end, &out);
      answers.push_back(generate_object(options_.setups[i], out, &*choice.end, seconds()));
    }
    return options_.is_batch ? Json(std::move(answers)) : std::move(answers.front());
  }

 private:
  const GenerateSetup& setup(std::int64_t index) const {
    return options_.setups[static_cast<std::size_t>(index)];
  }

  GenerateOutput& output(std::int64_t index) { return outputs_[static_cast<std::size_t>(index)]; }

  // The token that ended the text is one of the answer's, without a text.
  void add_last(const ChoiceEnd& end, GenerateOutput* out) const {
    if (end.last_token && !setup(end.index).is_empty) {
      out->tokens.push_back(*end.last_token);
    }
    out->num_tokens = end.usage.completion_tokens;
  }

  double seconds() const {
    return std::chrono::duration<double>(clock_.now() - options_.received).count();
  }

  Json event(std::int64_t index, const ChoiceEnd* end) {
    Json object = generate_object(setup(index), output(index), end, seconds());
    if (options_.is_batch) {
      object.as_object().append("index", index);
    }
    return object;
  }

  GenerateFormatOptions options_;
  const Clock& clock_;
  std::vector<GenerateOutput> outputs_;  // of the choices of a stream
};

}  // namespace

std::unique_ptr<ResponseFormat> make_generate_format(GenerateFormatOptions options,
                                                     const Clock& clock) {
  return std::make_unique<GenerateFormat>(std::move(options), clock);
}

}  // namespace plumb
