// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "ops/op_table.h"
#include "tensor/workspace.h"

namespace plumb {

/// What a model's forward code computes with: the chosen ops, the step's workspace and the stream.
///
/// Each method takes inputs, allocates the result in the workspace, runs the op and returns the
/// result. Results live until the workspace mark under which they were made is released. In debug
/// builds every call is validated first. Thread: device.
class OpContext {
 public:
  OpContext(const OpTable& ops, Workspace& workspace, Stream& stream)
      : ops_(ops), workspace_(workspace), stream_(stream) {}

  Workspace& workspace() { return workspace_; }

  Stream& stream() { return stream_; }

  const OpTable& ops() const { return ops_; }

  /// ids i32 [T] -> f32 [T,H]
  Tensor embedding(const Tensor& ids, const Weight& weight, float scale = 1.0F);
  /// f32 [T,H] -> f32 [T,H]; also per head on a dense [T,Hx,D] tensor with weight [D]
  Tensor rms_norm(const Tensor& x, const Tensor& weight, float eps);
  void rms_norm_in_place(const Tensor& x, const Tensor& weight, float eps);
  /// residual += x; -> rms_norm(residual)
  Tensor add_rms_norm(const Tensor& x, const Tensor& residual, const Tensor& weight, float eps);
  /// x [M,K], w [N,K] -> [M,N]; bias with null address = none
  Tensor linear(const Tensor& x, const Weight& weight, const Tensor& bias = {});
  /// As linear, into y f32 [M,N] of the caller: a result that outlives the mark of the layer.
  void linear_into(const Tensor& x, const Weight& weight, const Tensor& y);
  /// Several products of one x; ys[i] are allocated here.
  void linear_many(const Tensor& x, std::span<LinearOutput> outputs);
  void rope(const Tensor& x, const Tensor& positions, const Tensor& inv_freq, RopeStyle style,
            float magnitude);
  Tensor glu(const Tensor& gate, const Tensor& up, Activation activation);
  void kv_append(const KvAppend& args);
  /// Fills y and scratch of `args` and runs it; -> [T, Hq*D]. max_context_len bounds context_lens.
  Tensor paged_attention(PagedAttention args, std::int64_t max_context_len);
  Tensor gather_rows(const Tensor& x, const Tensor& row_ids);
  /// y += x
  void add_into(const Tensor& x, const Tensor& y);
  /// layer_norm(x + residual), written to x; a residual with null address = none
  void layer_norm_in_place(const Tensor& x, const Tensor& residual, const Tensor& weight,
                           const Tensor& bias, float eps);
  void gelu_in_place(const Tensor& x, GeluForm form);
  /// q, k, v [T,H,D] of packed sequences -> [T, H*D]
  Tensor varlen_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const Tensor& cu_seqlens, float scale);
  /// x [T,H] of packed sequences -> [B,H]
  Tensor pool(const Tensor& x, const Tensor& cu_seqlens, Pooling pooling);

 private:
  const OpTable& ops_;
  Workspace& workspace_;
  Stream& stream_;
};

}  // namespace plumb
