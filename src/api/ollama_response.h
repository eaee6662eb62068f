// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/choice.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/token_id.h"

namespace plumb {

/// Which of Ollama's two routes answers: their objects differ.
enum class OllamaRoute : unsigned char { kChat, kGenerate };

/// What one object says of an answer.
struct OllamaPiece {
  std::string text{};
  std::string thinking{};
  JsonArray calls{};                               ///< as ollama_call() makes them
  const std::vector<TokenText>* tokens = nullptr;  ///< null: no log probabilities
};

/// {"function":{"name","arguments":{…}}}; the arguments are the text of one object.
Json ollama_call(const std::string& name, const std::string& arguments);

/// Turns an answer into the objects of Ollama's API, in a stream one a line.
/// Thread: any single one.
class OllamaResponse {
 public:
  /// `model` as the client named it.
  OllamaResponse(OllamaRoute route, std::string model) : route_(route), model_(std::move(model)) {}

  /// An object that is not the last one. `created_at` is a time in RFC 3339.
  Json part(const std::string& created_at, OllamaPiece piece) const;

  /// The last object. `context`: what goes back with the next request, may be null.
  Json last(const std::string& created_at, OllamaPiece piece, const ChoiceEnd& end,
            Clock::TimePoint received, const std::vector<TokenId>* context) const;

  /// The only object where there was nothing to answer.
  Json loaded(const std::string& created_at, bool is_unload) const;

 private:
  JsonObject open(const std::string& created_at, OllamaPiece piece) const;

  OllamaRoute route_;
  std::string model_;
};

/// "8.0B", "134.5M": a number of parameters.
std::string parameter_size(std::int64_t num_parameters);

}  // namespace plumb
