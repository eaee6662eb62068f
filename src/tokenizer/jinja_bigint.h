// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::jinja {

/// An exact integer of any size, for template arithmetic that leaves int64.
///
/// Numerics  sign and magnitude; zero is never negative. Division floors, as Python's does.
/// Cost      schoolbook: products and quotients are quadratic in the number of digits.
class BigInt {
 public:
  BigInt() = default;
  explicit BigInt(std::int64_t value);
  /// Requires digits of the base only (at least one), base in [2, 36].
  static BigInt from_digits(std::string_view digits, int base);
  /// Truncates towards zero. Requires a finite value.
  static BigInt from_double(double value);

  bool is_negative() const { return negative_; }

  bool is_zero() const { return limbs_.empty(); }

  bool is_odd() const { return !limbs_.empty() && (limbs_[0] & 1U) != 0; }

  std::int64_t num_bits() const;  ///< of the magnitude; 0 for zero
  bool to_int64(std::int64_t* out) const;
  double to_double() const;  ///< nearest, ties to even; infinite if out of range
  std::string to_text(int base = 10) const;

  BigInt operator-() const;
  BigInt operator+(const BigInt& other) const;
  BigInt operator-(const BigInt& other) const;
  BigInt operator*(const BigInt& other) const;
  /// Quotient rounded down and a remainder with the divisor's sign. Requires divisor is not zero.
  static void divide(const BigInt& dividend, const BigInt& divisor, BigInt* quotient,
                     BigInt* remainder);
  /// Requires exponent >= 0; the caller bounds the size of the result.
  BigInt power(std::int64_t exponent) const;
  /// Negative, zero or positive as this is below, equal to or above other.
  int compare(const BigInt& other) const;

  bool operator==(const BigInt& other) const { return compare(other) == 0; }

 private:
  using Limbs = std::vector<std::uint32_t>;
  static int compare_magnitudes(const Limbs& a, const Limbs& b);
  static Limbs add_magnitudes(const Limbs& a, const Limbs& b);
  static Limbs subtract_magnitudes(const Limbs& a, const Limbs& b);
  static std::uint32_t divide_small(Limbs* limbs, std::uint32_t divisor);
  static void divide_magnitudes(Limbs dividend, const Limbs& divisor, Limbs* quotient,
                                Limbs* remainder);
  void multiply_add_small(std::uint32_t factor, std::uint32_t addend);
  void trim();

  Limbs limbs_;  ///< least significant first, no leading zero limb
  bool negative_ = false;
};

}  // namespace plumb::jinja
