// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/check.h"
#include "tensor/dtype.h"

namespace plumb {

inline constexpr int kMaxRank = 4;

/// Sizes of the dimensions, slowest first ([T, H]: T rows of H elements).
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims);

  int rank() const { return rank_; }

  std::int64_t operator[](int i) const { return dims_[static_cast<std::size_t>(i)]; }

  std::int64_t num_elements() const;
  bool operator==(const Shape&) const = default;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

std::string to_text(const Shape& shape);  ///< "[3, 576]"

/// A view of a dense array: type, shape, row stride and address. It owns nothing; a null address is
/// legal for shape computation (the meta back end) and for zero elements.
///
/// All dimensions but the first are contiguous; `row_stride` is the distance in elements between
/// neighbours along dimension 0 (for a block format: in elements, a multiple of the block length).
/// Ownership who allocated it (Workspace, Buffer) must outlive it.
struct Tensor {
  void* address = nullptr;
  DType dtype = DType::kF32;
  Shape shape;
  std::int64_t row_stride = 0;

  static Tensor dense(void* address, DType dtype, const Shape& shape);

  std::int64_t dim(int i) const { return shape[i]; }

  std::int64_t num_elements() const { return shape.num_elements(); }

  bool is_dense() const {
    return row_stride * (shape.rank() > 0 ? shape[0] : 1) == num_elements() || shape[0] <= 1;
  }

  /// First element of row i. Requires T is the C++ type of dtype (float, std::uint16_t for the
  /// 16-bit floats, …).
  template <class T>
  T* row(std::int64_t i) const {
    return static_cast<T*>(address) + i * row_stride;
  }

  template <class T>
  T* as() const {
    return static_cast<T*>(address);
  }

  /// Rows [begin, begin + count). Same dtype and stride.
  Tensor rows(std::int64_t begin, std::int64_t count) const;
  /// Same elements with another shape. Requires dense, or only the dimensions after the first
  /// change.
  Tensor reshaped(const Shape& to) const;
};

}  // namespace plumb
