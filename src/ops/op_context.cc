// SPDX-License-Identifier: Apache-2.0
#include "ops/op_context.h"

namespace plumb {
namespace {

// Debug builds check each call; a release call trusts the plan, which was validated on the meta
// back end.
template <class Args>
void run(void (*op)(const Args&, Stream&), const Args& args, Stream& stream) {
#ifndef NDEBUG
  const Status status = validate(args);
  PLUMB_CHECK(status.ok(), status.message());
#endif
  op(args, stream);
}

// [T,Hx,D] is normed per head: as [T*Hx,D].
Tensor norm_rows(const Tensor& x) {
  return x.shape.rank() == 3 ? x.reshaped({x.dim(0) * x.dim(1), x.dim(2)}) : x;
}

}  // namespace

Tensor OpContext::embedding(const Tensor& ids, const Weight& weight, float scale) {
  const Tensor y = workspace_.allocate(DType::kF32, {ids.dim(0), weight.cols()});
  run(ops_.embedding, Embedding{ids, &weight, y, scale}, stream_);
  return y;
}

Tensor OpContext::rms_norm(const Tensor& x, const Tensor& weight, float eps) {
  const Tensor y = workspace_.allocate(DType::kF32, x.shape);
  run(ops_.rms_norm, RmsNorm{norm_rows(x), weight, norm_rows(y), eps}, stream_);
  return y;
}

void OpContext::rms_norm_in_place(const Tensor& x, const Tensor& weight, float eps) {
  run(ops_.rms_norm, RmsNorm{norm_rows(x), weight, norm_rows(x), eps}, stream_);
}

Tensor OpContext::add_rms_norm(const Tensor& x, const Tensor& residual, const Tensor& weight,
                               float eps) {
  const Tensor y = workspace_.allocate(DType::kF32, {x.dim(0), x.dim(1)});
  run(ops_.add_rms_norm, AddRmsNorm{x, residual, weight, y, eps}, stream_);
  return y;
}

Tensor OpContext::linear(const Tensor& x, const Weight& weight, const Tensor& bias) {
  LinearOutput output{&weight, {}, bias};
  linear_many(x, {&output, 1});
  return output.y;
}

void OpContext::linear_into(const Tensor& x, const Weight& weight, const Tensor& y) {
  const Workspace::Mark mark(workspace_);
  const Tensor scratch =
      workspace_.allocate(DType::kI8, {linear_scratch_bytes(x.dim(0), x.dim(1))});
  const LinearOutput output{&weight, y, {}};
  run(ops_.linear, Linear{x, {&output, 1}, scratch}, stream_);
}

void OpContext::linear_many(const Tensor& x, std::span<LinearOutput> outputs) {
  for (LinearOutput& output : outputs) {
    output.y = workspace_.allocate(DType::kF32, {x.dim(0), output.weight->rows()});
  }
  const Workspace::Mark mark(workspace_);
  const Tensor scratch =
      workspace_.allocate(DType::kI8, {linear_scratch_bytes(x.dim(0), x.dim(1))});
  run(ops_.linear, Linear{x, outputs, scratch}, stream_);
}

void OpContext::rope(const Tensor& x, const Tensor& positions, const Tensor& inv_freq,
                     RopeStyle style, float magnitude) {
  run(ops_.rope, Rope{x, positions, inv_freq, style, magnitude}, stream_);
}

Tensor OpContext::glu(const Tensor& gate, const Tensor& up, Activation activation) {
  run(ops_.glu, Glu{gate, up, gate, activation}, stream_);
  return gate;
}

void OpContext::kv_append(const KvAppend& args) {
  run(ops_.kv_append, args, stream_);
}

Tensor OpContext::paged_attention(PagedAttention args, std::int64_t max_context_len) {
  const std::int64_t num_tokens = args.q.dim(0);
  const std::int64_t num_q_heads = args.q.dim(1);
  const std::int64_t head_dim = args.q.dim(2);
  args.y = workspace_.allocate(DType::kF32, {num_tokens, num_q_heads, head_dim});
  const Workspace::Mark mark(workspace_);
  args.scratch = workspace_.allocate(
      DType::kI8,
      {paged_attention_scratch_bytes(num_tokens, num_q_heads, head_dim, max_context_len)});
  run(ops_.paged_attention, args, stream_);
  return args.y.reshaped({num_tokens, num_q_heads * head_dim});
}

Tensor OpContext::gather_rows(const Tensor& x, const Tensor& row_ids) {
  const Tensor y = workspace_.allocate(DType::kF32, {row_ids.dim(0), x.dim(1)});
  run(ops_.gather_rows, GatherRows{x, row_ids, y}, stream_);
  return y;
}

void OpContext::add_into(const Tensor& x, const Tensor& y) {
  run(ops_.add, Add{x, y}, stream_);
}

void OpContext::layer_norm_in_place(const Tensor& x, const Tensor& residual, const Tensor& weight,
                                    const Tensor& bias, float eps) {
  run(ops_.layer_norm, LayerNorm{x, residual, weight, bias, x, eps}, stream_);
}

void OpContext::gelu_in_place(const Tensor& x, GeluForm form) {
  run(ops_.gelu, Gelu{x, x, form}, stream_);
}

Tensor OpContext::varlen_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                   const Tensor& cu_seqlens, float scale) {
  const Tensor y = workspace_.allocate(DType::kF32, q.shape);
  run(ops_.varlen_attention, VarlenAttention{q, k, v, cu_seqlens, y, scale}, stream_);
  return y.reshaped({q.dim(0), q.dim(1) * q.dim(2)});
}

Tensor OpContext::pool(const Tensor& x, const Tensor& cu_seqlens, Pooling pooling) {
  const Tensor y = workspace_.allocate(DType::kF32, {cu_seqlens.dim(0) - 1, x.dim(1)});
  run(ops_.pool, Pool{x, cu_seqlens, y, pooling}, stream_);
  return y;
}

}  // namespace plumb
