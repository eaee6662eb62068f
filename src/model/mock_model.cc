// SPDX-License-Identifier: Apache-2.0
#include "model/mock_model.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/rng.h"

namespace plumb {
namespace {

class MockModel final : public Model {
 public:
  MockModel(const ModelConfig& config, double steps_per_second, std::vector<TokenId> never,
            std::int64_t block_size)
      : never_(std::move(never)),
        step_(std::chrono::duration_cast<Clock::TimePoint::duration>(
            std::chrono::duration<double>(1.0 / steps_per_second))),
        block_size_(block_size) {
    facts_.family = config.family;
    facts_.name = config.name;
    facts_.num_layers = 1;
    facts_.hidden_size = 1;
    facts_.vocab_size = config.vocab_size;
    facts_.max_context_len = config.max_context_len;
    std::sort(never_.begin(), never_.end());
  }

  const ModelFacts& facts() const override { return facts_; }

  KvLayout kv_layout() const override {
    KvGroup group;
    group.layers = {0};
    group.num_kv_heads = 1;
    group.head_dim = 2;
    KvLayout layout;
    layout.block_size = block_size_;
    layout.groups = {std::move(group)};
    return layout;
  }

  Tensor forward(OpContext& op, const ModelBatch& batch,
                 std::span<const KvLayerCache> /*caches*/) const override {
    const std::int64_t num_rows = batch.logits_rows.dim(0);
    const Tensor logits = op.workspace().allocate(DType::kF32, {num_rows, facts_.vocab_size});
    if (logits.address == nullptr) {
      return logits;  // a dry run
    }
    for (std::int64_t r = 0; r < num_rows; ++r) {
      const std::int32_t t = batch.logits_rows.as<std::int32_t>()[r];
      float* row = logits.row<float>(r);
      std::fill_n(row, facts_.vocab_size, 0.0F);
      row[next(batch.token_ids.as<std::int32_t>()[t], batch.positions.as<std::int32_t>()[t])] =
          1.0F;
    }
    wait_for_step();
    return logits;
  }

 private:
  std::int64_t next(std::int32_t token, std::int32_t position) const {
    std::uint64_t hash = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(token)) << 32U) |
                         static_cast<std::uint32_t>(position);
    for (;;) {
      hash = mix64(hash);
      const auto id = static_cast<TokenId>(hash % static_cast<std::uint64_t>(facts_.vocab_size));
      if (!std::binary_search(never_.begin(), never_.end(), id)) {
        return id;
      }
    }
  }

  // Steps follow each other at the rate; time in which there was none is not made up for.
  void wait_for_step() const {
    MutexLock lock(mutex_);
    due_ = std::max(due_ + step_, system_clock().now());
    while (system_clock().now() < due_ && wake_.wait_until(lock, due_)) {
    }
  }

  ModelFacts facts_;
  std::vector<TokenId> never_;
  Clock::TimePoint::duration step_;
  std::int64_t block_size_;
  mutable Mutex mutex_;
  mutable CondVar wake_;
  mutable Clock::TimePoint due_ PLUMB_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Model> make_mock_model(const ModelConfig& config, double steps_per_second,
                                       std::vector<TokenId> never, std::int64_t block_size) {
  return std::make_unique<MockModel>(config, steps_per_second, std::move(never), block_size);
}

}  // namespace plumb
