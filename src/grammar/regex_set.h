// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace plumb {

/// A regular expression inside one RegexSet.
enum class RegexId : std::uint32_t {};

/// An inclusive range of code points.
struct CodePointRange {
  char32_t first = 0;
  char32_t last = 0;
  auto operator<=>(const CodePointRange&) const = default;
};

/// Repetition without an upper bound.
inline constexpr std::int64_t kUnbounded = -1;

/// Regular languages over bytes, closed under intersection and complement, shared structurally:
/// expressions that simplify to the same form have the same id.
///
/// Text is UTF-8: char_class() matches the encoding of one code point, never a part of one, and no
/// surrogate. Complement is relative to all byte strings: intersect it with text() to stay inside
/// well-formed UTF-8.
/// Thread  one at a time.
/// Source  Brzozowski 1964; Owens, Reppy, Turon 2009 (derivatives re-examined).
class RegexSet {
 public:
  RegexSet();

  /// No string at all.
  RegexId none() const;
  /// The empty string only.
  RegexId empty() const;
  /// Every byte string.
  RegexId everything() const;
  /// Every well-formed UTF-8 string.
  RegexId text();

  RegexId byte_range(std::uint8_t first, std::uint8_t last);
  RegexId literal(std::string_view bytes);
  /// One code point of the ranges; they may overlap and need no order.
  RegexId char_class(std::span<const CodePointRange> ranges);
  /// One code point outside the ranges.
  RegexId other_char(std::span<const CodePointRange> ranges);

  RegexId concat(std::span<const RegexId> parts);
  RegexId any_of(std::span<const RegexId> parts);
  RegexId all_of(std::span<const RegexId> parts);
  RegexId complement(RegexId regex);
  /// Requires 0 <= min, and max = kUnbounded or max >= min.
  RegexId repeat(RegexId regex, std::int64_t min, std::int64_t max);

  /// Whether the empty string belongs to the language.
  bool is_nullable(RegexId regex) const;
  /// What may follow that byte.
  RegexId derivative(RegexId regex, std::uint8_t byte);

  /// Expressions made so far: what a limit on compilation counts.
  std::int64_t size() const;
};

}  // namespace plumb
