// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "model/blocks/head.h"
#include "model/model.h"

namespace plumb {

/// The walk through the layers that all pre-norm decoders share; a family says what its layers do.
///
/// `x` is what the last block put out and is not yet part of `residual`: the next norm adds it. The
/// last layer goes on with the rows whose logits are wanted only.
template <class Layer>
class Decoder : public Model {
 public:
  const ModelFacts& facts() const override { return facts_; }

  KvLayout kv_layout() const override { return layout_; }

  Tensor forward(OpContext& op, const ModelBatch& batch,
                 std::span<const KvLayerCache> caches) const override {
    Tensor residual = head_.embed(op, batch.token_ids);               // [T, hidden]
    Tensor x = op.workspace().allocate(DType::kF32, residual.shape);  // [T, hidden]
    for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
      const Workspace::Mark mark(op.workspace());
      const Tensor h = normed(op, i, x, residual);                       // [T, hidden]
      const Tensor a = layers_[i].attn.attend(op, h, batch, caches[i]);  // [T, Hq*D]
      finish_layer(op, layers_[i], a, x, residual);
    }
    const std::size_t last = layers_.size() - 1;
    const Tensor h = normed(op, last, x, residual);                    // [T, hidden]
    Tensor a = layers_[last].attn.attend(op, h, batch, caches[last]);  // [T, Hq*D]
    a = op.gather_rows(a, batch.logits_rows);                          // [R, Hq*D]
    residual = op.gather_rows(residual, batch.logits_rows);            // [R, hidden]
    x = op.workspace().allocate(DType::kF32, residual.shape);          // [R, hidden]
    finish_layer(op, layers_[last], a, x, residual);
    return batch.wants_hidden ? head_.hidden(op, x, residual)   // [R, hidden]
                              : head_.logits(op, x, residual);  // [R, V]
  }

 protected:
  /// Output projection and feed-forward: heads a [T, Hq*D] -> x; residual += the projection.
  virtual void finish_layer(OpContext& op, const Layer& layer, const Tensor& a, const Tensor& x,
                            const Tensor& residual) const = 0;

  HeadBlock head_;
  std::vector<Layer> layers_;
  float eps_ = 1e-6F;
  ModelFacts facts_;
  KvLayout layout_;

 private:
  Tensor normed(OpContext& op, std::size_t i, const Tensor& x, const Tensor& residual) const {
    const Tensor& weight = layers_[i].attn_norm.tensor;
    return i == 0 ? op.rms_norm(residual, weight, eps_)
                  : op.add_rms_norm(x, residual, weight, eps_);
  }
};

}  // namespace plumb
