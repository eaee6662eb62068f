// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "engine/embedding_model.h"
#include "ops/cost_stream.h"
#include "ops/op_context.h"
#include "tensor/workspace.h"

namespace plumb {

/// The workspace, stream and read-back that every kind of embedding model needs.
/// Thread: one at a time.
class EmbeddingPass {
 public:
  /// From the inputs of a pass, whatever they are, to vectors f32 [B,H] in the workspace.
  using Forward = std::function<Tensor(OpContext& op)>;

  /// Allocates what `largest`, the largest pass with null addresses, takes.
  /// Errors kResourceExhausted.
  static Result<EmbeddingPass> create(const EmbeddingBackend& backend, const Forward& largest) {
    Workspace measured = Workspace::measure();
    CostStream costs;
    OpContext dry(*backend.meta_ops, measured, costs);
    largest(dry);
    PLUMB_ASSIGN(Workspace workspace,
                 Workspace::create(backend.backend->allocator(), measured.peak_bytes()));
    return EmbeddingPass(backend, std::move(workspace));
  }

  Stream& stream() { return *stream_; }

  /// Errors kDeviceLost.
  Result<std::vector<std::vector<float>>> run(const Forward& forward) {
    const Workspace::Mark mark(workspace_);
    OpContext op(backend_.ops, workspace_, *stream_);
    const Tensor vectors = forward(op);  // [B, H]
    const std::int64_t width = vectors.dim(1);
    std::vector<std::vector<float>> out;
    for (std::int64_t b = 0; b < vectors.dim(0); ++b) {
      out.emplace_back(static_cast<std::size_t>(width));
      backend_.backend->copy(out.back().data(), vectors.row<float>(b),
                             width * static_cast<std::int64_t>(sizeof(float)), *stream_);
    }
    PLUMB_RETURN_IF_ERROR(stream_->synchronize());
    PLUMB_RETURN_IF_ERROR(stream_->poll());
    return out;
  }

 private:
  EmbeddingPass(const EmbeddingBackend& backend, Workspace workspace)
      : backend_(backend),
        workspace_(std::move(workspace)),
        stream_(backend.backend->new_stream()) {}

  EmbeddingBackend backend_;
  Workspace workspace_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace plumb
