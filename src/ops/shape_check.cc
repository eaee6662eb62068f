// SPDX-License-Identifier: Apache-2.0
#include "ops/shape_check.h"

#include <algorithm>

namespace plumb {
namespace {

std::int64_t row_elements(const Tensor& tensor) {
  std::int64_t count = 1;
  for (int i = 1; i < tensor.shape.rank(); ++i) {
    count *= tensor.shape[i];
  }
  return count;
}

std::int64_t bytes_of(const Tensor& tensor, std::int64_t elements) {
  const DTypeTraits& t = traits(tensor.dtype);
  return elements / t.block_elems * t.block_bytes;
}

/// The bytes of a tensor: `count` rows of `width` bytes, `stride` bytes apart.
struct ByteRows {
  std::uintptr_t begin;
  std::int64_t count;
  std::int64_t width;
  std::int64_t stride;

  explicit ByteRows(const Tensor& tensor)
      : begin(reinterpret_cast<std::uintptr_t>(tensor.address)),
        count(tensor.shape.rank() > 0 ? tensor.dim(0) : 1),
        width(bytes_of(tensor, row_elements(tensor))),
        stride(bytes_of(tensor, tensor.row_stride)) {}

  std::uintptr_t end() const {
    return begin + static_cast<std::uintptr_t>((count - 1) * stride + width);
  }
};

}  // namespace

bool overlap(const Tensor& a, const Tensor& b) {
  if (a.address == nullptr || b.address == nullptr || a.num_elements() == 0 ||
      b.num_elements() == 0) {
    return false;
  }
  const ByteRows x(a);
  const ByteRows y(b);
  if (x.end() <= y.begin || y.end() <= x.begin) {
    return false;
  }
  if (x.stride != y.stride || x.stride <= 0) {
    return true;
  }
  // Equal strides: the rows interleave when y begins behind x's row and ends before its next one.
  const std::int64_t distance =
      static_cast<std::int64_t>(y.begin) - static_cast<std::int64_t>(x.begin);
  const std::int64_t offset = ((distance % x.stride) + x.stride) % x.stride;
  return offset < x.width || offset + y.width > x.stride;
}

bool ExpectedSize::accepts(std::int64_t size) const {
  if (dim_ == nullptr) {
    return size == number_;
  }
  return dim_->is_bound() ? size == dim_->value() : size >= 0;
}

void ExpectedSize::bind(std::int64_t size) const {
  if (dim_ != nullptr) {
    dim_->bind(size);
  }
}

std::string ExpectedSize::text() const {
  if (dim_ == nullptr) {
    return std::to_string(number_);
  }
  const std::string name(dim_->name());
  return dim_->is_bound() ? name + "=" + std::to_string(dim_->value()) : name;
}

void ShapeCheck::fail(const std::string& violation) {
  if (status_.ok()) {
    status_ = Status{Code::kInvalidArgument, std::string(op_) + ": " + violation};
  }
}

ShapeCheck& ShapeCheck::match(std::string_view name, const Shape& shape,
                              std::initializer_list<ExpectedSize> expected) {
  int axis = 0;
  bool accepted = shape.rank() == static_cast<int>(expected.size());
  for (const ExpectedSize& size : expected) {
    accepted = accepted && size.accepts(shape[axis++]);
  }
  axis = 0;
  std::string wanted;
  for (const ExpectedSize& size : expected) {
    if (accepted) {
      // A name that occurs twice in one shape must agree with itself.
      accepted = size.accepts(shape[axis]);
      if (accepted) {
        size.bind(shape[axis++]);
      }
    }
    wanted += (wanted.empty() ? "" : ", ") + size.text();
  }
  if (!accepted) {
    fail(std::string(name) + " " + to_text(shape) + ", expected [" + wanted + "]");
  }
  return *this;
}

ShapeCheck& ShapeCheck::match(std::string_view name, const Tensor& tensor, DType dtype,
                              std::initializer_list<ExpectedSize> expected) {
  if (tensor.dtype != dtype) {
    fail(std::string(name) + " is " + std::string(to_text(tensor.dtype)) + ", expected " +
         std::string(to_text(dtype)));
  }
  match(name, tensor.shape, expected);
  const std::int64_t width = row_elements(tensor);
  if (tensor.shape.rank() > 0 && tensor.dim(0) > 1 && tensor.row_stride < width) {
    fail(std::string(name) + " has row stride " + std::to_string(tensor.row_stride) +
         ", expected at least " + std::to_string(width));
  }
  return *this;
}

ShapeCheck& ShapeCheck::match_dense(std::string_view name, const Tensor& tensor, DType dtype,
                                    std::initializer_list<ExpectedSize> expected) {
  match(name, tensor, dtype, expected);
  if (status_.ok() && !tensor.is_dense()) {
    fail(std::string(name) + " has row stride " + std::to_string(tensor.row_stride) +
         ", expected dense rows of " + std::to_string(row_elements(tensor)));
  }
  return *this;
}

ShapeCheck& ShapeCheck::disjoint(std::string_view name, const Tensor& tensor,
                                 std::string_view other_name, const Tensor& other) {
  if (status_.ok() && overlap(tensor, other)) {
    fail(std::string(name) + " overlaps " + std::string(other_name));
  }
  return *this;
}

ShapeCheck& ShapeCheck::same_or_disjoint(std::string_view name, const Tensor& tensor,
                                         std::string_view other_name, const Tensor& other) {
  const bool same = tensor.address == other.address &&
                    (tensor.row_stride == other.row_stride || tensor.dim(0) <= 1);
  if (status_.ok() && !same && overlap(tensor, other)) {
    fail(std::string(name) + " overlaps " + std::string(other_name) +
         " in part, expected the same rows or none");
  }
  return *this;
}

ShapeCheck& ShapeCheck::scratch(const Tensor& tensor, std::int64_t num_bytes) {
  if (tensor.dtype != DType::kI8 || tensor.shape.rank() != 1 || tensor.dim(0) < num_bytes) {
    fail("scratch " + std::string(to_text(tensor.dtype)) + " " + to_text(tensor.shape) +
         ", expected at least I8 [" + std::to_string(num_bytes) + "]");
  }
  return require(reinterpret_cast<std::uintptr_t>(tensor.address) % 64 == 0,
                 "scratch is not aligned to 64 bytes");
}

ShapeCheck& ShapeCheck::require(bool condition, std::string_view violation) {
  if (!condition) {
    fail(std::string(violation));
  }
  return *this;
}

}  // namespace plumb
