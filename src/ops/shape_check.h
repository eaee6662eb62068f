// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/status.h"
#include "tensor/tensor.h"

namespace plumb {

/// A named size of an op's shapes: bound by the first shape that holds it, equal in all later ones.
/// Ownership `name` is a literal.
class Dim {
 public:
  explicit Dim(std::string_view name) : name_(name) {}

  std::string_view name() const { return name_; }

  bool is_bound() const { return value_ >= 0; }

  std::int64_t value() const { return value_; }  ///< -1 before it is bound

  void bind(std::int64_t value) { value_ = value; }

 private:
  std::string_view name_;
  std::int64_t value_ = -1;
};

/// A size in an expected shape: a Dim or a number.
class ExpectedSize {
 public:
  ExpectedSize(Dim& dim) : dim_(&dim) {}  // NOLINT(google-explicit-constructor): {T, H}

  ExpectedSize(std::int64_t number)  // NOLINT(google-explicit-constructor): {T, 4}
      : number_(number) {}

  bool accepts(std::int64_t size) const;
  void bind(std::int64_t size) const;
  std::string text() const;  ///< "T=8", "T" while unbound, "4"

 private:
  Dim* dim_ = nullptr;
  std::int64_t number_ = 0;
};

/// Checks the arguments of one op call; the first violation is kept and says what was expected:
/// "paged_attention: context_lens [7], expected [B=8]".
///
/// Contents are never read: addresses may be null or belong to a device.
class ShapeCheck {
 public:
  explicit ShapeCheck(std::string_view op) : op_(op) {}

  ShapeCheck& match(std::string_view name, const Shape& shape,
                    std::initializer_list<ExpectedSize> expected);
  /// The type, the shape and a row stride that keeps rows apart.
  ShapeCheck& match(std::string_view name, const Tensor& tensor, DType dtype,
                    std::initializer_list<ExpectedSize> expected);
  /// match, and rows without gaps between them.
  ShapeCheck& match_dense(std::string_view name, const Tensor& tensor, DType dtype,
                          std::initializer_list<ExpectedSize> expected);
  ShapeCheck& disjoint(std::string_view name, const Tensor& tensor, std::string_view other_name,
                       const Tensor& other);
  /// The same rows at the same addresses, or no common byte.
  ShapeCheck& same_or_disjoint(std::string_view name, const Tensor& tensor,
                               std::string_view other_name, const Tensor& other);
  /// An i8 vector of at least `num_bytes` at a multiple of 64.
  ShapeCheck& scratch(const Tensor& tensor, std::int64_t num_bytes);
  /// `violation` says what is wrong, with its values.
  ShapeCheck& require(bool condition, std::string_view violation);

  const Status& status() const { return status_; }

 private:
  void fail(const std::string& violation);

  std::string_view op_;
  Status status_;
};

/// True if the tensors have a byte in common; rows that interleave in one buffer have none.
bool overlap(const Tensor& a, const Tensor& b);

}  // namespace plumb
