// SPDX-License-Identifier: Apache-2.0
#include "api/generate_response.h"

#include <chrono>
#include <span>
#include <utility>

namespace plumb {
namespace {

Json finish_reason_json(const ChoiceEnd& end, bool is_empty, std::int64_t num_tokens) {
  if (is_empty || end.reason == FinishReason::kLength) {
    return JsonObject{{"type", "length"}, {"length", num_tokens}};
  }
  Json matched;
  if (!end.matched_stop.empty()) {
    matched = end.matched_stop;
  } else if (end.last_token) {
    matched = end.last_token->token;
  } else if (end.matched_token >= 0) {
    matched = end.matched_token;
  }
  return JsonObject{{"type", "stop"}, {"matched", std::move(matched)}};
}

// [logprob, id, text or null]; the first token of a prompt has no log probability.
Json triple(const TokenText& token, bool with_text, bool has_logprob = true) {
  return JsonArray{has_logprob ? logprob_to_json(token.logprob) : Json(), token.token,
                   with_text ? Json(token_label(token.bytes)) : Json()};
}

JsonArray triples(std::span<const TokenText> tokens, bool with_text, bool first_has_none) {
  JsonArray out;
  for (const TokenText& token : tokens) {
    out.push_back(triple(token, with_text, !(first_has_none && out.empty())));
  }
  return out;
}

JsonArray tops(std::span<const TokenText> tokens, bool with_text, bool first_has_none) {
  JsonArray out;
  for (const TokenText& token : tokens) {
    JsonArray entries;
    for (const TokenText& top : token.top) {
      entries.push_back(triple(top, with_text));
    }
    out.emplace_back(first_has_none && out.empty() ? Json() : Json(std::move(entries)));
  }
  return out;
}

void add_logprobs(const GenerateSetup& setup, const GenerateOutput& output, JsonObject* meta) {
  if (!setup.include_logprobs) {
    return;
  }
  std::span<const TokenText> input;
  const bool is_whole = setup.logprob_start == 0;
  if (setup.logprob_start && *setup.logprob_start < std::ssize(output.prompt)) {
    input = std::span(output.prompt).subspan(static_cast<std::size_t>(*setup.logprob_start));
  }
  const bool with_text = setup.text_in_logprobs;
  meta->append("input_token_logprobs", triples(input, with_text, is_whole));
  meta->append("output_token_logprobs", triples(output.tokens, with_text, false));
  if (setup.include_top) {
    meta->append("input_top_logprobs", tops(input, with_text, is_whole));
    meta->append("output_top_logprobs", tops(output.tokens, with_text, false));
  }
}

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

Json generate_object(const GenerateSetup& setup, const GenerateOutput& output, const ChoiceEnd* end,
                     double seconds) {
  const std::int64_t num_tokens = setup.is_empty ? 0 : output.num_tokens;
  JsonObject meta{{"id", setup.rid},
                  {"finish_reason",
                   end == nullptr ? Json() : finish_reason_json(*end, setup.is_empty, num_tokens)},
                  {"prompt_tokens", setup.prompt_tokens},
                  {"completion_tokens", num_tokens}};
  if (end != nullptr) {
    meta.append("cached_tokens", end->usage.cached_tokens);
    meta.append("reasoning_tokens", end->usage.reasoning_tokens);
  }
  meta.append("e2e_latency", seconds);
  meta.append("weight_version", setup.weight_version);
  add_logprobs(setup, output, &meta);
  if (end != nullptr) {
    const Timings& timings = end->timings;
    meta.append("queue_time", seconds_between(timings.submitted, timings.scheduled));
    meta.append("prefill_time", seconds_between(timings.scheduled, timings.first_token));
  }
  return JsonObject{{"text", output.text},
                    {"output_ids", token_ids_to_json(output.tokens)},
                    {"meta_info", std::move(meta)}};
}

}  // namespace plumb
