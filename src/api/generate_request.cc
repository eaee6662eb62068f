// SPDX-License-Identifier: Apache-2.0
#include "api/generate_request.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "api/generate_sampling.h"
#include "api/ids.h"
#include "base/text.h"

namespace plumb {
namespace {

// Each may be an array with an element for each prompt of a batch.
constexpr const char* kItemFields[] = {"rid",
                                       "return_logprob",
                                       "logprob_start_len",
                                       "top_logprobs_num",
                                       "custom_logit_processor",
                                       "sampling_params"};
// Read as Completions reads them.
constexpr const char* kCommonFields[] = {"model",       "priority",   "cache_salt",
                                         "routing_key", "timeout_ms", "queue_timeout_ms"};
// Not offered: accepted where they ask for nothing.
constexpr const char* kNotOffered[] = {
    "token_ids_logprob", "image_data",     "audio_data",
    "video_data",        "lora_path",      "bootstrap_host",
    "bootstrap_port",    "bootstrap_room", "return_hidden_states",
    "return_entropy",    "background",     "data_parallel_rank",
    "routed_dp_rank",    "session_params"};
// Accepted without effect on the answer.
constexpr const char* kWithoutEffect[] = {"no_logs", "custom_labels", "modalities", "log_metrics"};

bool asks_for_nothing(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::kNull:
      return true;
    case Json::Kind::kBool:
      return !value.as_bool();
    case Json::Kind::kString:
      return value.as_string().empty();
    case Json::Kind::kArray:
      return std::all_of(value.as_array().begin(), value.as_array().end(), asks_for_nothing);
    case Json::Kind::kObject:
      return value.as_object().empty();
    default:
      return value.as_double() == 0;
  }
}

void refuse_what_is_not_offered(FieldReader& fields) {
  for (const char* name : kNotOffered) {
    const Json* value = fields.find(name);
    if (value != nullptr && !asks_for_nothing(*value)) {
      fields.fail(ApiError::unsupported(fields.path(name), "this server does not offer it"));
    }
  }
  for (const char* name : kWithoutEffect) {
    fields.find(name);
  }
}

// One of text, input_ids and input_embeds, of which the last is not offered.
std::vector<Prompt> read_native_prompts(FieldReader& fields, const ApiLimits& limits,
                                        bool* is_batch) {
  const Json* text = fields.find("text");
  const Json* ids = fields.find("input_ids");
  if (fields.has("input_embeds")) {
    fields.fail(ApiError::unsupported(fields.path("input_embeds"), "send text or input_ids"));
    return {};
  }
  if ((text == nullptr) == (ids == nullptr)) {
    fields.fail(text == nullptr ? ApiError::missing("text")
                                : ApiError::invalid("invalid_value", "input_ids",
                                                    "'text' and 'input_ids' exclude each other"));
    return {};
  }
  const Json& given = text != nullptr ? *text : *ids;
  const Json* first =
      given.is_array() && !given.as_array().empty() ? &given.as_array().front() : nullptr;
  const bool is_list = given.is_array();
  if (text != nullptr && (is_list ? first != nullptr && !first->is_string() : !given.is_string())) {
    fields.fail(ApiError::wrong_type("text", "a string or an array of strings"));
    return {};
  }
  if (ids != nullptr && (!is_list || (first != nullptr && first->is_string()))) {
    fields.fail(
        ApiError::wrong_type("input_ids", "an array of token ids or an array of such arrays"));
    return {};
  }
  *is_batch = first != nullptr && !first->is_number();
  return read_prompts(fields, text != nullptr ? "text" : "input_ids", limits);
}

// Position of a prompt in its request.
struct ItemPlace {
  std::size_t index;
  std::size_t count;
  bool is_batch;
};

// The fields of one item.
JsonObject fields_of_item(FieldReader& fields, const ItemPlace& place) {
  JsonObject item;
  for (const char* name : kItemFields) {
    const Json* value = fields.find(name);
    if (value == nullptr) {
      continue;
    }
    if (!place.is_batch || !value->is_array()) {
      item.set(name, *value);
    } else if (value->as_array().size() == place.count) {
      item.set(name, value->as_array()[place.index]);
    } else {
      fields.fail(ApiError::invalid(
          "invalid_value", fields.path(name),
          "'" + fields.path(name) + "' has " + std::to_string(value->as_array().size()) +
              " elements, expected one for each of " + std::to_string(place.count) + " prompts"));
    }
  }
  return item;
}

void read_logprob_fields(FieldReader& item, const ApiLimits& limits, GenerateItem* out) {
  SamplingParams& sampling = out->completion.generation.sampling;
  sampling.logprobs = item.boolean("return_logprob").value_or(false);
  const std::int64_t start =
      item.integer("logprob_start_len", -1, limits.max_token_ids).value_or(-1);
  const std::int64_t top = item.integer("top_logprobs_num", 0, limits.max_logprobs).value_or(0);
  if (!sampling.logprobs) {
    return;
  }
  sampling.top_logprobs = static_cast<int>(top);
  if (start >= 0) {
    out->logprob_start = start;
    sampling.prompt_logprobs = true;
    sampling.prompt_top_logprobs = static_cast<int>(top);
  }
}

void read_batch_item(FieldReader& fields, const ItemPlace& place, const GenerationParams& common,
                     const ApiLimits& limits, GenerateItem* out) {
  const JsonObject object = fields_of_item(fields, place);
  const Json* all = fields.find("sampling_params");
  const bool is_own = place.is_batch && all != nullptr && all->is_array();
  const std::string path =
      "sampling_params" + (is_own ? "[" + std::to_string(place.index) + "]" : "");
  FieldReader item(object);
  const JsonObject* given = item.object("sampling_params");
  JsonObject sampling = given != nullptr ? *given : JsonObject();
  if (const Json* processor = item.find("custom_logit_processor")) {
    sampling.set("custom_logit_processor", *processor);
  }
  FieldReader inner(sampling, path);
  GenerationParams& params = out->completion.generation;
  params = read_generate_sampling(inner, path, limits);
  item.absorb(inner);
  params.prompt_field = common.prompt_field;
  params.model = common.model;
  params.priority = common.priority;
  params.cache_salt = common.cache_salt;
  params.routing_key = common.routing_key;
  params.timeout = common.timeout;
  params.queue_timeout = common.queue_timeout;
  params.stream = common.stream;
  out->completion.best_of = params.n;
  params.choices_per_prompt = params.n;
  out->is_empty = params.sampling.max_tokens == 0;
  params.sampling.max_tokens = std::max<std::int64_t>(params.sampling.max_tokens, 1);
  out->rid = item.text("rid").value_or("");
  if (!out->rid.empty() && !is_request_id(out->rid)) {
    item.fail(
        ApiError::invalid("invalid_value", "rid", "'rid' must be 1 to 128 of A-Z a-z 0-9 . _ : -"));
  }
  read_logprob_fields(item, limits, out);
  fields.absorb(item);
}

// What an item has in common with the others.
GenerationParams read_common(FieldReader& fields, const ApiLimits& limits) {
  JsonObject object;
  for (const char* name : kCommonFields) {
    if (const Json* value = fields.find(name)) {
      object.set(name, *value);
    }
  }
  FieldReader reader(object);
  GenerationParams common = read_generation_params(reader, SamplingDefaults(), limits);
  fields.absorb(reader);
  common.stream = fields.boolean("stream").value_or(false);
  const std::string extra = fields.text("extra_key").value_or("");
  if (num_code_points(extra) > limits.max_cache_salt) {
    fields.fail(ApiError::invalid(
        "invalid_value", "extra_key",
        "'extra_key' has more than " + std::to_string(limits.max_cache_salt) + " characters"));
  }
  if (!extra.empty()) {  // with a length, so that no two pairs are the same text
    common.cache_salt = std::to_string(common.cache_salt.size()) + ":" + common.cache_salt + extra;
  }
  return common;
}

bool is_same_constraint(const ConstraintSpec& a, const ConstraintSpec& b) {
  return a.kind == b.kind && a.text == b.text && a.choices == b.choices;
}

// One grammar is compiled for a request, and its answers are numbered by prompt and sample.
void check_alike(FieldReader& fields, const GenerateRequest& request) {
  const GenerationParams& first = request.items.front().completion.generation;
  for (const GenerateItem& item : request.items) {
    const GenerationParams& params = item.completion.generation;
    if (params.n != first.n) {
      fields.fail(
          ApiError::unsupported("sampling_params", "'n' is the same for all prompts of a request"));
    }
    if (!is_same_constraint(params.constraint, first.constraint)) {
      fields.fail(
          ApiError::unsupported("sampling_params",
                                "the constraint on the answers is the same for all prompts of a "
                                "request"));
    }
  }
}

// One id for several answers is that of the request, whose answers are numbered behind it.
void settle_ids(FieldReader& fields, GenerateRequest* request) {
  const Json* given = fields.find("rid");
  if (given != nullptr && !given->is_array()) {
    request->rid = request->items.front().rid;
    for (GenerateItem& item : request->items) {
      item.rid.clear();
    }
    return;
  }
  std::set<std::string_view> seen;
  for (const GenerateItem& item : request->items) {
    if (!item.rid.empty() && !seen.insert(item.rid).second) {
      fields.fail(ApiError::invalid(
          "invalid_value", "rid",
          "'rid' has '" + item.rid + "' twice, expected another one for each prompt"));
    }
  }
}

}  // namespace

std::variant<GenerateRequest, ApiError> read_generate_request(const Json& body,
                                                              const ApiLimits& limits) {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  GenerateRequest request;
  std::vector<Prompt> prompts = read_native_prompts(fields, limits, &request.is_batch);
  GenerationParams common = read_common(fields, limits);
  common.prompt_field = fields.has("text") ? "text" : "input_ids";
  request.is_incremental = fields.boolean("incremental_streaming_output");
  request.text_in_logprobs = fields.boolean("return_text_in_logprobs").value_or(false);
  refuse_what_is_not_offered(fields);
  for (std::size_t i = 0; i < prompts.size() && fields.ok(); ++i) {
    GenerateItem& item = request.items.emplace_back();
    read_batch_item(fields, {i, prompts.size(), request.is_batch}, common, limits, &item);
    item.completion.prompts.push_back(std::move(prompts[i]));
  }
  if (fields.ok()) {
    check_alike(fields, request);
    settle_ids(fields, &request);
    const std::int64_t total = std::ssize(request.items) * request.num_samples();
    request.is_batch = request.is_batch || total > 1;
    if (total > limits.max_prompts) {
      fields.fail(ApiError::invalid("invalid_value", "n",
                                    "prompts times n is " + std::to_string(total) +
                                        ", expected at most " +
                                        std::to_string(limits.max_prompts)));
    }
  }
  if (!fields.ok()) {
    return *fields.error();
  }
  request.ignored_fields = fields.ignored();
  return request;
}

}  // namespace plumb
