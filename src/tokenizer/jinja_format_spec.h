// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace plumb::jinja {

/// Python's format specifier: [[fill]align][sign][z][#][0][width][grouping][.precision][type].
struct FormatSpec {
  char32_t fill = 0;  ///< 0: blank
  char align = '\0';
  char sign = '\0';
  bool no_negative_zero = false;
  bool alternate = false;
  bool zero_padded = false;
  std::int64_t width = 0;
  char grouping = '\0';
  std::int64_t precision = -1;  ///< -1: absent
  char type = '\0';
};

/// Digits of a non-negative float in the style of %e, %f or %g; upper-case types give upper case.
std::string float_digits(double value, char type, std::int64_t precision, bool alternate);
/// head (sign and prefix) and text padded to the width.
std::string pad_field(const FormatSpec& spec, const std::string& head, const std::string& text,
                      char default_align);

}  // namespace plumb::jinja
