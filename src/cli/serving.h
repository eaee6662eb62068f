// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/option_field.h"
#include "base/status.h"
#include "cli/backends.h"
#include "cli/serving_control.h"
#include "engine/engine.h"
#include "engine/engine_options.h"
#include "frontend/constraint_compiler.h"
#include "frontend/model_output.h"
#include "frontend/served_model.h"
#include "frontend/text_service.h"
#include "model/model.h"

namespace plumb {

enum class KvDType : unsigned char { kF16, kF32 };

/// How the model is laid out in memory.
struct ModelOptions {
  KvDType kv_dtype = KvDType::kF16;
  std::int64_t block_size = 32;
  double mock_engine = 0;

  static constexpr auto fields() {
    using S = ModelOptions;
    return std::tuple{
        choice_field(&S::kv_dtype, "kv-dtype", "element type of the KV cache",
                     std::array{Choice<KvDType>{"f16", KvDType::kF16},
                                Choice<KvDType>{"f32", KvDType::kF32}}),
        field(&S::block_size, "block-size", "tokens of a KV block: 16, 32, 64 or 128", 16, 128),
        field(&S::mock_engine, "mock-engine",
              "compute nothing: made-up tokens at so many a second for each answer, to measure all "
              "but the model; 0 = off",
              0, 1e6),
    };
  }
};

/// Everything that one loaded model needs to answer, from file to running engine.
struct ServingOptions {
  std::string model;  ///< path or short name
  std::string served_name;
  BackendOptions backend;
  ModelOptions layout;
  EngineOptions engine;
  GrammarOptions grammar;
  ParserOptions parsers;
};

/// Rules that the range of one option cannot say; appends a status for each broken one.
void append_violations(const ModelOptions& options, std::vector<Status>* violations);
void append_violations(const ServingOptions& options, std::vector<Status>* violations);

/// A model that runs.
/// Ownership  keeps file, back ends, model and engine in the order that they need each other.
class Serving {
 public:
  /// Loads and starts. Errors: of every part, in one line each.
  /// `observer` hears of the engine's steps and outlives this; it may be null.
  static Result<std::unique_ptr<Serving>> create(const ServingOptions& options, const Clock& clock,
                                                 EngineObserver* observer = nullptr);
  ~Serving();

  TextService& service() { return *service_; }

  Engine& engine() { return *engine_; }

  /// Of memory and weights, while it runs.
  ModelControl& control() { return *control_; }

  const BackendSet& backends() const { return backends_; }

  /// For start-up print and /server_info.
  Json describe() const;

 private:
  Serving() = default;

  ServingOptions options_;
  std::unique_ptr<Checkpoint> checkpoint_;
  BackendSet backends_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<ServedModel> text_;
  std::unique_ptr<ConstraintCompiler> constraints_;
  std::unique_ptr<TextService> service_;
  std::unique_ptr<ServingControl> control_;
};

/// Name, identity and start of a model that is about to be served; its sizes are still to be filled
/// in.
ServedModelFacts served_facts(const ServingOptions& options, const std::string& path,
                              const Checkpoint& checkpoint, const Clock& clock);

/// Loads the weights for a back end, without an engine.
Result<std::unique_ptr<Model>> load_weights(Checkpoint& checkpoint, Backend& backend,
                                            const ModelOptions& layout);

}  // namespace plumb
