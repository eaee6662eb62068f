// SPDX-License-Identifier: Apache-2.0
#include "api/ollama_options.h"

namespace plumb {
namespace {

// What means the same here.
constexpr const char* kSameNames[] = {"temperature",
                                      "top_k",
                                      "top_p",
                                      "min_p",
                                      "typical_p",
                                      "seed",
                                      "stop",
                                      "repeat_penalty",
                                      "presence_penalty",
                                      "frequency_penalty",
                                      "min_tokens",
                                      "ignore_eos",
                                      "stop_token_ids",
                                      "logit_bias",
                                      "mirostat"};

// How Ollama's engine is run, or parameters of what is switched off.
constexpr const char* kHarmlessOptions[] = {
    "numa",           "num_batch", "num_gpu",   "main_gpu",     "num_thread",
    "num_keep",       "low_vram",  "f16_kv",    "logits_all",   "vocab_only",
    "embedding_only", "use_mmap",  "use_mlock", "mirostat_tau", "mirostat_eta"};

bool has_penalty(const SamplingParams& sampling) {
  return sampling.repetition_penalty != 1 || sampling.presence_penalty != 0 ||
         sampling.frequency_penalty != 0;
}

// Penalties look at the whole prompt and answer.
void check_penalty_options(FieldReader& options, const SamplingParams& sampling) {
  constexpr std::int64_t kAll = -1;
  const auto last_n = options.integer("repeat_last_n", kAll, kMostTokens);
  if (last_n.value_or(kAll) != kAll && has_penalty(sampling)) {
    options.fail(ApiError::unsupported(
        options.path("repeat_last_n"),
        "penalties look at the whole prompt and answer; send -1, or no penalty"));
  }
  if (!options.boolean("penalize_newline").value_or(true) && has_penalty(sampling)) {
    options.fail(ApiError::unsupported(options.path("penalize_newline"),
                                       "penalties concern every token; send true"));
  }
  const std::optional<double> tfs_z = options.number("tfs_z", 0, 1);
  if (tfs_z.value_or(1) != 1) {
    options.fail(ApiError::unsupported(options.path("tfs_z"),
                                       "this server offers only 1, which changes nothing"));
  }
}

void read_lengths_of_options(FieldReader& options, GenerationParams* params) {
  const std::int64_t predict = options.integer("num_predict", -2, kMostTokens).value_or(-1);
  if (predict == 0) {
    options.fail(ApiError::invalid(
        "invalid_value", options.path("num_predict"),
        "'" + options.path("num_predict") + "' is 0, expected at least 1, or -1 for no limit"));
  }
  params->sampling.max_tokens = predict < 0 ? 0 : predict;
  params->clamps_max_tokens = true;
  params->context_limit = options.integer("num_ctx", 1, kMostTokens).value_or(0);
}

}  // namespace

GenerationParams read_ollama_options(FieldReader& fields, const SamplingDefaults& defaults,
                                     const ApiLimits& limits) {
  const JsonObject none;
  const JsonObject* given = fields.object("options");
  FieldReader options(given != nullptr ? *given : none, fields.path("options"));
  JsonObject same;
  for (const char* name : kSameNames) {
    if (const Json* value = options.find(name)) {
      same.set(name, *value);
    }
  }
  FieldReader sampling(same, fields.path("options"));
  GenerationParams params = read_generation_params(sampling, defaults, limits);
  options.absorb(sampling);
  read_lengths_of_options(options, &params);
  check_penalty_options(options, params.sampling);
  for (const char* name : kHarmlessOptions) {
    options.find(name);
  }
  fields.absorb(options);
  return params;
}

}  // namespace plumb
