// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <tuple>

#include "base/option_field.h"
#include "cli/serving.h"
#include "engine/embedder.h"
#include "frontend/embedding_service.h"

namespace plumb {

/// What a server does with its model.
enum class ServeTask : unsigned char { kAuto, kGenerate, kEmbed };

enum class EmbedPooling : unsigned char { kAuto, kMean, kFirst, kLast };

enum class EncoderMath : unsigned char { kInt16, kFloat };

/// How texts become vectors.
struct EmbedOptions {
  ServeTask task = ServeTask::kAuto;
  EmbedPooling pooling = EmbedPooling::kAuto;
  EncoderMath math = EncoderMath::kInt16;
  std::int64_t max_length = 8192;
  std::int64_t batch_tokens = 512;
  std::int64_t max_queued = 8192;

  static constexpr auto fields() {
    using S = EmbedOptions;
    return std::tuple{
        choice_field(&S::task, "task",
                     "generate text or embed texts; auto: embed with an encoder, else generate",
                     std::array{Choice<ServeTask>{"auto", ServeTask::kAuto},
                                Choice<ServeTask>{"generate", ServeTask::kGenerate},
                                Choice<ServeTask>{"embed", ServeTask::kEmbed}}),
        choice_field(&S::pooling, "pooling",
                     "which hidden states of a decoder make the vector of a text; auto: the last",
                     std::array{Choice<EmbedPooling>{"auto", EmbedPooling::kAuto},
                                Choice<EmbedPooling>{"mean", EmbedPooling::kMean},
                                Choice<EmbedPooling>{"cls", EmbedPooling::kFirst},
                                Choice<EmbedPooling>{"last", EmbedPooling::kLast}}),
        choice_field(&S::math, "encoder-math",
                     "products of an encoder's float weights: i16 rounds weights and inputs to 13 "
                     "bits and is twice as fast, f32 computes as the checkpoint says",
                     std::array{Choice<EncoderMath>{"i16", EncoderMath::kInt16},
                                Choice<EncoderMath>{"f32", EncoderMath::kFloat}}),
        field(&S::max_length, "embed-max-length",
              "tokens of the longest text that is embedded, at most what the model was trained for",
              1, 1 << 20),
        field(&S::batch_tokens, "embed-batch-tokens",
              "tokens of texts that are embedded in one pass; a longer text has one to itself", 16,
              1 << 20),
        field(&S::max_queued, "embed-max-queued", "texts that may wait to be embedded", 1, 1 << 20),
    };
  }
};

/// A model that runs and gives vectors.
/// Ownership  keeps file, back ends, model and embedder in the order that they need each other.
class EmbeddingServing {
 public:
  /// Loads and starts. Errors: of every part, in one line each.
  static Result<std::unique_ptr<EmbeddingServing>> create(const ServingOptions& options,
                                                          const EmbedOptions& embed,
                                                          const Clock& clock);

  /// For the routes that every server has; it generates nothing.
  TextService& service() { return *service_; }

  EmbeddingService& embeddings() { return *embeddings_; }

  /// For start-up print and /server_info.
  Json describe() const;

 private:
  EmbeddingServing() = default;
  Result<std::unique_ptr<EmbeddingModel>> load(const ServingOptions& options);

  EmbedOptions embed_;
  std::unique_ptr<Checkpoint> checkpoint_;
  BackendSet backends_;
  std::unique_ptr<Embedder> embedder_;
  std::unique_ptr<ServedModel> text_;
  std::unique_ptr<ConstraintCompiler> constraints_;
  std::unique_ptr<TextService> service_;
  std::unique_ptr<EmbeddingService> embeddings_;
};

/// Whether the model is to be served for embeddings. Errors as for opening its checkpoint;
/// kInvalidArgument: an encoder is to generate text.
Result<bool> serves_embeddings(const ServingOptions& options, const EmbedOptions& embed);

}  // namespace plumb
