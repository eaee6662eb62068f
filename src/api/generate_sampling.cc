// SPDX-License-Identifier: Apache-2.0
#include "api/generate_sampling.h"

#include <limits>

namespace plumb {
namespace {

constexpr std::int64_t kDefaultNewTokens = 128;
constexpr double kHottest = 1e6;

// What Completions reads under the same name.
constexpr const char* kSharedNames[] = {"top_p",
                                        "top_k",
                                        "min_p",
                                        "frequency_penalty",
                                        "presence_penalty",
                                        "repetition_penalty",
                                        "stop",
                                        "stop_token_ids",
                                        "stop_regex",
                                        "ignore_eos",
                                        "skip_special_tokens",
                                        "spaces_between_special_tokens",
                                        "no_stop_trim",
                                        "n",
                                        "json_schema",
                                        "regex",
                                        "ebnf",
                                        "structural_tag",
                                        "logit_bias",
                                        "custom_params",
                                        "custom_logit_processor",
                                        "stream_interval"};

void fail_range(FieldReader& fields, const char* name, const std::string& expected) {
  fields.fail(ApiError::invalid(
      "invalid_value", fields.path(name),
      "'" + fields.path(name) + "' is " + to_text(*fields.find(name)) + ", expected " + expected));
}

bool is_zero(FieldReader& fields, const char* name) {
  const Json* value = fields.find(name);
  return value != nullptr && value->is_number() && value->as_double() == 0;
}

// Ranges that are narrower here than elsewhere.
void check_ranges(FieldReader& fields) {
  if (is_zero(fields, "top_p")) {
    fail_range(fields, "top_p", "a number above 0 and at most 1");
  }
  if (is_zero(fields, "top_k")) {
    fail_range(fields, "top_k", "-1 or at least 1");
  }
  if (is_zero(fields, "repetition_penalty")) {
    fail_range(fields, "repetition_penalty", "a number above 0 and at most 2");
  }
}

void read_new_tokens(FieldReader& fields, SamplingParams* sampling) {
  sampling->max_tokens =
      fields.integer("max_new_tokens", 0, kMostTokens).value_or(kDefaultNewTokens);
  sampling->min_tokens = fields.integer("min_new_tokens", 0, kMostTokens).value_or(0);
  if (sampling->min_tokens > sampling->max_tokens) {
    fail_range(fields, "min_new_tokens",
               "at most max_new_tokens " + std::to_string(sampling->max_tokens));
  }
}

}  // namespace

GenerationParams read_generate_sampling(FieldReader& fields, const std::string& path,
                                        const ApiLimits& limits) {
  JsonObject shared;
  for (const char* name : kSharedNames) {
    if (const Json* value = fields.find(name)) {
      shared.set(name, *value);
    }
  }
  FieldReader reader(shared, path);
  check_ranges(reader);
  GenerationParams params = read_generation_params(reader, SamplingDefaults(), limits);
  fields.absorb(reader);
  SamplingParams& sampling = params.sampling;
  sampling.temperature = fields.number("temperature", 0, kHottest).value_or(1);
  if (const auto seed = fields.integer("sampling_seed", std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max())) {
    params.has_seed = true;
    sampling.seed = static_cast<std::uint64_t>(*seed);
  }
  read_new_tokens(fields, &sampling);
  params.clamps_max_tokens = true;
  return params;
}

}  // namespace plumb
