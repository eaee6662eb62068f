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

Json tops_of(const TokenText& token, bool with_text) {
  JsonArray entries;
  for (const TokenText& top : token.top) {
    entries.push_back(triple(top, with_text));
  }
  return entries;
}

JsonArray tops(std::span<const TokenText> tokens, bool with_text, bool first_has_none) {
  JsonArray out;
  for (const TokenText& token : tokens) {
    out.push_back(first_has_none && out.empty() ? Json() : tops_of(token, with_text));
  }
  return out;
}

// The tokens of the prompt that are told.
std::span<const TokenText> told_input(const GenerateSetup& setup,
                                      const std::vector<TokenText>& prompt) {
  if (!setup.logprob_start || *setup.logprob_start >= std::ssize(prompt)) {
    return {};
  }
  return std::span(prompt).subspan(static_cast<std::size_t>(*setup.logprob_start));
}

void add_logprobs(const GenerateSetup& setup, const GenerateOutput& output, JsonObject* meta) {
  if (!setup.include_logprobs) {
    return;
  }
  const std::span<const TokenText> input = told_input(setup, output.prompt);
  const bool is_whole = setup.logprob_start == 0;
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

// What stands before the log probabilities.
JsonObject meta_head(const GenerateSetup& setup, std::int64_t num_tokens, const ChoiceEnd* end,
                     double seconds) {
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
  return meta;
}

// What stands behind them.
JsonObject meta_tail(const ChoiceEnd* end) {
  JsonObject meta;
  if (end != nullptr) {
    const Timings& timings = end->timings;
    meta.append("queue_time", seconds_between(timings.submitted, timings.scheduled));
    meta.append("prefill_time", seconds_between(timings.scheduled, timings.first_token));
  }
  return meta;
}

void append_item(std::string* list, const Json& item) {
  *list += list->empty() ? "" : ",";
  *list += to_text(item);
}

// The members without the braces.
std::string members_of(JsonObject object) {
  const std::string text = to_text(Json(std::move(object)));
  return text.substr(1, text.size() - 2);
}

}  // namespace

Json generate_object(const GenerateSetup& setup, const GenerateOutput& output, const ChoiceEnd* end,
                     double seconds) {
  const std::int64_t num_tokens = setup.is_empty ? 0 : output.num_tokens;
  JsonObject meta = meta_head(setup, num_tokens, end, seconds);
  add_logprobs(setup, output, &meta);
  for (JsonMember& member : meta_tail(end)) {
    meta.append(std::move(member.key), std::move(member.value));
  }
  return JsonObject{{"text", output.text},
                    {"output_ids", token_ids_to_json(output.tokens)},
                    {"meta_info", std::move(meta)}};
}

GenerateText::GenerateText(GenerateSetup setup) : setup_(std::move(setup)) {}

void GenerateText::add_prompt(const std::vector<TokenText>& tokens) {
  const std::span<const TokenText> input = told_input(setup_, tokens);
  const bool is_whole = setup_.logprob_start == 0;
  input_logprobs_ = to_text(triples(input, setup_.text_in_logprobs, is_whole));
  if (setup_.include_top) {
    input_tops_ = to_text(tops(input, setup_.text_in_logprobs, is_whole));
  }
}

void GenerateText::add(std::string_view text, const std::vector<TokenText>& tokens) {
  std::string quoted;
  append_json_string(&quoted, text);
  text_.append(quoted, 1, quoted.size() - 2);
  for (const TokenText& token : tokens) {
    append_item(&ids_, token.token);
    if (setup_.include_logprobs) {
      append_item(&logprobs_, triple(token, setup_.text_in_logprobs));
    }
    if (setup_.include_logprobs && setup_.include_top) {
      append_item(&tops_, tops_of(token, setup_.text_in_logprobs));
    }
  }
}

std::string GenerateText::object(std::int64_t num_tokens, const ChoiceEnd* end, double seconds,
                                 std::optional<std::int64_t> index) const {
  constexpr std::size_t kFrame = 512;  // about what the rest takes
  std::string out;
  out.reserve(text_.size() + input_logprobs_.size() + input_tops_.size() + ids_.size() +
              logprobs_.size() + tops_.size() + setup_.rid.size() + kFrame);
  out.append("{\"text\":\"").append(text_);
  out.append("\",\"output_ids\":[").append(ids_);
  out.append("],\"meta_info\":{");
  out += members_of(meta_head(setup_, setup_.is_empty ? 0 : num_tokens, end, seconds));
  if (setup_.include_logprobs) {
    out.append(",\"input_token_logprobs\":").append(input_logprobs_);
    out.append(",\"output_token_logprobs\":[").append(logprobs_).append("]");
  }
  if (setup_.include_logprobs && setup_.include_top) {
    out.append(",\"input_top_logprobs\":").append(input_tops_);
    out.append(",\"output_top_logprobs\":[").append(tops_).append("]");
  }
  if (end != nullptr) {
    out.append(",").append(members_of(meta_tail(end)));
  }
  out += "}";
  if (index) {
    out.append(",\"index\":").append(std::to_string(*index));
  }
  out += "}";
  return out;
}

}  // namespace plumb
