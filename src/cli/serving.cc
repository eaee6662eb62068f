// SPDX-License-Identifier: Apache-2.0
#include "cli/serving.h"

#include <utility>

#include "base/options.h"
#include "base/text.h"
#include "base/thread_clock.h"
#include "checkpoint/identity.h"
#include "checkpoint/synthesize.h"
#include "cli/catalogue.h"
#include "cli/loaded_model.h"
#include "cli/model_description.h"
#include "cli/version.h"
#include "model/families.h"
#include "model/mock_model.h"

namespace plumb {
namespace {

std::string base_name(std::string path) {
  while (path.size() > 1 && path.back() == '/') {
    path.pop_back();
  }
  path = path.substr(path.rfind('/') + 1);
  const std::size_t dot = path.rfind(".gguf");
  return dot == std::string::npos ? path : path.substr(0, dot);
}

// What a block on the disk depends on besides its layout: all bytes of the weights, and what
// computes with them.
std::string disk_cache_identity(const Checkpoint& checkpoint, const BackendSet& backends,
                                const BackendOptions& options) {
  const std::string arch = backends.main->arch();
  // Threads do not change results; instruction levels do.
  return checkpoint_identity(checkpoint, IdentityBytes::kAll) + " " + version_number() + " " +
         arch.substr(0, arch.find(',')) + " " + join(options.op, " ");
}

// What the keys and values of a prompt depend on: the weights, and how the cache keeps them.
std::string weights_version(const std::string& weights, const KvLayout& layout) {
  std::string version = weights;
  for (const KvGroup& group : layout.groups) {
    version += " " + std::string(traits(group.dtype).name);
  }
  return version;
}

}  // namespace

void append_violations(const ModelOptions& options, std::vector<Status>* violations) {
  const std::int64_t size = options.block_size;
  if (size != 16 && size != 32 && size != 64 && size != 128) {
    violations->emplace_back(Code::kInvalidArgument, "--block-size: " + std::to_string(size) +
                                                         ", expected 16, 32, 64 or 128");
  }
}

void append_violations(const ServingOptions& options, std::vector<Status>* violations) {
  append_violations(options.backend, violations);
  append_violations(options.layout, violations);
  if (Status status = validate(options.engine.scheduler); !status.ok()) {
    violations->push_back(std::move(status));
  }
  for (Status& status : check_parsers(options.parsers)) {
    violations->push_back(std::move(status));
  }
  const std::int64_t max_context = options.engine.max_context;
  if (max_context > 0 && options.engine.min_context > max_context) {
    violations->emplace_back(Code::kInvalidArgument,
                             "--min-context: " + std::to_string(options.engine.min_context) +
                                 ", more than --max-context " + std::to_string(max_context));
  }
}

Result<std::unique_ptr<Model>> load_weights(Checkpoint& checkpoint, Backend& backend,
                                            const ModelOptions& layout) {
  ModelSource source{checkpoint, backend, {}};
  source.kv_dtype = layout.kv_dtype == KvDType::kF32 ? DType::kF32 : DType::kF16;
  source.block_size = layout.block_size;
  return load_model(source);
}

namespace {

// The checkpoint's own, or the one that only pretends.
Result<std::unique_ptr<Model>> make_model(Checkpoint& checkpoint, Backend& backend,
                                          const Tokenizer& tokenizer, const ModelOptions& layout) {
  if (layout.mock_engine <= 0) {
    return load_weights(checkpoint, backend, layout);
  }
  PLUMB_ASSIGN(const ModelConfig config, read_config(checkpoint));
  return make_mock_model(config, layout.mock_engine, tokenizer.end_of_generation(),
                         layout.block_size);
}

}  // namespace

ServedModelFacts served_facts(const ServingOptions& options, const std::string& path,
                              const Checkpoint& checkpoint, const Clock& clock) {
  ServedModelFacts served;
  served.served_name = !options.served_name.empty()                  ? options.served_name
                       : find_in_catalogue(options.model) != nullptr ? options.model
                                                                     : base_name(path);
  served.model_path = path;
  served.weights_version = checkpoint_identity(checkpoint, IdentityBytes::kSamples);
  served.fingerprint = "plumb-" + version_number() + "-" + served.weights_version.substr(0, 8);
  served.created =
      std::chrono::duration_cast<std::chrono::seconds>(clock.wall_now().time_since_epoch()).count();
  return served;
}

Result<std::unique_ptr<Serving>> Serving::create(const ServingOptions& options, const Clock& clock,
                                                 EngineObserver* observer) {
  std::unique_ptr<Serving> serving(new Serving());
  serving->options_ = options;
  PLUMB_ASSIGN(const std::string path, resolve_model(options.model));
  PLUMB_ASSIGN(serving->checkpoint_, Checkpoint::open(path));
  PLUMB_ASSIGN(TextParts text, load_text_parts(*serving->checkpoint_));
  PLUMB_ASSIGN(serving->backends_, make_backends(options.backend));
  PLUMB_ASSIGN(
      std::unique_ptr<Model> model,
      make_model(*serving->checkpoint_, *serving->backends_.main, *text.tokenizer, options.layout));
  const KvLayout kv_layout = model->kv_layout();
  if (text.tokenizer->vocab_size() > model->facts().vocab_size) {
    return Status{Code::kInvalidArgument, path + ": the tokenizer has " +
                                              std::to_string(text.tokenizer->vocab_size()) +
                                              " tokens, more than the model's " +
                                              std::to_string(model->facts().vocab_size)};
  }
  EngineParts parts;
  parts.model = std::move(model);
  parts.backend = serving->backends_.main.get();
  parts.ops = serving->backends_.ops;
  parts.meta_ops = &serving->backends_.meta->ops();
  parts.clock = &clock;
  parts.observer = observer;
  parts.end_tokens = text.tokenizer->end_of_generation();
  if (!options.engine.tiers.disk_folder.empty()) {
    parts.model_id =
        disk_cache_identity(*serving->checkpoint_, serving->backends_, options.backend);
  }
  PLUMB_ASSIGN(serving->engine_, Engine::create(options.engine, std::move(parts)));
  const ModelFacts& facts = serving->engine_->model_facts();
  ServedModelFacts served = served_facts(options, path, *serving->checkpoint_, clock);
  served.description = describe_model(*serving->checkpoint_, facts, text.template_source);
  served.description.digest = served.weights_version;
  served.weights_version = weights_version(served.weights_version, kv_layout);
  served.context_len = serving->engine_->limits().max_context_len;
  served.kv_tokens = serving->engine_->limits().kv_tokens;
  served.num_parameters = facts.num_parameters;
  served.weight_bytes = facts.weight_bytes;
  served.trained_context_len = facts.max_context_len;
  served.defaults = text.defaults;
  served.echoes = serving->checkpoint_->metadata().get_or(kEchoMetadata, false);
  serving->text_ = std::make_unique<ServedModel>(std::move(served), std::move(text.tokenizer),
                                                 std::move(text.chat_template),
                                                 text.template_source, options.parsers);
  serving->constraints_ = std::make_unique<ConstraintCompiler>(
      serving->text_->tokenizer(), facts.vocab_size, options.grammar, thread_clock());
  serving->service_ = std::make_unique<TextService>(*serving->text_, serving->engine_.get(),
                                                    *serving->constraints_, clock);
  serving->engine_->start();
  serving->control_ = std::make_unique<ServingControl>(
      ServingControlParts{*serving->engine_, *serving->text_, *serving->checkpoint_, clock,
                          [&parts = *serving](Checkpoint& checkpoint) {
                            return make_model(checkpoint, *parts.backends_.main,
                                              parts.text_->tokenizer(), parts.options_.layout);
                          }});
  return serving;
}

Serving::~Serving() {
  if (engine_ != nullptr) {
    engine_->stop();
  }
}

namespace {

Json name_of(const auto* format) {
  return format == nullptr ? Json() : Json(format->name);
}

}  // namespace

Json Serving::describe() const {
  ServingOptions shown = options_;
  const ModelFacts& facts = engine_->model_facts();
  return JsonObject{
      {"model", JsonObject{{"name", text_->facts().served_name},
                           {"family", facts.family},
                           {"parameters", facts.num_parameters},
                           {"weight_bytes", facts.weight_bytes},
                           {"context_len", text_->facts().context_len},
                           {"vocab_size", facts.vocab_size}}},
      {"backend",
       JsonObject{{"name", std::string(backends_.main->name())}, {"arch", backends_.main->arch()}}},
      {"memory", to_json(engine_->memory_plan())},
      {"max_total_num_tokens", engine_->memory_plan().kv_tokens()},
      {"engine", options_to_json(bind_options(shown.engine))},
      {"grammar", options_to_json(bind_options(shown.grammar))},
      {"parsers", JsonObject{{"tool_call_parser", name_of(text_->output().tools())},
                             {"reasoning_parser", name_of(text_->output().reasoning())}}},
      {"scheduler", options_to_json(bind_options(shown.engine.scheduler))},
      {"cache_tiers", options_to_json(bind_options(shown.engine.tiers))},
      {"layout", options_to_json(bind_options(shown.layout))},
  };
}

}  // namespace plumb
