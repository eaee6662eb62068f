// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/digest.h"
#include "base/status.h"
#include "grammar/compile_budget.h"
#include "grammar/regex_set.h"

namespace plumb {

/// The deterministic automaton of a regular expression, built whole, with only live states: from
/// each of them an accepting state can be reached.
/// Thread  any (immutable).
class Dfa {
 public:
  static constexpr std::int32_t kDead = -1;
  /// only_byte() of a state that several bytes leave.
  static constexpr int kSeveralBytes = -1;
  /// only_byte() of a state that no byte leaves.
  static constexpr int kNoByte = -2;

  /// Errors: kResourceExhausted, kDeadlineExceeded from the budget.
  /// Cost: a derivative for each state and class of bytes.
  static Result<Dfa> build(RegexId regex, RegexSet* set, CompileBudget* budget);

  /// The same language with that byte anywhere in its texts. Requires no text has the byte.
  Dfa with_loop(std::uint8_t byte) const;

  /// kDead if the language is empty, else 0.
  std::int32_t start() const { return accepting_.empty() ? kDead : 0; }

  /// Requires a live state.
  std::int32_t next(std::int32_t state, std::uint8_t byte) const {
    return next_[static_cast<std::size_t>(state) * static_cast<std::size_t>(num_classes_) +
                 byte_class_[byte]];
  }

  bool is_accepting(std::int32_t state) const {
    return accepting_[static_cast<std::size_t>(state)] != 0;
  }

  /// The byte that follows if there is exactly one, else kSeveralBytes or kNoByte.
  int only_byte(std::int32_t state) const { return only_byte_[static_cast<std::size_t>(state)]; }

  std::int32_t num_states() const { return static_cast<std::int32_t>(accepting_.size()); }

  std::int32_t num_classes() const { return num_classes_; }

  int byte_class(std::uint8_t byte) const { return byte_class_[byte]; }

  /// States of equal class fare alike, dying and accepting included, on all texts of up to kHorizon
  /// bytes; on all texts if is_horizon_exact(). So the many states of a counted repetition are one
  /// class but for the last few.
  std::int32_t horizon_class(std::int32_t state) const {
    return horizon_class_[static_cast<std::size_t>(state)];
  }

  bool is_horizon_exact() const { return is_horizon_exact_; }

  static constexpr std::uint32_t kHorizon = 16;

  /// SHA-256 of the tables, so that what is known about an automaton can be shared by content.
  const Digest256& digest() const { return digest_; }

  std::int64_t num_bytes() const;

 private:
  class Builder;
  Dfa() = default;
  void find_digest();

  std::array<std::uint8_t, 256> byte_class_{};
  std::int32_t num_classes_ = 1;
  std::vector<std::int32_t> next_;  // [num_states, num_classes]
  std::vector<std::uint8_t> accepting_;
  std::vector<std::int16_t> only_byte_;
  std::vector<std::int32_t> horizon_class_;
  bool is_horizon_exact_ = false;
  Digest256 digest_{};
};

}  // namespace plumb
