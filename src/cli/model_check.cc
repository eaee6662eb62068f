// SPDX-License-Identifier: Apache-2.0
#include "cli/model_check.h"

#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "checkpoint/inspect.h"
#include "cli/catalogue.h"
#include "cli/loaded_model.h"
#include "engine/engine_core.h"
#include "engine/host_memory.h"
#include "model/model.h"

namespace plumb {
namespace {

// Whether a back end arranges weights of that type: tried on a small matrix of zeros.
bool has_kernel(Backend& backend, DType dtype) {
  constexpr std::int64_t kCols = 256;
  const std::vector<std::byte> zeros(static_cast<std::size_t>(row_bytes(dtype, kCols)));
  return backend.pack({dtype, 1, kCols, zeros}).ok();
}

std::vector<FormatUse> formats_of(const Checkpoint& checkpoint, const BackendOptions& options) {
  std::map<std::string, FormatUse> by_type;
  std::map<std::string, std::optional<DType>> dtypes;
  for (const TensorRecord& record : checkpoint.tensors()) {
    FormatUse& use = by_type[record.type_name];
    use.type = record.type_name;
    ++use.num_tensors;
    use.num_bytes += static_cast<std::int64_t>(record.num_bytes);
    dtypes[record.type_name] = record.dtype;
  }
  for (const std::string& name : {std::string("cpu"), std::string("ref")}) {
    const Result<std::unique_ptr<Backend>> backend = make_backend(name, options);
    for (auto& [type, use] : by_type) {
      const std::optional<DType> dtype = dtypes[type];
      if (backend.ok() && dtype.has_value() && traits(*dtype).is_weight &&
          has_kernel(*backend.value(), *dtype)) {
        use.backends.push_back(name);
      }
    }
  }
  std::vector<FormatUse> formats;
  for (auto& [type, use] : by_type) {
    formats.push_back(std::move(use));
  }
  return formats;
}

std::string bytes(std::int64_t count) {
  return bytes_to_text(static_cast<std::uint64_t>(count));
}

}  // namespace

Result<ModelCheck> check_model(const ServingOptions& options) {
  ModelCheck check;
  PLUMB_ASSIGN(check.path, resolve_model(options.model));
  PLUMB_ASSIGN(const std::unique_ptr<Checkpoint> checkpoint, Checkpoint::open(check.path));
  PLUMB_ASSIGN(const TextParts text, load_text_parts(*checkpoint));
  check.has_chat_template = text.chat_template != nullptr;
  check.formats = formats_of(*checkpoint, options.backend);
  PLUMB_ASSIGN(const std::unique_ptr<Backend> meta, make_backend("meta", options.backend));
  PLUMB_ASSIGN(const std::unique_ptr<Model> model,
               load_weights(*checkpoint, *meta, options.layout));
  check.family = model->facts().family;
  check.num_parameters = model->facts().num_parameters;
  check.context_len = model->facts().max_context_len;
  check.vocab_size = model->facts().vocab_size;
  PLUMB_ASSIGN(check.memory,
               EngineCore::plan(options.engine, *model, meta->ops(), available_host_bytes()));
  return check;
}

Json to_json(const ModelCheck& check) {
  JsonArray formats;
  for (const FormatUse& use : check.formats) {
    JsonArray backends;
    for (const std::string& name : use.backends) {
      backends.emplace_back(name);
    }
    formats.emplace_back(JsonObject{{"type", use.type},
                                    {"tensors", use.num_tensors},
                                    {"bytes", use.num_bytes},
                                    {"backends", std::move(backends)}});
  }
  return JsonObject{{"path", check.path},
                    {"family", check.family},
                    {"parameters", check.num_parameters},
                    {"context_len", check.context_len},
                    {"vocab_size", check.vocab_size},
                    {"chat_template", check.has_chat_template},
                    {"formats", std::move(formats)},
                    {"memory", to_json(check.memory)}};
}

std::string to_text(const ModelCheck& check) {
  std::vector<std::vector<std::string>> rows{
      {"file", check.path},
      {"family", check.family + ", " + std::to_string(check.num_parameters) + " parameters"},
      {"context", std::to_string(check.context_len) + " tokens, vocabulary of " +
                      std::to_string(check.vocab_size)},
      {"chat", check.has_chat_template ? "has a template" : "no template: /v1/completions only"}};
  for (const FormatUse& use : check.formats) {
    rows.push_back(
        {use.type, std::to_string(use.num_tensors) + " tensors, " + bytes(use.num_bytes) +
                       ", kernels: " + (use.backends.empty() ? "none" : join(use.backends, ", "))});
  }
  return table_text(rows) + to_text(check.memory);
}

}  // namespace plumb
