// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "tensor/device.h"
#include "tensor/dtype.h"

namespace plumb {

class Weight;

/// How a back end arranges a weight matrix in memory. One constant per layout; every layout can
/// give its rows back, so that any back end can compute with any weight (slowly) and a swapped
/// operator needs no second copy.
struct WeightLayout {
  std::string_view name;  ///< "rows" (as in the file), "r16.q4_1", …
  /// Writes the K values of row `row`, bit-equal to dequantize() of the row that was packed.
  void (*unpack_row)(const Weight& weight, std::int64_t row, float* out);
};

/// A matrix [rows N, cols K] for linear and embedding: the back end's own form of the checkpoint's
/// bytes.
///
/// Ownership its Buffer, or nothing when the bytes are mapped from the file (then the checkpoint
/// outlives it). Thread    any after construction.
class Weight {
 public:
  Weight() = default;

  Weight(DType dtype, std::int64_t rows, std::int64_t cols, const WeightLayout* layout,
         Buffer storage)
      : dtype_(dtype),
        rows_(rows),
        cols_(cols),
        layout_(layout),
        bytes_(static_cast<const std::byte*>(storage.address()),
               static_cast<std::size_t>(storage.num_bytes())),
        storage_(std::move(storage)) {}

  Weight(DType dtype, std::int64_t rows, std::int64_t cols, const WeightLayout* layout,
         std::span<const std::byte> mapped)
      : dtype_(dtype), rows_(rows), cols_(cols), layout_(layout), bytes_(mapped) {}

  DType dtype() const { return dtype_; }

  std::int64_t rows() const { return rows_; }  ///< N, the outputs

  std::int64_t cols() const { return cols_; }  ///< K, the inputs

  const WeightLayout* layout() const { return layout_; }

  std::span<const std::byte> bytes() const { return bytes_; }

  bool is_mapped() const { return storage_.address() == nullptr && !bytes_.empty(); }

  bool empty() const { return rows_ == 0; }

  void unpack_row(std::int64_t row, float* out) const { layout_->unpack_row(*this, row, out); }

 private:
  DType dtype_ = DType::kF32;
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  const WeightLayout* layout_ = nullptr;
  std::span<const std::byte> bytes_;
  Buffer storage_;
};

/// The file's own arrangement: rows one after another in the format's blocks.
const WeightLayout& rows_layout();

/// The bytes of a matrix as a checkpoint holds them (rows in order, each row K / block blocks).
struct RawMatrix {
  DType dtype = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::span<const std::byte> bytes;
};

/// A weight format, whole blocks in each row, and as many bytes as the shape takes.
/// Errors kUnsupported: no weight format; kInvalidArgument: shape or byte count.
Status validate(const RawMatrix& raw);

}  // namespace plumb
