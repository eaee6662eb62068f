// SPDX-License-Identifier: Apache-2.0
#include "api/generation_params.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "api/extension_fields.h"
#include "base/text.h"
#include "request/request.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<std::int64_t>::max();
constexpr double kMaxTemperature = 2.0;
constexpr std::int64_t kRandomSeed = -1;  // what clients of other servers send for "none"

void read_sampling(FieldReader& fields, const SamplingDefaults& defaults,
                   SamplingParams* sampling) {
  sampling->temperature =
      fields.number("temperature", 0, kMaxTemperature).value_or(defaults.temperature);
  sampling->top_p = fields.number("top_p", 0, 1).value_or(defaults.top_p);
  if (sampling->top_p == 0) {  // the smallest nucleus is the most likely token
    sampling->top_p = 1.0;
    sampling->temperature = 0.0;
  }
  sampling->top_k = fields.integer("top_k", -1, kMaxInt).value_or(defaults.top_k);
  sampling->min_p = fields.number("min_p", 0, 1).value_or(defaults.min_p);
  sampling->presence_penalty = fields.number("presence_penalty", -2, 2).value_or(0);
  sampling->frequency_penalty = fields.number("frequency_penalty", -2, 2).value_or(0);
  const std::optional<double> llama_name = fields.number("repeat_penalty", 0, 2);
  sampling->repetition_penalty = fields.number("repetition_penalty", 0, 2)
                                     .value_or(llama_name.value_or(defaults.repetition_penalty));
  sampling->min_tokens = fields.integer("min_tokens", 0, kMaxInt).value_or(0);
  sampling->ignore_eos = fields.boolean("ignore_eos").value_or(false);
}

void read_token_ids(FieldReader& fields, const char* name, std::int64_t max_items,
                    std::vector<TokenId>* out) {
  const JsonArray* items = fields.array(name, max_items);
  if (items == nullptr) {
    return;
  }
  for (const Json& item : *items) {
    std::int64_t id = 0;
    if (!item.to_int64(&id) || id < 0 || id > std::numeric_limits<TokenId>::max()) {
      fields.fail(ApiError::wrong_type(fields.path(name), "an array of token ids"));
      return;
    }
    out->push_back(static_cast<TokenId>(id));
  }
}

void read_logit_bias(FieldReader& fields, const ApiLimits& limits, SamplingParams* sampling) {
  const JsonObject* bias = fields.object("logit_bias");
  if (bias == nullptr) {
    return;
  }
  const std::string path = fields.path("logit_bias");
  if (static_cast<std::int64_t>(bias->size()) > limits.max_logit_bias) {
    fields.fail(ApiError::invalid("invalid_value", path,
                                  "'" + path + "' has " + std::to_string(bias->size()) +
                                      " entries, expected at most " +
                                      std::to_string(limits.max_logit_bias)));
    return;
  }
  for (const JsonMember& member : *bias) {
    std::int64_t id = 0;
    if (!parse_int64(member.key, &id) || id < 0 || id > std::numeric_limits<TokenId>::max()) {
      fields.fail(ApiError::invalid(
          "invalid_value", path,
          "'" + path + "' has the key '" + member.key.substr(0, 32) + "', expected a token id"));
      return;
    }
    if (!member.value.is_number() ||
        !(member.value.as_double() >= -100 && member.value.as_double() <= 100)) {
      fields.fail(ApiError::invalid(
          "invalid_value", path,
          "'" + path + "' of token " + std::to_string(id) + " must be a number from -100 to 100"));
      return;
    }
    sampling->logit_bias.emplace_back(static_cast<TokenId>(id),
                                      static_cast<float>(member.value.as_double()));
  }
}

void add_stop(FieldReader& fields, const char* name, const Json& item, const ApiLimits& limits,
              std::vector<std::string>* stops) {
  if (!item.is_string()) {
    fields.fail(ApiError::wrong_type(fields.path(name), "a string or an array of strings"));
    return;
  }
  const std::string& text = item.as_string();
  if (static_cast<std::int64_t>(text.size()) > limits.max_stop_bytes) {
    fields.fail(ApiError::invalid("invalid_value", fields.path(name),
                                  "a stop string has " + std::to_string(text.size()) +
                                      " bytes, expected at most " +
                                      std::to_string(limits.max_stop_bytes)));
    return;
  }
  if (!text.empty()) {
    stops->push_back(text);
  }
}

void read_stops(FieldReader& fields, const ApiLimits& limits, GenerationParams* params) {
  read_stop_strings(fields, "stop", limits, &params->stops);
  read_token_ids(fields, "stop_token_ids", limits.max_stop_token_ids,
                 &params->sampling.stop_token_ids);
  const bool keep = fields.boolean("include_stop_str_in_output").value_or(false);
  params->include_stop_str = fields.boolean("no_stop_trim").value_or(false) || keep;
}

void read_stream(FieldReader& fields, GenerationParams* params) {
  params->stream = fields.boolean("stream").value_or(false);
  const JsonObject* options = fields.object("stream_options");
  if (options == nullptr) {
    return;
  }
  if (!params->stream) {
    fields.fail(ApiError::invalid("invalid_value", fields.path("stream_options"),
                                  "'stream_options' is only allowed when 'stream' is true"));
    return;
  }
  FieldReader inner(*options, fields.path("stream_options"));
  params->include_usage = inner.boolean("include_usage").value_or(false);
  params->continuous_usage = inner.boolean("continuous_usage_stats").value_or(false);
  inner.boolean("include_obfuscation");
  fields.absorb(inner);
}

// A token has at least one byte, so no choice gives more tokens than its bytes.
void check_min_tokens(FieldReader& fields, const GenerationParams& params) {
  if (params.constraint.kind != ConstraintSpec::Kind::kChoice) {
    return;
  }
  std::int64_t longest = 0;
  for (const std::string& choice : params.constraint.choices) {
    longest = std::max(longest, std::ssize(choice));
  }
  if (params.sampling.min_tokens > longest) {
    fields.fail(ApiError::invalid(
        "invalid_value", fields.path("min_tokens"),
        "'" + fields.path("min_tokens") + "' is " + std::to_string(params.sampling.min_tokens) +
            ", but no text of '" + params.constraint.param + "' has more than " +
            std::to_string(longest) + " bytes, and a token has at least one"));
  }
}

// Stored nowhere, but held to the limits of the API.
void check_metadata(FieldReader& fields) {
  constexpr std::size_t kMaxPairs = 16;
  constexpr std::int64_t kMaxKey = 64;
  constexpr std::int64_t kMaxValue = 512;
  const JsonObject* metadata = fields.object("metadata");
  if (metadata == nullptr) {
    return;
  }
  const std::string path = fields.path("metadata");
  if (metadata->size() > kMaxPairs) {
    fields.fail(ApiError::invalid("invalid_value", path,
                                  "'" + path + "' has " + std::to_string(metadata->size()) +
                                      " pairs, expected at most " + std::to_string(kMaxPairs)));
  }
  for (const JsonMember& member : *metadata) {
    if (member.value.is_null()) {
      continue;
    }
    if (!member.value.is_string()) {
      fields.fail(ApiError::wrong_type(path, "an object of strings"));
      return;
    }
    const std::int64_t key = num_code_points(member.key);
    const std::int64_t value = num_code_points(member.value.as_string());
    if (key > kMaxKey || value > kMaxValue) {
      fields.fail(ApiError::invalid("invalid_value", path,
                                    "'" + path + "' holds a key of " + std::to_string(key) +
                                        " characters with a value of " + std::to_string(value) +
                                        ", expected at most 64 and 512"));
    }
  }
}

// Accepted without effect on the answer.
void accept_harmless(FieldReader& fields) {
  check_metadata(fields);
  for (const char* name :
       {"user", "store", "service_tier", "safety_identifier", "prompt_cache_key",
        "prompt_cache_retention", "prompt_cache_options", "moderation", "inference_geo",
        "container", "client_metadata", "access_programs", "speed", "diagnostics"}) {
    fields.find(name);
  }
  fields.choice("verbosity", {"low", "medium", "high"});
}

std::optional<std::chrono::milliseconds> read_timeout(FieldReader& fields, const char* name) {
  constexpr std::int64_t kDay = 86'400'000;
  const std::optional<std::int64_t> value = fields.integer(name, 1, kDay);
  return value.has_value() ? std::optional(std::chrono::milliseconds(*value)) : std::nullopt;
}

}  // namespace

void read_stop_strings(FieldReader& fields, const char* name, const ApiLimits& limits,
                       std::vector<std::string>* stops) {
  const Json* stop = fields.find(name);
  if (stop != nullptr && stop->is_array()) {
    for (const Json& item : stop->as_array()) {
      add_stop(fields, name, item, limits, stops);
    }
    if (std::ssize(*stops) > limits.max_stops) {
      fields.fail(
          ApiError::invalid("invalid_value", fields.path(name),
                            "'" + fields.path(name) + "' has " + std::to_string(stops->size()) +
                                " strings, expected at most " + std::to_string(limits.max_stops)));
    }
  } else if (stop != nullptr) {
    add_stop(fields, name, *stop, limits, stops);
  }
}

GenerationParams read_generation_params(FieldReader& fields, const SamplingDefaults& defaults,
                                        const ApiLimits& limits) {
  GenerationParams params;
  params.model = fields.text("model").value_or("");
  read_sampling(fields, defaults, &params.sampling);
  read_logit_bias(fields, limits, &params.sampling);
  read_token_ids(fields, "allowed_token_ids", limits.max_token_ids,
                 &params.sampling.allowed_token_ids);
  if (fields.has("allowed_token_ids") && params.sampling.allowed_token_ids.empty()) {
    fields.fail(ApiError::invalid("invalid_value", fields.path("allowed_token_ids"),
                                  "'allowed_token_ids' is empty, expected at least 1 token id"));
  }
  read_stops(fields, limits, &params);
  read_stream(fields, &params);
  params.n = fields.integer("n", 1, limits.max_n).value_or(1);
  const std::optional<std::int64_t> seed =
      fields.integer("seed", std::numeric_limits<std::int64_t>::min(), kMaxInt);
  if (seed && *seed != kRandomSeed) {
    params.has_seed = true;
    params.sampling.seed = static_cast<std::uint64_t>(*seed);
  }
  params.skip_special_tokens = fields.boolean("skip_special_tokens").value_or(true);
  params.return_token_ids = fields.boolean("return_token_ids").value_or(false);
  params.priority = fields.integer("priority", -kMaxPriority, kMaxPriority).value_or(0);
  const std::optional<std::string> salt = fields.text("cache_salt");
  params.cache_salt = salt.value_or("");
  if (salt.has_value() && salt->empty()) {
    fields.fail(ApiError::invalid("invalid_value", fields.path("cache_salt"),
                                  "'cache_salt' is empty, expected 1 to " +
                                      std::to_string(limits.max_cache_salt) + " characters"));
  }
  if (const std::int64_t size = num_code_points(params.cache_salt); size > limits.max_cache_salt) {
    fields.fail(ApiError::invalid("invalid_value", fields.path("cache_salt"),
                                  "'cache_salt' has " + std::to_string(size) +
                                      " characters, expected at most " +
                                      std::to_string(limits.max_cache_salt)));
  }
  params.routing_key = fields.text("routing_key").value_or("");
  if (static_cast<std::int64_t>(params.routing_key.size()) > limits.max_routing_key) {
    fields.fail(ApiError::invalid(
        "invalid_value", fields.path("routing_key"),
        "'" + fields.path("routing_key") + "' has " + std::to_string(params.routing_key.size()) +
            " bytes, expected at most " + std::to_string(limits.max_routing_key)));
  }
  params.timeout = read_timeout(fields, "timeout_ms");
  params.queue_timeout = read_timeout(fields, "queue_timeout_ms");
  read_extension_fields(fields, limits, &params);
  params.constraint = read_constraint(fields);
  check_min_tokens(fields, params);
  refuse_unsupported_fields(fields);
  accept_harmless(fields);
  return params;
}

}  // namespace plumb
