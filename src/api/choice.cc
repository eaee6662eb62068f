// SPDX-License-Identifier: Apache-2.0
#include "api/choice.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <utility>

#include "base/text.h"

namespace plumb {

std::string_view finish_reason_text(FinishReason reason) {
  PLUMB_CHECK(reason != FinishReason::kNone && reason != FinishReason::kAbort,
              "no finish reason of the API");
  switch (reason) {
    case FinishReason::kLength:
      return "length";
    case FinishReason::kToolCalls:
      return "tool_calls";
    default:
      return "stop";
  }
}

bool merge_delta(ChoiceDelta* delta, ChoiceDelta* next) {
  const bool is_late_reasoning =
      !next->reasoning.empty() && !(delta->text.empty() && delta->calls.empty());
  if (is_late_reasoning || (!next->text.empty() && !delta->calls.empty())) {
    return false;
  }
  delta->reasoning += next->reasoning;
  delta->text += next->text;
  for (ToolCallDelta& call : next->calls) {
    if (delta->calls.empty() || delta->calls.back().index != call.index) {
      delta->calls.push_back(std::move(call));
      continue;
    }
    delta->calls.back().arguments += call.arguments;
    delta->calls.back().has_ended = delta->calls.back().has_ended || call.has_ended;
    delta->calls.back().is_cut = delta->calls.back().is_cut || call.is_cut;
  }
  std::move(next->tokens.begin(), next->tokens.end(), std::back_inserter(delta->tokens));
  return true;
}

void append_delta(const ChoiceDelta& delta, std::vector<AnswerPart>* parts) {
  const auto append = [parts](AnswerKind kind, const std::string& text) {
    if (text.empty()) {
      return;
    }
    if (parts->empty() || parts->back().kind != kind) {
      parts->push_back({kind, ""});
    }
    parts->back().text += text;
  };
  append(AnswerKind::kReasoning, delta.reasoning);
  append(AnswerKind::kText, delta.text);
  for (const ToolCallDelta& call : delta.calls) {
    if (call.is_first()) {
      parts->push_back({AnswerKind::kCall, "", call.id, call.name});
    }
    PLUMB_CHECK(!parts->empty() && parts->back().kind == AnswerKind::kCall,
                "a delta of a call that has not begun");
    parts->back().text += call.arguments;
    parts->back().has_ended = parts->back().has_ended || call.has_ended;
  }
}

std::string text_of(const std::vector<AnswerPart>& parts, AnswerKind kind) {
  std::string text;
  for (const AnswerPart& part : parts) {
    text += part.kind == kind ? part.text : "";
  }
  return text;
}

Json stop_reason(const ChoiceEnd& end) {
  if (!end.matched_stop.empty()) {
    return end.matched_stop;
  }
  return end.matched_token >= 0 ? Json(end.matched_token) : Json();
}

std::string token_label(const std::string& bytes) {
  if (is_valid_utf8(bytes)) {
    return bytes;
  }
  std::string label;
  for (const char c : bytes) {
    std::array<char, 8> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "\\x%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(c)));
    label += buffer.data();
  }
  return label;
}

std::string token_name(const TokenText& token, bool as_id) {
  return as_id ? "token_id:" + std::to_string(token.token) : token_label(token.bytes);
}

Json token_ids_to_json(const std::vector<TokenText>& tokens) {
  JsonArray ids;
  for (const TokenText& token : tokens) {
    ids.emplace_back(token.token);
  }
  return ids;
}

void append_silent_tokens(const ChoiceEnd& end, std::vector<TokenText>* tokens) {
  tokens->insert(tokens->end(), end.cut_tokens.begin(), end.cut_tokens.end());
  if (end.last_token) {
    tokens->push_back(*end.last_token);
  }
}

Json counted_ids_to_json(std::vector<TokenText> tokens, const ChoiceEnd& end) {
  append_silent_tokens(end, &tokens);
  return token_ids_to_json(tokens);
}

Json prompt_logprobs_to_json(const std::vector<TokenText>& tokens) {
  JsonArray out;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i == 0) {
      out.emplace_back();
      continue;
    }
    JsonObject entry;
    const auto add = [&entry](const TokenText& token, std::int64_t rank) {
      entry.set(std::to_string(token.token),
                JsonObject{{"logprob", logprob_to_json(token.logprob)},
                           {"rank", rank},
                           {"decoded_token", token_label(token.bytes)}});
    };
    add(tokens[i], tokens[i].rank);
    std::int64_t rank = 0;
    for (const TokenText& top : tokens[i].top) {
      add(top, ++rank);
    }
    out.emplace_back(std::move(entry));
  }
  return out;
}

Usage sum_usage(const std::vector<ChoiceEnd>& ends, std::int64_t choices_per_prompt) {
  Usage sum;
  for (const ChoiceEnd& end : ends) {
    sum.completion_tokens += end.usage.completion_tokens;
    sum.reasoning_tokens += end.usage.reasoning_tokens;
    if (end.index % choices_per_prompt == 0) {
      sum.prompt_tokens += end.usage.prompt_tokens;
      sum.cached_tokens += end.usage.cached_tokens;
    }
  }
  return sum;
}

Json usage_to_json(const Usage& usage) {
  return JsonObject{
      {"prompt_tokens", usage.prompt_tokens},
      {"completion_tokens", usage.completion_tokens},
      {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
      {"prompt_tokens_details", JsonObject{{"cached_tokens", usage.cached_tokens}}},
      {"completion_tokens_details", JsonObject{{"reasoning_tokens", usage.reasoning_tokens},
                                               {"accepted_prediction_tokens", 0},
                                               {"rejected_prediction_tokens", 0}}},
  };
}

Json logprob_to_json(float logprob) {
  constexpr double kFloor = -9999.0;
  const double value = static_cast<double>(logprob);
  return std::isfinite(value) ? Json(std::max(value, kFloor)) : Json(kFloor);
}

namespace {

JsonObject logprob_entry(const TokenText& token, const LogprobStyle& style) {
  JsonObject entry{{"token", token_name(token, style.as_ids)},
                   {"logprob", logprob_to_json(token.logprob)}};
  if (style.with_bytes) {
    JsonArray bytes;
    for (const char c : token.bytes) {
      bytes.emplace_back(static_cast<int>(static_cast<unsigned char>(c)));
    }
    entry.append("bytes", std::move(bytes));
  }
  return entry;
}

}  // namespace

JsonArray logprobs_to_json(const std::vector<TokenText>& tokens, const LogprobStyle& style) {
  JsonArray out;
  for (const TokenText& token : tokens) {
    const bool is_listed = (style.with_text && token.kind == AnswerKind::kText) ||
                           (style.with_reasoning && token.kind == AnswerKind::kReasoning);
    if (!is_listed) {
      continue;
    }
    JsonObject entry = logprob_entry(token, style);
    JsonArray top;
    for (const TokenText& other : token.top) {
      top.emplace_back(logprob_entry(other, style));
    }
    if (style.with_empty_top || !top.empty()) {
      entry.append("top_logprobs", std::move(top));
    }
    out.emplace_back(std::move(entry));
  }
  return out;
}

}  // namespace plumb
