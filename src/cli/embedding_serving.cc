// SPDX-License-Identifier: Apache-2.0
#include "cli/embedding_serving.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/options.h"
#include "base/thread_clock.h"
#include "cli/catalogue.h"
#include "cli/loaded_model.h"
#include "cli/model_description.h"
#include "model/encoder.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxTextsInPass = 256;

Pooling decoder_pooling(EmbedPooling pooling) {
  switch (pooling) {
    case EmbedPooling::kMean:
      return Pooling::kMean;
    case EmbedPooling::kFirst:
      return Pooling::kFirst;
    case EmbedPooling::kAuto:
    case EmbedPooling::kLast:
      break;
  }
  return Pooling::kLast;
}

EmbeddingBatchLimits batch_limits(const EmbedOptions& embed, const ModelFacts& facts) {
  EmbeddingBatchLimits limits;
  limits.pass_tokens = embed.batch_tokens;
  limits.max_length = std::min(embed.max_length, facts.max_context_len);
  limits.num_tokens = std::max(limits.pass_tokens, limits.max_length);
  limits.num_sequences = std::min(embed.batch_tokens, kMaxTextsInPass);
  return limits;
}

}  // namespace

Result<bool> serves_embeddings(const ServingOptions& options, const EmbedOptions& embed) {
  if (embed.task == ServeTask::kEmbed) {
    return true;
  }
  PLUMB_ASSIGN(const std::string path, resolve_model(options.model));
  PLUMB_ASSIGN(const std::unique_ptr<Checkpoint> checkpoint, Checkpoint::open(path));
  if (is_encoder(*checkpoint) && embed.task == ServeTask::kGenerate) {
    return Status{Code::kInvalidArgument, "--task generate: " + options.model +
                                              " is an encoder, which generates no text; serve it "
                                              "with --task embed"};
  }
  return is_encoder(*checkpoint);
}

Result<std::unique_ptr<EmbeddingModel>> EmbeddingServing::load(const ServingOptions& options) {
  const EmbeddingBackend backend{backends_.main.get(), backends_.ops, &backends_.meta->ops()};
  if (is_encoder(*checkpoint_)) {
    if (embed_.pooling != EmbedPooling::kAuto) {
      return Status{Code::kInvalidArgument,
                    "--pooling: the checkpoint of an encoder says how it is pooled"};
    }
    const EncoderWeights weights =
        embed_.math == EncoderMath::kInt16 ? EncoderWeights::kRounded : EncoderWeights::kAsFile;
    PLUMB_ASSIGN(std::unique_ptr<Encoder> encoder,
                 load_encoder(*checkpoint_, *backends_.main, weights));
    const EmbeddingBatchLimits limits = batch_limits(embed_, encoder->facts());
    return make_encoder_embedding(std::move(encoder), backend, limits);
  }
  PLUMB_ASSIGN(std::unique_ptr<Model> model,
               load_weights(*checkpoint_, *backends_.main, options.layout));
  const EmbeddingBatchLimits limits = batch_limits(embed_, model->facts());
  return make_decoder_embedding(std::move(model), decoder_pooling(embed_.pooling), backend, limits);
}

Result<std::unique_ptr<EmbeddingServing>> EmbeddingServing::create(const ServingOptions& options,
                                                                   const EmbedOptions& embed,
                                                                   const Clock& clock) {
  std::unique_ptr<EmbeddingServing> serving(new EmbeddingServing());
  serving->embed_ = embed;
  PLUMB_ASSIGN(const std::string path, resolve_model(options.model));
  PLUMB_ASSIGN(serving->checkpoint_, Checkpoint::open(path));
  PLUMB_ASSIGN(TextParts text, load_text_parts(*serving->checkpoint_));
  PLUMB_ASSIGN(serving->backends_, make_backends(options.backend));
  PLUMB_ASSIGN(std::unique_ptr<EmbeddingModel> model, serving->load(options));
  const ModelFacts facts = model->facts();
  if (text.tokenizer->vocab_size() > facts.vocab_size) {
    return Status{Code::kInvalidArgument,
                  path + ": the tokenizer has " + std::to_string(text.tokenizer->vocab_size()) +
                      " tokens, more than the model's " + std::to_string(facts.vocab_size)};
  }
  serving->embedder_ = std::make_unique<Embedder>(std::move(model), embed.max_queued, clock);
  ServedModelFacts served = served_facts(options, path, *serving->checkpoint_, clock);
  served.context_len = serving->embedder_->max_length();
  served.num_parameters = facts.num_parameters;
  served.weight_bytes = facts.weight_bytes;
  served.trained_context_len = facts.max_context_len;
  served.description = describe_model(*serving->checkpoint_, facts, text.template_source);
  served.description.digest = served.weights_version;
  serving->text_ =
      std::make_unique<ServedModel>(std::move(served), std::move(text.tokenizer), nullptr);
  serving->constraints_ = std::make_unique<ConstraintCompiler>(
      serving->text_->tokenizer(), facts.vocab_size, options.grammar, thread_clock());
  serving->service_ =
      std::make_unique<TextService>(*serving->text_, nullptr, *serving->constraints_, clock);
  serving->embeddings_ = std::make_unique<EmbeddingService>(*serving->text_, *serving->embedder_);
  return serving;
}

Json EmbeddingServing::describe() const {
  EmbedOptions shown = embed_;
  const ModelFacts& facts = embedder_->model().facts();
  return JsonObject{
      {"model", JsonObject{{"name", text_->facts().served_name},
                           {"family", facts.family},
                           {"parameters", facts.num_parameters},
                           {"weight_bytes", facts.weight_bytes},
                           {"context_len", text_->facts().context_len},
                           {"vocab_size", facts.vocab_size},
                           {"dimensions", facts.hidden_size}}},
      {"backend",
       JsonObject{{"name", std::string(backends_.main->name())}, {"arch", backends_.main->arch()}}},
      {"embeddings", options_to_json(bind_options(shown))},
  };
}

}  // namespace plumb
