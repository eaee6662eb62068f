// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <string>

#include "engine/embedding_model.h"
#include "engine/embedding_pass.h"

namespace plumb {
namespace {

Tensor null_ints(std::int64_t count) {
  return Tensor::dense(nullptr, DType::kI32, {count});
}

/// The index arrays of a pass: token ids, positions, token types and begins, one behind the other.
class EncoderInputs {
 public:
  static Result<EncoderInputs> create(const EmbeddingBatchLimits& limits, Backend& backend) {
    EncoderInputs inputs;
    const std::int64_t count = 3 * limits.num_tokens + limits.num_sequences + 1;
    PLUMB_ASSIGN(inputs.memory_, backend.allocator().allocate(
                                     count * static_cast<std::int64_t>(sizeof(std::int32_t))));
    inputs.host_.reserve(static_cast<std::size_t>(count));
    return inputs;
  }

  EncoderBatch upload(std::span<const std::span<const TokenId>> sequences, Backend& backend,
                      Stream& stream) {
    host_.clear();
    for (const std::span<const TokenId> sequence : sequences) {
      host_.insert(host_.end(), sequence.begin(), sequence.end());
    }
    const std::int64_t num_tokens = std::ssize(host_);
    for (const std::span<const TokenId> sequence : sequences) {
      const std::size_t begin = host_.size();
      host_.resize(begin + sequence.size());
      std::iota(host_.begin() + static_cast<std::ptrdiff_t>(begin), host_.end(), 0);
    }
    host_.resize(host_.size() + static_cast<std::size_t>(num_tokens), 0);  // all first segments
    host_.push_back(0);
    for (const std::span<const TokenId> sequence : sequences) {
      host_.push_back(host_.back() + static_cast<std::int32_t>(sequence.size()));
    }
    auto* device = static_cast<std::int32_t*>(memory_.address());
    backend.copy(device, host_.data(),
                 std::ssize(host_) * static_cast<std::int64_t>(sizeof(std::int32_t)), stream);
    const auto view = [device](std::int64_t begin, std::int64_t count) {
      return Tensor::dense(device + begin, DType::kI32, {count});
    };
    return {view(0, num_tokens), view(num_tokens, num_tokens), view(2 * num_tokens, num_tokens),
            view(3 * num_tokens, std::ssize(sequences) + 1)};
  }

 private:
  EncoderInputs() = default;

  std::vector<std::int32_t> host_;
  Buffer memory_;
};

class EncoderEmbedding final : public EmbeddingModel {
 public:
  EncoderEmbedding(std::unique_ptr<Encoder> encoder, const EmbeddingBatchLimits& limits,
                   Backend& backend, EncoderInputs inputs, EmbeddingPass pass)
      : encoder_(std::move(encoder)),
        limits_(limits),
        backend_(backend),
        inputs_(std::move(inputs)),
        pass_(std::move(pass)) {}

  const ModelFacts& facts() const override { return encoder_->facts(); }

  const EmbeddingBatchLimits& limits() const override { return limits_; }

  Result<std::vector<std::vector<float>>> embed(
      std::span<const std::span<const TokenId>> sequences) override {
    const EncoderBatch batch = inputs_.upload(sequences, backend_, pass_.stream());
    return pass_.run([&](OpContext& op) { return forward(*encoder_, op, batch); });
  }

  static Tensor forward(const Encoder& encoder, OpContext& op, const EncoderBatch& batch) {
    const Tensor hidden = encoder.forward(op, batch);             // [T, hidden]
    return op.pool(hidden, batch.cu_seqlens, encoder.pooling());  // [B, hidden]
  }

 private:
  std::unique_ptr<Encoder> encoder_;
  EmbeddingBatchLimits limits_;
  Backend& backend_;
  EncoderInputs inputs_;
  EmbeddingPass pass_;
};

}  // namespace

Result<std::unique_ptr<EmbeddingModel>> make_encoder_embedding(std::unique_ptr<Encoder> encoder,
                                                               const EmbeddingBackend& backend,
                                                               const EmbeddingBatchLimits& limits) {
  const EncoderBatch largest{null_ints(limits.num_tokens), null_ints(limits.num_tokens),
                             null_ints(limits.num_tokens), null_ints(limits.num_sequences + 1)};
  PLUMB_ASSIGN(EmbeddingPass pass, EmbeddingPass::create(backend, [&](OpContext& op) {
                 return EncoderEmbedding::forward(*encoder, op, largest);
               }));
  PLUMB_ASSIGN(EncoderInputs inputs, EncoderInputs::create(limits, *backend.backend));
  return std::unique_ptr<EmbeddingModel>(std::make_unique<EncoderEmbedding>(
      std::move(encoder), limits, *backend.backend, std::move(inputs), std::move(pass)));
}

}  // namespace plumb
