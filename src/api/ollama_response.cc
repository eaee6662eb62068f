// SPDX-License-Identifier: Apache-2.0
#include "api/ollama_response.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

namespace plumb {
namespace {

// Clients divide by durations, so none is zero where something happened.
std::int64_t nanoseconds_between(Clock::TimePoint begin, Clock::TimePoint end) {
  const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin);
  return std::max<std::int64_t>(time.count(), 1);
}

}  // namespace

Json ollama_call(const std::string& name, const std::string& arguments) {
  Result<Json> parsed = parse_json(arguments);
  Json object =
      parsed.ok() && parsed.value().is_object() ? std::move(parsed).value() : Json(JsonObject());
  return JsonObject{{"function", JsonObject{{"name", name}, {"arguments", std::move(object)}}}};
}

JsonObject OllamaResponse::open(const std::string& created_at, OllamaPiece piece) const {
  JsonObject out{{"model", model_}, {"created_at", created_at}};
  if (route_ == OllamaRoute::kChat) {
    JsonObject message{{"role", "assistant"}, {"content", std::move(piece.text)}};
    if (!piece.thinking.empty()) {
      message.append("thinking", std::move(piece.thinking));
    }
    if (!piece.calls.empty()) {
      message.append("tool_calls", std::move(piece.calls));
    }
    out.append("message", std::move(message));
  } else {
    out.append("response", std::move(piece.text));
    if (!piece.thinking.empty()) {
      out.append("thinking", std::move(piece.thinking));
    }
  }
  if (piece.tokens != nullptr) {
    out.append("logprobs",
               logprobs_to_json(*piece.tokens, {.with_bytes = false, .with_empty_top = false}));
  }
  return out;
}

Json OllamaResponse::part(const std::string& created_at, OllamaPiece piece) const {
  JsonObject out = open(created_at, std::move(piece));
  out.append("done", false);
  return out;
}

Json OllamaResponse::last(const std::string& created_at, OllamaPiece piece, const ChoiceEnd& end,
                          Clock::TimePoint received, const std::vector<TokenId>* context) const {
  const Timings& timings = end.timings;
  JsonObject out = open(created_at, std::move(piece));
  out.append("done", true);
  out.append("done_reason", end.reason == FinishReason::kLength ? "length" : "stop");
  out.append("total_duration", nanoseconds_between(received, timings.last_token));
  out.append("load_duration", 0);
  out.append("prompt_eval_count", end.usage.prompt_tokens);
  out.append("prompt_eval_duration", nanoseconds_between(timings.submitted, timings.first_token));
  out.append("eval_count", end.usage.completion_tokens);
  out.append("eval_duration", nanoseconds_between(timings.first_token, timings.last_token));
  if (context != nullptr) {
    out.append("context", JsonArray(context->begin(), context->end()));
  }
  return out;
}

Json OllamaResponse::loaded(const std::string& created_at, bool is_unload) const {
  JsonObject out = open(created_at, {});
  out.append("done", true);
  out.append("done_reason", is_unload ? "unload" : "load");
  return out;
}

std::string parameter_size(std::int64_t num_parameters) {
  struct Unit {
    double size;
    char name;
  };

  constexpr std::array<Unit, 3> kUnits{{{1e9, 'B'}, {1e6, 'M'}, {1e3, 'K'}}};
  const auto number = static_cast<double>(num_parameters);
  for (const Unit& unit : kUnits) {
    if (number >= unit.size) {
      std::array<char, 32> text{};
      std::snprintf(text.data(), text.size(), "%.1f%c", number / unit.size, unit.name);
      return text.data();
    }
  }
  return std::to_string(num_parameters);
}

}  // namespace plumb
