// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja_bigint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace plumb::jinja {

namespace {

constexpr int kLimbBits = 32;

std::uint32_t low(std::uint64_t x) {
  return static_cast<std::uint32_t>(x);
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  return (c | 0x20) - 'a' + 10;
}

}  // namespace

BigInt::BigInt(std::int64_t value) : negative_(value < 0) {
  std::uint64_t magnitude =
      negative_ ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
  for (; magnitude != 0; magnitude >>= kLimbBits) {
    limbs_.push_back(low(magnitude));
  }
}

void BigInt::trim() {
  while (!limbs_.empty() && limbs_.back() == 0) {
    limbs_.pop_back();
  }
  negative_ = negative_ && !limbs_.empty();
}

void BigInt::multiply_add_small(std::uint32_t factor, std::uint32_t addend) {
  std::uint64_t carry = addend;
  for (std::uint32_t& limb : limbs_) {
    carry += static_cast<std::uint64_t>(limb) * factor;
    limb = low(carry);
    carry >>= kLimbBits;
  }
  if (carry != 0) {
    limbs_.push_back(low(carry));
  }
}

BigInt BigInt::from_digits(std::string_view digits, int base) {
  BigInt out;
  for (const char c : digits) {
    out.multiply_add_small(static_cast<std::uint32_t>(base),
                           static_cast<std::uint32_t>(digit_value(c)));
  }
  return out;
}

BigInt BigInt::from_double(double value) {
  BigInt out;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);
  if (exponent <= 0) {
    return out;
  }
  auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  const int shift = exponent - 53;
  if (shift < 0) {
    mantissa >>= -shift;
  }
  out = BigInt(static_cast<std::int64_t>(mantissa));
  for (int left = shift; left > 0; left -= 30) {
    out.multiply_add_small(1U << std::min(left, 30), 0);
  }
  out.negative_ = value < 0;
  out.trim();
  return out;
}

std::int64_t BigInt::num_bits() const {
  if (limbs_.empty()) {
    return 0;
  }
  return static_cast<std::int64_t>(limbs_.size()) * kLimbBits - std::countl_zero(limbs_.back());
}

bool BigInt::to_int64(std::int64_t* out) const {
  if (limbs_.size() > 2) {
    return false;
  }
  std::uint64_t magnitude = 0;
  for (std::size_t i = limbs_.size(); i-- > 0;) {
    magnitude = (magnitude << kLimbBits) | limbs_[i];
  }
  const std::uint64_t limit = std::uint64_t{1} << 63;
  if (magnitude > limit || (magnitude == limit && !negative_)) {
    return false;
  }
  *out = static_cast<std::int64_t>(negative_ ? ~magnitude + 1 : magnitude);
  return true;
}

double BigInt::to_double() const {
  const std::int64_t bits = num_bits();
  if (bits > 1024) {
    return negative_ ? -std::numeric_limits<double>::infinity()
                     : std::numeric_limits<double>::infinity();
  }
  std::uint64_t top = 0;
  const std::int64_t drop = std::max<std::int64_t>(0, bits - 64);
  bool sticky = false;
  for (std::int64_t bit = bits - 1; bit >= drop; --bit) {
    const auto limb = static_cast<std::size_t>(bit / kLimbBits);
    top = (top << 1) | ((limbs_[limb] >> (bit % kLimbBits)) & 1U);
  }
  for (std::int64_t bit = 0; bit < drop && !sticky; ++bit) {
    sticky = ((limbs_[static_cast<std::size_t>(bit / kLimbBits)] >> (bit % kLimbBits)) & 1U) != 0;
  }
  // A set lowest bit keeps the rounding of the 64-bit integer on the right side of a tie.
  if (sticky) {
    top |= 1U;
  }
  const double magnitude = std::ldexp(static_cast<double>(top), static_cast<int>(drop));
  return negative_ ? -magnitude : magnitude;
}

std::uint32_t BigInt::divide_small(Limbs* limbs, std::uint32_t divisor) {
  std::uint64_t rest = 0;
  for (std::size_t i = limbs->size(); i-- > 0;) {
    rest = (rest << kLimbBits) | (*limbs)[i];
    (*limbs)[i] = low(rest / divisor);
    rest %= divisor;
  }
  while (!limbs->empty() && limbs->back() == 0) {
    limbs->pop_back();
  }
  return low(rest);
}

std::string BigInt::to_text(int base) const {
  if (limbs_.empty()) {
    return "0";
  }
  std::string reversed;
  Limbs rest = limbs_;
  // Nine decimal digits (or seven of a larger base) at a time.
  std::uint32_t chunk = 1;
  int chunk_digits = 0;
  while (static_cast<std::uint64_t>(chunk) * static_cast<std::uint64_t>(base) < (1ULL << 31)) {
    chunk *= static_cast<std::uint32_t>(base);
    ++chunk_digits;
  }
  while (!rest.empty()) {
    std::uint32_t part = divide_small(&rest, chunk);
    for (int i = 0; i < chunk_digits && (part != 0 || !rest.empty()); ++i) {
      reversed += "0123456789abcdefghijklmnopqrstuvwxyz"[part % static_cast<std::uint32_t>(base)];
      part /= static_cast<std::uint32_t>(base);
    }
  }
  if (negative_) {
    reversed += '-';
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

int BigInt::compare_magnitudes(const Limbs& a, const Limbs& b) {
  if (a.size() != b.size()) {
    return a.size() < b.size() ? -1 : 1;
  }
  for (std::size_t i = a.size(); i-- > 0;) {
    if (a[i] != b[i]) {
      return a[i] < b[i] ? -1 : 1;
    }
  }
  return 0;
}

BigInt::Limbs BigInt::add_magnitudes(const Limbs& a, const Limbs& b) {
  const Limbs& longer = a.size() >= b.size() ? a : b;
  const Limbs& shorter = a.size() >= b.size() ? b : a;
  Limbs out;
  out.reserve(longer.size() + 1);
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < longer.size(); ++i) {
    carry += longer[i];
    carry += i < shorter.size() ? shorter[i] : 0;
    out.push_back(low(carry));
    carry >>= kLimbBits;
  }
  if (carry != 0) {
    out.push_back(low(carry));
  }
  return out;
}

BigInt::Limbs BigInt::subtract_magnitudes(const Limbs& a, const Limbs& b) {
  Limbs out;
  out.reserve(a.size());
  std::int64_t borrow = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::int64_t digit = static_cast<std::int64_t>(a[i]) - borrow -
                         (i < b.size() ? static_cast<std::int64_t>(b[i]) : 0);
    borrow = digit < 0 ? 1 : 0;
    digit += borrow << kLimbBits;
    out.push_back(static_cast<std::uint32_t>(digit));
  }
  return out;
}

BigInt BigInt::operator-() const {
  BigInt out = *this;
  out.negative_ = !negative_ && !limbs_.empty();
  return out;
}

BigInt BigInt::operator+(const BigInt& other) const {
  BigInt out;
  if (negative_ == other.negative_) {
    out.limbs_ = add_magnitudes(limbs_, other.limbs_);
    out.negative_ = negative_;
  } else if (compare_magnitudes(limbs_, other.limbs_) >= 0) {
    out.limbs_ = subtract_magnitudes(limbs_, other.limbs_);
    out.negative_ = negative_;
  } else {
    out.limbs_ = subtract_magnitudes(other.limbs_, limbs_);
    out.negative_ = other.negative_;
  }
  out.trim();
  return out;
}

BigInt BigInt::operator-(const BigInt& other) const {
  return *this + (-other);
}

BigInt BigInt::operator*(const BigInt& other) const {
  BigInt out;
  out.limbs_.assign(limbs_.size() + other.limbs_.size(), 0);
  for (std::size_t i = 0; i < limbs_.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < other.limbs_.size(); ++j) {
      carry += out.limbs_[i + j] + static_cast<std::uint64_t>(limbs_[i]) * other.limbs_[j];
      out.limbs_[i + j] = low(carry);
      carry >>= kLimbBits;
    }
    out.limbs_[i + other.limbs_.size()] = low(carry);
  }
  out.negative_ = negative_ != other.negative_;
  out.trim();
  return out;
}

// Knuth, The Art of Computer Programming 2, 4.3.1, algorithm D.
void BigInt::divide_magnitudes(Limbs dividend, const Limbs& divisor, Limbs* quotient,
                               Limbs* remainder) {
  if (compare_magnitudes(dividend, divisor) < 0) {
    quotient->clear();
    *remainder = std::move(dividend);
    return;
  }
  if (divisor.size() == 1) {
    const std::uint32_t rest = divide_small(&dividend, divisor[0]);
    *quotient = std::move(dividend);
    remainder->assign(rest != 0 ? 1 : 0, rest);
    return;
  }
  const int shift = std::countl_zero(divisor.back());
  const auto shifted = [shift](const Limbs& in, std::size_t size) {
    Limbs out(size, 0);
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t high = i < in.size() ? in[i] : 0;
      const std::uint64_t below = i > 0 ? in[i - 1] : 0;
      out[i] = low((high << shift) | (below >> (kLimbBits - shift)));
    }
    return out;
  };
  const std::size_t n = divisor.size();
  const std::size_t m = dividend.size() - n;
  const Limbs v = shifted(divisor, n);
  Limbs u = shifted(dividend, dividend.size() + 1);
  quotient->assign(m + 1, 0);
  for (std::size_t j = m + 1; j-- > 0;) {
    const std::uint64_t top = (static_cast<std::uint64_t>(u[j + n]) << kLimbBits) | u[j + n - 1];
    std::uint64_t guess = top / v[n - 1];
    std::uint64_t rest = top % v[n - 1];
    while (guess >> kLimbBits != 0 || guess * v[n - 2] > ((rest << kLimbBits) | u[j + n - 2])) {
      --guess;
      rest += v[n - 1];
      if (rest >> kLimbBits != 0) {
        break;
      }
    }
    std::int64_t borrow = 0;
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < n; ++i) {
      carry += guess * v[i];
      const std::int64_t digit =
          static_cast<std::int64_t>(u[i + j]) - borrow - static_cast<std::int64_t>(low(carry));
      u[i + j] = static_cast<std::uint32_t>(digit);
      borrow = digit < 0 ? 1 : 0;
      carry >>= kLimbBits;
    }
    const std::int64_t last =
        static_cast<std::int64_t>(u[j + n]) - borrow - static_cast<std::int64_t>(carry);
    u[j + n] = static_cast<std::uint32_t>(last);
    if (last < 0) {
      --guess;
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < n; ++i) {
        sum += static_cast<std::uint64_t>(u[i + j]) + v[i];
        u[i + j] = low(sum);
        sum >>= kLimbBits;
      }
      u[j + n] += low(sum);
    }
    (*quotient)[j] = low(guess);
  }
  remainder->assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t pair = (static_cast<std::uint64_t>(u[i + 1]) << kLimbBits) | u[i];
    (*remainder)[i] = low(pair >> shift);
  }
}

void BigInt::divide(const BigInt& dividend, const BigInt& divisor, BigInt* quotient,
                    BigInt* remainder) {
  BigInt q;
  BigInt r;
  divide_magnitudes(dividend.limbs_, divisor.limbs_, &q.limbs_, &r.limbs_);
  q.negative_ = dividend.negative_ != divisor.negative_;
  r.negative_ = dividend.negative_;
  q.trim();
  r.trim();
  if (!r.is_zero() && r.negative_ != divisor.negative_) {
    q = q - BigInt(1);
    r = r + divisor;
  }
  *quotient = std::move(q);
  *remainder = std::move(r);
}

BigInt BigInt::power(std::int64_t exponent) const {
  BigInt out(1);
  BigInt base = *this;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) {
      out = out * base;
    }
    if (exponent > 1) {
      base = base * base;
    }
  }
  return out;
}

int BigInt::compare(const BigInt& other) const {
  if (negative_ != other.negative_) {
    return negative_ ? -1 : 1;
  }
  const int order = compare_magnitudes(limbs_, other.limbs_);
  return negative_ ? -order : order;
}

}  // namespace plumb::jinja
