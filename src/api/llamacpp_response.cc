// SPDX-License-Identifier: Apache-2.0
#include "api/llamacpp_response.h"

#include <chrono>
#include <utility>

namespace plumb {
namespace {

JsonObject prob_entry(const TokenText& token) {
  JsonArray bytes;
  for (const char c : token.bytes) {
    bytes.emplace_back(static_cast<int>(static_cast<unsigned char>(c)));
  }
  return {{"id", token.token},
          {"token", token_label(token.bytes)},
          {"bytes", std::move(bytes)},
          {"logprob", logprob_to_json(token.logprob)}};
}

// The tokens with their log probabilities, and with those of the most likely ones in their places.
JsonArray probs_to_json(const std::vector<TokenText>& tokens) {
  JsonArray out;
  for (const TokenText& token : tokens) {
    JsonObject entry = prob_entry(token);
    JsonArray top;
    for (const TokenText& other : token.top) {
      top.emplace_back(prob_entry(other));
    }
    entry.append("top_logprobs", std::move(top));
    out.emplace_back(std::move(entry));
  }
  return out;
}

// Of an end by a token id, none of the words fits better.
const char* stop_type(const ChoiceEnd& end, bool is_empty) {
  if (is_empty || end.reason == FinishReason::kLength) {
    return "limit";
  }
  return end.matched_stop.empty() ? "eos" : "word";
}

double milliseconds_between(std::chrono::steady_clock::time_point begin,
                            std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

// "prompt_n", "prompt_ms" … of a stretch with so many tokens; rates of no time or no token are 0.
void add_stretch(const std::string& name, std::int64_t num_tokens, double milliseconds,
                 JsonObject* out) {
  const auto count = static_cast<double>(num_tokens);
  out->append(name + "_n", num_tokens);
  out->append(name + "_ms", milliseconds);
  out->append(name + "_per_token_ms", num_tokens > 0 ? milliseconds / count : 0.0);
  out->append(name + "_per_second", milliseconds > 0 ? 1e3 * count / milliseconds : 0.0);
}

Json timings_to_json(const ChoiceEnd& end, std::int64_t num_predicted) {
  const Timings& timings = end.timings;
  const Usage& usage = end.usage;
  JsonObject out{{"cache_n", usage.cached_tokens}};
  add_stretch("prompt", usage.prompt_tokens - usage.cached_tokens,
              milliseconds_between(timings.scheduled, timings.first_token), &out);
  add_stretch("predicted", num_predicted,
              milliseconds_between(timings.first_token, timings.last_token), &out);
  return out;
}

}  // namespace

JsonObject llamacpp_settings(const LlamaCppRequest& request) {
  const GenerationParams& params = request.completion.generation;
  const SamplingParams& sampling = params.sampling;
  const std::int64_t predict = sampling.max_tokens > 0 ? sampling.max_tokens : -1;
  JsonArray biases;
  for (const auto& [token, bias] : sampling.logit_bias) {
    biases.emplace_back(JsonObject{{"token", token}, {"bias", static_cast<double>(bias)}});
  }
  const bool has_grammar = params.constraint.kind == ConstraintSpec::Kind::kGrammar;
  return {{"n_predict", request.is_empty ? 0 : predict},
          {"seed", sampling.seed},
          {"temperature", sampling.temperature},
          {"top_k", sampling.top_k},
          {"top_p", sampling.top_p},
          {"min_p", sampling.min_p},
          {"repeat_penalty", sampling.repetition_penalty},
          {"repeat_last_n", -1},
          {"presence_penalty", sampling.presence_penalty},
          {"frequency_penalty", sampling.frequency_penalty},
          {"stop", JsonArray(params.stops.begin(), params.stops.end())},
          {"ignore_eos", sampling.ignore_eos},
          {"stream", params.stream},
          {"n_probs", sampling.top_logprobs},
          {"logit_bias", std::move(biases)},
          {"grammar", has_grammar ? params.constraint.text : ""}};
}

Json llamacpp_part(const LlamaCppSetup& setup, const LlamaCppPiece& piece, const Usage& so_far) {
  JsonObject out{{"index", piece.index},
                 {"content", piece.text},
                 {"tokens", token_ids_to_json(piece.tokens)},
                 {"stop", false},
                 {"tokens_predicted", so_far.completion_tokens},
                 {"tokens_evaluated", so_far.prompt_tokens}};
  if (setup.include_probs) {
    out.append("completion_probabilities", probs_to_json(piece.tokens));
  }
  return out;
}

Json llamacpp_last(const LlamaCppSetup& setup, const LlamaCppPiece& piece, const ChoiceEnd& end) {
  const std::int64_t num_predicted = setup.is_empty ? 0 : end.usage.completion_tokens;
  JsonObject out{
      {"index", piece.index},
      {"content", piece.text},
      {"tokens", setup.return_tokens ? token_ids_to_json(piece.tokens) : Json(JsonArray())},
      {"stop", true},
      {"model", setup.model},
      {"tokens_predicted", num_predicted},
      {"tokens_evaluated", end.usage.prompt_tokens},
      {"generation_settings", setup.settings},
      {"truncated", false},
      {"stop_type", stop_type(end, setup.is_empty)},
      {"stopping_word", setup.is_empty ? "" : end.matched_stop},
      {"tokens_cached", end.usage.cached_tokens},
      {"timings", timings_to_json(end, num_predicted)}};
  if (setup.include_probs && !setup.stream) {
    out.append("completion_probabilities", probs_to_json(piece.tokens));
  }
  return out;
}

}  // namespace plumb
