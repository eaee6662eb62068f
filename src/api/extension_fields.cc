// SPDX-License-Identifier: Apache-2.0
#include "api/extension_fields.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "api/ids.h"

namespace plumb {
namespace {

void fail_value(FieldReader& fields, std::string_view name, const std::string& what) {
  fields.fail(
      ApiError::invalid("invalid_value", fields.path(name), "'" + fields.path(name) + "' " + what));
}

bool read_id(const Json& item, TokenId* id) {
  std::int64_t value = 0;
  if (!item.to_int64(&value) || value < 0 || value > std::numeric_limits<TokenId>::max()) {
    return false;
  }
  *id = static_cast<TokenId>(value);
  return true;
}

// A text, or the ids of its tokens.
bool read_bad_word(FieldReader& fields, const Json& item, const ApiLimits& limits,
                   std::vector<BadWord>* words) {
  if (item.is_string()) {
    const std::int64_t num_bytes = std::ssize(item.as_string());
    if (num_bytes == 0 || num_bytes > limits.max_stop_bytes) {
      fail_value(fields, "bad_words",
                 "holds a string of " + std::to_string(num_bytes) + " bytes, expected 1 to " +
                     std::to_string(limits.max_stop_bytes));
      return false;
    }
    words->emplace_back(item.as_string());
    return true;
  }
  std::vector<TokenId> ids;
  const bool is_list =
      item.is_array() && !item.as_array().empty() &&
      std::ssize(item.as_array()) <= limits.max_bad_word_tokens &&
      std::all_of(item.as_array().begin(), item.as_array().end(),
                  [&ids](const Json& id) { return read_id(id, &ids.emplace_back()); });
  if (!is_list) {
    fields.fail(ApiError::wrong_type(
        fields.path("bad_words"), "an array of strings or of arrays of 1 to " +
                                      std::to_string(limits.max_bad_word_tokens) + " token ids"));
    return false;
  }
  words->emplace_back(std::move(ids));
  return true;
}

void read_bad_words(FieldReader& fields, const ApiLimits& limits, std::vector<BadWord>* words) {
  const JsonArray* items = fields.array("bad_words", limits.max_bad_words);
  if (items == nullptr) {
    return;
  }
  for (const Json& item : *items) {
    if (!read_bad_word(fields, item, limits, words)) {
      return;
    }
  }
}

// A pattern or an array of patterns; the front end compiles them.
void read_stop_regex(FieldReader& fields, const ApiLimits& limits,
                     std::vector<std::string>* patterns) {
  const Json* value = fields.find("stop_regex");
  if (value == nullptr) {
    return;
  }
  if (value->is_string()) {
    patterns->push_back(value->as_string());
    return;
  }
  const JsonArray* items = fields.array("stop_regex", limits.max_stops);
  for (const Json& item : items == nullptr ? JsonArray() : *items) {
    if (!item.is_string()) {
      fields.fail(
          ApiError::wrong_type(fields.path("stop_regex"), "a string or an array of strings"));
      return;
    }
    patterns->push_back(item.as_string());
  }
}

// "name" (with its parameters in custom_params), or {name, params}.
void read_processor(FieldReader& fields, const Json& item, const JsonObject* custom_params,
                    std::vector<LogitProcessorSpec>* processors) {
  const std::string path = fields.path("custom_logit_processor");
  if (item.is_string()) {
    processors->push_back(
        {item.as_string(), custom_params == nullptr ? JsonObject() : *custom_params});
    return;
  }
  if (!item.is_object()) {
    fields.fail(ApiError::wrong_type(path, "a name, {name, params} or an array of these"));
    return;
  }
  FieldReader inner(item.as_object(), path);
  const std::optional<std::string> name = inner.text("name");
  const JsonObject* params = inner.object("params");
  if (inner.ok() && !name) {
    inner.fail(ApiError::missing(inner.path("name")));
  }
  for (const std::string& unknown : inner.unread()) {
    inner.fail(ApiError::unsupported(inner.path(unknown.substr(0, 64)), "expected name, params"));
  }
  if (!inner.ok()) {
    fields.fail(*inner.error());
    return;
  }
  processors->push_back({*name, params == nullptr ? JsonObject() : *params});
}

void read_processors(FieldReader& fields, const ApiLimits& limits,
                     std::vector<LogitProcessorSpec>* processors) {
  const Json* value = fields.find("custom_logit_processor");
  const JsonObject* custom_params = fields.object("custom_params");
  if (value == nullptr) {
    if (custom_params != nullptr) {
      fail_value(fields, "custom_params", "needs 'custom_logit_processor'");
    }
    return;
  }
  if (!value->is_array()) {
    read_processor(fields, *value, custom_params, processors);
    return;
  }
  const JsonArray* items = fields.array("custom_logit_processor", limits.max_processors);
  for (const Json& item : items == nullptr ? JsonArray() : *items) {
    read_processor(fields, item, custom_params, processors);
  }
}

void read_thinking_budget(FieldReader& fields, GenerationParams* params) {
  const std::optional<std::int64_t> vllm_name =
      fields.integer("thinking_token_budget", 0, kMostTokens);
  const std::optional<std::int64_t> own_name = fields.integer("reasoning_budget", 0, kMostTokens);
  params->thinking_budget = own_name ? own_name : vllm_name;
  params->thinking_budget_field = own_name ? "reasoning_budget" : "thinking_token_budget";
}

void read_prompt_logprobs(FieldReader& fields, const ApiLimits& limits, GenerationParams* params) {
  const std::optional<std::int64_t> count =
      fields.integer("prompt_logprobs", 0, limits.max_logprobs);
  if (!count) {
    return;
  }
  if (params->stream) {
    fail_value(fields, "prompt_logprobs", "cannot be streamed");
  }
  params->return_prompt_logprobs = true;
  params->sampling.prompt_logprobs = true;
  params->sampling.prompt_top_logprobs = static_cast<int>(*count);
}

void read_request_id(FieldReader& fields, GenerationParams* params) {
  for (const char* name : {"request_id", "rid"}) {
    const std::optional<std::string> id = fields.text(name);
    if (id && !is_request_id(*id)) {
      fail_value(fields, name, "must be 1 to 128 of A-Z a-z 0-9 . _ : -");
    }
    params->request_id = id.value_or(params->request_id);
  }
}

// A field of which one value is what happens anyway.
struct DefaultOnly {
  const char* name;
  double value;
  bool is_bool = false;
};

bool is_value(const Json& field, double value) {
  if (field.is_bool()) {
    return field.as_bool() == (value != 0);
  }
  return field.is_number() && field.as_double() == value;
}

}  // namespace

void read_extension_fields(FieldReader& fields, const ApiLimits& limits, GenerationParams* params) {
  read_bad_words(fields, limits, &params->bad_words);
  read_stop_regex(fields, limits, &params->stop_regex);
  read_processors(fields, limits, &params->sampling.processors);
  read_thinking_budget(fields, params);
  read_prompt_logprobs(fields, limits, params);
  read_request_id(fields, params);
  params->sampling.joint_top_k_top_p = fields.boolean("joint_top_k_top_p").value_or(false);
  const std::string mode =
      fields.choice("logprobs_mode", {"raw", "processed", "raw_logprobs", "processed_logprobs"})
          .value_or("raw");
  if (mode.starts_with("processed")) {
    params->sampling.logprobs_mode = LogprobsMode::kProcessed;
  }
  params->stream_interval = fields.integer("stream_interval", 1, 1 << 20).value_or(1);
  params->truncate_prompt_tokens =
      fields.integer("truncate_prompt_tokens", 1, limits.max_token_ids);
  params->tokens_as_ids = fields.boolean("return_tokens_as_token_ids").value_or(false);
  params->return_meta_info = fields.boolean("return_meta_info").value_or(false);
  // Text is spelled by the bytes of its tokens: there is no blank to add or leave out.
  fields.boolean("spaces_between_special_tokens");
}

void refuse_unsupported_fields(FieldReader& fields) {
  constexpr const char* kRefused[] = {
      "audio",        "prediction",          "lora_path",          "samplers",
      "input_ids",    "background",          "logprob_token_ids",  "guided_decoding_backend",
      "input_embeds", "mm_processor_kwargs", "kv_transfer_params", "return_hidden_states"};
  for (const char* name : kRefused) {
    const Json* field = fields.find(name);
    if (field != nullptr && !is_value(*field, 0)) {
      fields.fail(ApiError::unsupported(fields.path(name), "this server does not offer it"));
    }
  }
  constexpr DefaultOnly kDefaultOnly[] = {{"typical_p", 1},
                                          {"xtc_probability", 0},
                                          {"dry_multiplier", 0},
                                          {"mirostat", 0},
                                          {"n_probs", 0},
                                          {"length_penalty", 1},
                                          {"dynatemp_range", 0},
                                          {"repeat_last_n", -1},
                                          {"use_beam_search", 0, true},
                                          {"return_progress", 0, true},
                                          {"timings_per_token", 0, true},
                                          {"post_sampling_probs", 0, true}};
  for (const DefaultOnly& only : kDefaultOnly) {
    const Json* field = fields.find(only.name);
    if (field != nullptr && !is_value(*field, only.value)) {
      const std::string value = only.is_bool
                                    ? to_text(Json(only.value != 0))
                                    : std::to_string(static_cast<std::int64_t>(only.value));
      fields.fail(ApiError::unsupported(
          fields.path(only.name), "this server offers only " + value + ", which changes nothing"));
    }
  }
  if (const JsonArray* modalities = fields.array("modalities", 8)) {
    for (const Json& modality : *modalities) {
      if (!modality.is_string() || modality.as_string() != "text") {
        fields.fail(ApiError::unsupported(fields.path("modalities"), "only 'text' is offered"));
      }
    }
  }
}

}  // namespace plumb
