// SPDX-License-Identifier: Apache-2.0
#include "api/llamacpp_request.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"

namespace plumb {
namespace {

constexpr double kMostHeat = 1e6;
constexpr double kMostBias = 100;
// What llama.cpp's clients send for "any seed": -1, as an unsigned number of 32 bits.
constexpr std::int64_t kAnySeed = 4'294'967'295;
constexpr const char* kPromptForms =
    "a string, an array of token ids and strings, or an array of such prompts";
constexpr const char* kBiasForms =
    "an array of [token id or text, bias] or an object {\"token id or text\": bias}, each bias a "
    "number or false";

// What Completions reads under the same name.
constexpr const char* kSameFields[] = {"model",
                                       "top_k",
                                       "top_p",
                                       "min_p",
                                       "repeat_penalty",
                                       "presence_penalty",
                                       "frequency_penalty",
                                       "stop",
                                       "stream",
                                       "ignore_eos",
                                       "json_schema",
                                       "typical_p",
                                       "xtc_probability",
                                       "dry_multiplier",
                                       "mirostat",
                                       "dynatemp_range",
                                       "samplers",
                                       "return_progress",
                                       "timings_per_token",
                                       "post_sampling_probs",
                                       "priority",
                                       "cache_salt",
                                       "routing_key",
                                       "timeout_ms",
                                       "queue_timeout_ms"};

// Parameters of what is switched off, and of how llama.cpp keeps prompts.
constexpr const char* kIdleFields[] = {"n_keep",
                                       "n_discard",
                                       "mirostat_tau",
                                       "mirostat_eta",
                                       "dynatemp_exponent",
                                       "xtc_threshold",
                                       "dry_base",
                                       "dry_allowed_length",
                                       "dry_penalty_last_n",
                                       "dry_sequence_breakers"};

// Offered with one value only, which changes nothing.
struct OnlyValue {
  const char* name;
  double value;
};

constexpr OnlyValue kOnlyValues[] = {
    {"min_keep", 0}, {"n_indent", 0}, {"t_max_predict_ms", 0}, {"top_n_sigma", -1}, {"n_cmpl", 1}};

bool is_token_id(const Json& item, TokenId* id) {
  std::int64_t value = 0;
  if (!item.to_int64(&value) || value < 0 || value > std::numeric_limits<TokenId>::max()) {
    return false;
  }
  *id = static_cast<TokenId>(value);
  return true;
}

bool is_all_strings(const JsonArray& items) {
  return std::all_of(items.begin(), items.end(), [](const Json& item) { return item.is_string(); });
}

bool has_array(const JsonArray& items) {
  return std::any_of(items.begin(), items.end(), [](const Json& item) { return item.is_array(); });
}

// Token ids and strings in any order; neighbouring ids are one part.
bool read_prompt_parts(const JsonArray& items, std::vector<Prompt>* parts) {
  for (const Json& item : items) {
    if (item.is_string()) {
      parts->emplace_back(item.as_string());
      continue;
    }
    TokenId id = 0;
    if (!is_token_id(item, &id)) {
      return false;
    }
    if (parts->empty() || std::holds_alternative<std::string>(parts->back())) {
      parts->emplace_back(std::vector<TokenId>());
    }
    std::get<std::vector<TokenId>>(parts->back()).push_back(id);
  }
  return !parts->empty();
}

bool read_llamacpp_prompt(const Json& item, std::vector<Prompt>* parts) {
  if (item.is_string()) {
    parts->emplace_back(item.as_string());
    return true;
  }
  return item.is_array() && read_prompt_parts(item.as_array(), parts);
}

void read_llamacpp_prompts(FieldReader& fields, const ApiLimits& limits, LlamaCppRequest* request) {
  const Json* given = fields.find("prompt");
  if (given == nullptr) {
    fields.fail(ApiError::missing("prompt"));
    return;
  }
  const bool is_list = given->is_array() && !given->as_array().empty() &&
                       (has_array(given->as_array()) || is_all_strings(given->as_array()));
  if (!is_list) {
    const JsonArray* items =
        given->is_array() ? fields.array("prompt", limits.max_token_ids) : nullptr;
    if (fields.ok() && (items != nullptr && items->empty())) {
      fields.fail(ApiError::invalid("invalid_value", "prompt", "'prompt' is an empty array"));
    } else if (fields.ok() && !read_llamacpp_prompt(*given, &request->prompts.emplace_back())) {
      fields.fail(ApiError::wrong_type("prompt", kPromptForms));
    }
    return;
  }
  const JsonArray* items = fields.array("prompt", limits.max_prompts);
  for (const Json& item : items == nullptr ? JsonArray() : *items) {
    if (!read_llamacpp_prompt(item, &request->prompts.emplace_back())) {
      fields.fail(ApiError::wrong_type("prompt", kPromptForms));
      return;
    }
  }
}

// A number, or false for "never".
bool read_bias(FieldReader& fields, const Json& value, std::optional<float>* bias) {
  if (value.is_bool() && !value.as_bool()) {
    bias->reset();
    return true;
  }
  if (!value.is_number()) {
    fields.fail(ApiError::wrong_type("logit_bias", kBiasForms));
    return false;
  }
  const double number = value.as_double();
  if (!(number >= -kMostBias && number <= kMostBias)) {
    fields.fail(ApiError::invalid("invalid_value", "logit_bias",
                                  "'logit_bias' has the bias " + to_text(value) +
                                      ", expected a number from -100 to 100, or false"));
    return false;
  }
  *bias = static_cast<float>(number);
  return true;
}

void add_id_bias(TokenId id, std::optional<float> bias, GenerationParams* params) {
  if (bias.has_value()) {
    params->sampling.logit_bias.emplace_back(id, *bias);
  } else {
    params->bad_words.emplace_back(std::vector<TokenId>{id});
  }
}

// Of one token, or of those of a text.
bool add_bias(FieldReader& fields, const Json& what, const Json& value, const ApiLimits& limits,
              LlamaCppRequest* request) {
  std::optional<float> bias;
  if (!read_bias(fields, value, &bias)) {
    return false;
  }
  TokenId id = 0;
  if (is_token_id(what, &id)) {
    add_id_bias(id, bias, &request->completion.generation);
    return true;
  }
  if (!what.is_string()) {
    fields.fail(ApiError::wrong_type("logit_bias", kBiasForms));
    return false;
  }
  const std::int64_t num_bytes = std::ssize(what.as_string());
  if (num_bytes == 0 || num_bytes > limits.max_stop_bytes) {
    fields.fail(ApiError::invalid("invalid_value", "logit_bias",
                                  "'logit_bias' names a text of " + std::to_string(num_bytes) +
                                      " bytes, expected 1 to " +
                                      std::to_string(limits.max_stop_bytes)));
    return false;
  }
  request->text_biases.push_back({what.as_string(), bias});
  return true;
}

void read_pairs(FieldReader& fields, const JsonArray& pairs, const ApiLimits& limits,
                LlamaCppRequest* request) {
  for (const Json& pair : pairs) {
    if (!pair.is_array() || pair.as_array().size() != 2) {
      fields.fail(ApiError::wrong_type("logit_bias", kBiasForms));
      return;
    }
    if (!add_bias(fields, pair.as_array()[0], pair.as_array()[1], limits, request)) {
      return;
    }
  }
}

void read_members(FieldReader& fields, const JsonObject& members, const ApiLimits& limits,
                  LlamaCppRequest* request) {
  for (const JsonMember& member : members) {
    std::int64_t id = 0;
    const Json what = parse_int64(member.key, &id) ? Json(id) : Json(member.key);
    if (!add_bias(fields, what, member.value, limits, request)) {
      return;
    }
  }
}

void read_biases(FieldReader& fields, const ApiLimits& limits, LlamaCppRequest* request) {
  const Json* given = fields.find("logit_bias");
  if (given == nullptr) {
    return;
  }
  if (!given->is_array() && !given->is_object()) {
    fields.fail(ApiError::wrong_type("logit_bias", kBiasForms));
    return;
  }
  const std::size_t count =
      given->is_array() ? given->as_array().size() : given->as_object().size();
  if (static_cast<std::int64_t>(count) > limits.max_logit_bias) {
    fields.fail(ApiError::invalid("invalid_value", "logit_bias",
                                  "'logit_bias' has " + std::to_string(count) +
                                      " entries, expected at most " +
                                      std::to_string(limits.max_logit_bias)));
  } else if (given->is_array()) {
    read_pairs(fields, given->as_array(), limits, request);
  } else {
    read_members(fields, given->as_object(), limits, request);
  }
}

// Penalties look at the whole prompt and answer, or are switched off.
void read_penalty_span(FieldReader& fields, SamplingParams* sampling) {
  constexpr std::int64_t kWhole = -1;
  const std::int64_t last_n = fields.integer("repeat_last_n", kWhole, kMostTokens).value_or(kWhole);
  const bool has_penalty = sampling->repetition_penalty != 1 || sampling->presence_penalty != 0 ||
                           sampling->frequency_penalty != 0;
  if (last_n == 0) {
    sampling->repetition_penalty = 1;
    sampling->presence_penalty = 0;
    sampling->frequency_penalty = 0;
  } else if (last_n != kWhole && has_penalty) {
    fields.fail(ApiError::unsupported(
        "repeat_last_n",
        "penalties look at the whole prompt and answer; send -1, 0 for none, or no penalty"));
  }
}

void read_llamacpp_length(FieldReader& fields, LlamaCppRequest* request) {
  const auto other_name = fields.integer("max_tokens", -1, kMostTokens);
  const std::int64_t predict =
      fields.integer("n_predict", -1, kMostTokens).value_or(other_name.value_or(-1));
  GenerationParams& params = request->completion.generation;
  request->is_empty = predict == 0;
  params.sampling.max_tokens = predict < 0 ? 0 : std::max<std::int64_t>(predict, 1);
  params.clamps_max_tokens = true;
}

void read_llamacpp_seed(FieldReader& fields, GenerationParams* params) {
  const auto seed = fields.integer("seed", std::numeric_limits<std::int64_t>::min(),
                                   std::numeric_limits<std::int64_t>::max());
  if (seed && *seed != -1 && *seed != kAnySeed) {
    params->has_seed = true;
    params->sampling.seed = static_cast<std::uint64_t>(*seed);
  }
}

void refuse_other_values(FieldReader& fields) {
  for (const OnlyValue& only : kOnlyValues) {
    const Json* value = fields.find(only.name);
    if (value != nullptr && !(value->is_number() && value->as_double() == only.value)) {
      fields.fail(ApiError::unsupported(only.name,
                                        "this server offers only " +
                                            std::to_string(static_cast<std::int64_t>(only.value)) +
                                            ", which changes nothing"));
    }
  }
  for (const char* name : {"image_data", "lora"}) {
    const Json* value = fields.find(name);
    if (value != nullptr && !(value->is_array() && value->as_array().empty())) {
      fields.fail(ApiError::unsupported(name, "this server does not offer it"));
    }
  }
}

// The part that Completions has too, under the same names.
GenerationParams read_same_fields(FieldReader& fields, const SamplingDefaults& defaults,
                                  const ApiLimits& limits) {
  JsonObject same;
  for (const char* name : kSameFields) {
    if (const Json* value = fields.find(name)) {
      same.set(name, *value);
    }
  }
  const Json* grammar = fields.find("grammar");
  if (grammar != nullptr && *grammar != Json("")) {  // an empty one is none
    same.set("grammar", *grammar);
  }
  FieldReader reader(same);
  GenerationParams params = read_generation_params(reader, defaults, limits);
  fields.absorb(reader);
  return params;
}

}  // namespace

std::variant<LlamaCppRequest, ApiError> read_llamacpp_request(const Json& body,
                                                              const SamplingDefaults& defaults,
                                                              const ApiLimits& limits) {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  LlamaCppRequest request;
  read_llamacpp_prompts(fields, limits, &request);
  GenerationParams& params = request.completion.generation;
  params = read_same_fields(fields, defaults, limits);
  params.sampling.temperature =
      fields.number("temperature", 0, kMostHeat).value_or(defaults.temperature);
  read_llamacpp_length(fields, &request);
  read_llamacpp_seed(fields, &params);
  read_penalty_span(fields, &params.sampling);
  read_biases(fields, limits, &request);
  const std::int64_t num_probs = fields.integer("n_probs", 0, limits.max_logprobs).value_or(0);
  params.sampling.logprobs = num_probs > 0;
  params.sampling.top_logprobs = static_cast<int>(num_probs);
  params.return_meta_info = true;  // the settings name the seed
  request.return_tokens = fields.boolean("return_tokens").value_or(false);
  fields.boolean("cache_prompt");
  for (const char* name : kIdleFields) {
    fields.find(name);
  }
  refuse_other_values(fields);
  if (!fields.ok()) {
    return *fields.error();
  }
  request.completion.ignored_fields = fields.ignored();
  return request;
}

}  // namespace plumb
