// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "checkpoint/checkpoint.h"

namespace plumb {

/// How a weight is divided among ranks.
enum class ShardKind : unsigned char {
  kReplicate,  ///< every rank has all of it
  kColumns,    ///< column-parallel: the output rows N of [N, K] (or [N]) are divided
  kRows,       ///< row-parallel: the inputs K of [N, K] are divided at block boundaries; the ranks'
               ///< products add up to the whole
  kVocab,      ///< as kColumns, but N need not be divisible: the last ranks may have fewer rows
};

/// The part of rank `rank` of `size`. For kColumns, whole groups of `unit` rows stay together (for
/// instance the rows of one head).
struct ShardRule {
  ShardKind kind = ShardKind::kReplicate;
  int rank = 0;
  int size = 1;
  std::int64_t unit = 1;
};

/// One rank's part of a weight: a view where its bytes are contiguous in the file, else a copy.
/// Ownership of a view: the checkpoint must outlive it.
struct TensorShard {
  RawTensor tensor;                ///< shape and bytes of the part
  std::int64_t begin = 0;          ///< index of its first row (kColumns, kVocab) or input (kRows)
  std::vector<std::byte> storage;  ///< behind tensor.bytes if it is a copy

  bool is_view() const { return storage.empty(); }
};

/// The part of `whole` that `rule` gives. Three dimensions [E, N, K] are E matrices, each divided.
///
/// Requires  0 <= rule.rank < rule.size, rule.unit >= 1.
/// Errors    kUnsupported: N or K (in blocks) cannot be divided by the number of ranks, or a rank
///           of dimensions that the kind does not divide; the message says the numbers.
/// Cost      no copy for kReplicate, kColumns and kVocab of one matrix.
Result<TensorShard> shard(const RawTensor& whole, const ShardRule& rule);

}  // namespace plumb
