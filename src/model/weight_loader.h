// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/shard.h"
#include "model/shard_rank.h"
#include "ops/backend.h"
#include "ops/weight.h"
#include "tensor/tensor.h"

namespace plumb {

/// What one tensor is called in the two kinds of checkpoint.
struct TensorName {
  std::string gguf;
  std::string hf;
};

/// Small parameters (norm weights, biases, rotation frequencies) as f32 in device memory.
/// Ownership of its memory; a default one is absent.
struct Parameter {
  Tensor tensor;
  Buffer storage;

  bool present() const { return tensor.shape.rank() > 0; }
};

/// Takes tensors from a checkpoint by name, checks their shapes, cuts this rank's share and packs
/// them.
///
/// A problem does not stop the loading: all missing, misshapen and unexpected tensors are reported
/// together by finish(). Thread: any single one.
class WeightLoader {
 public:
  WeightLoader(Checkpoint& checkpoint, Backend& backend, ShardRank rank);

  /// The matrix [rows N, cols K] of the whole model; the result is this rank's share of it.
  Weight matrix(const TensorName& name, std::int64_t rows, std::int64_t cols, ShardKind kind);
  /// As matrix(); floats become Q13 (tensor/dtype.h) where a row is whole blocks of it.
  Weight rounded_matrix(const TensorName& name, std::int64_t rows, std::int64_t cols,
                        ShardKind kind);
  /// As matrix(); empty if the checkpoint lacks it.
  Weight optional_matrix(const TensorName& name, std::int64_t rows, std::int64_t cols,
                         ShardKind kind);
  /// A vector of n values, each plus `offset`.
  Parameter vector(const TensorName& name, std::int64_t n, ShardKind kind = ShardKind::kReplicate,
                   double offset = 0.0);
  Parameter optional_vector(const TensorName& name, std::int64_t n,
                            ShardKind kind = ShardKind::kReplicate);
  /// A tensor that the model has no use for; it may be absent.
  void ignore(const TensorName& name);
  /// Values on the host; empty if absent.
  std::vector<float> host_vector(const TensorName& name, std::int64_t n);
  /// Copies host values to the device.
  Parameter parameter(const std::vector<float>& values);

  const ShardRank& rank() const { return rank_; }

  std::int64_t num_parameters() const { return num_parameters_; }

  std::int64_t weight_bytes() const { return weight_bytes_; }

  /// Every problem in one message.
  Status finish() const;

 private:
  const std::string& pick(const TensorName& name) const;
  enum class Form : unsigned char { kAsFile, kRounded };

  Weight pack(const TensorRecord& record, std::int64_t rows, std::int64_t cols, ShardKind kind,
              Form form = Form::kAsFile);
  Result<Weight> owned(const Weight& mapped);
  std::vector<float> values_of(const TensorRecord& record, std::int64_t n);
  Parameter load_vector(const TensorRecord& record, std::int64_t n, ShardKind kind, double offset);
  const TensorRecord* take(const TensorName& name, bool required);
  bool check_dims(const TensorRecord& record, const std::vector<std::int64_t>& expected);
  void complain(std::string problem);

  Checkpoint& checkpoint_;
  Backend& backend_;
  ShardRank rank_;
  std::set<std::string, std::less<>> used_;
  std::vector<std::string> missing_;
  std::vector<std::string> problems_;
  std::int64_t num_parameters_ = 0;
  std::int64_t weight_bytes_ = 0;
};

}  // namespace plumb
