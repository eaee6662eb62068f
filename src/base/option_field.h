// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace plumb {

// One line per option, in the struct of the module that owns it:
//
//   struct SchedulerOptions {
//     std::int32_t max_num_seqs = 256;
//     static constexpr auto fields() {
//       using S = SchedulerOptions;
//       return std::tuple{field(&S::max_num_seqs, "max-num-seqs", "sequences in one step", 1,
//       65536)};
//     }
//   };
//
// Flag, JSON key, environment name, help text, range check, documents and start-up print come from
// that line through bind_options() (base/options.h).

enum class FieldForm : unsigned char { kPlain, kPath, kSecret, kBytes };

template <class T>
inline constexpr bool kIsDuration = false;
template <class R, class P>
inline constexpr bool kIsDuration<std::chrono::duration<R, P>> = true;

/// One option: which member, its flag, what it means, its bounds (durations: in seconds).
template <class S, class T>
struct Field {
  T S::*member;
  std::string_view flag;
  std::string_view help;
  double min;
  double max;
  FieldForm form;
};

/// A name that stands for a value of an enum.
template <class T>
struct Choice {
  std::string_view name;
  T value;
};

// clang 14 does not deduce aggregates by itself.
template <class T>
Choice(const char*, T) -> Choice<T>;

template <class S, class T, std::size_t N>
struct ChoiceField {
  T S::*member;
  std::string_view flag;
  std::string_view help;
  std::array<Choice<T>, N> choices;
};

/// The bounds of a field that names none: those of its type.
template <class T>
constexpr double default_min() {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(std::numeric_limits<T>::lowest());
  }
  return 0;
}

template <class T>
constexpr double default_max() {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return 0x1p62;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(std::numeric_limits<T>::max());
  }
  return 0x1p31;
}

/// A bool, an integer, a double, a text, a list of texts or a duration, within [min, max].
template <class S, class T>
constexpr Field<S, T> field(T S::*member, std::string_view flag, std::string_view help,
                            double min = default_min<T>(), double max = default_max<T>()) {
  return {member, flag, help, min, max, FieldForm::kPlain};
}

/// A number of bytes, written with or without a unit: 1.5GiB.
template <class S>
constexpr Field<S, std::int64_t> bytes_field(std::int64_t S::*member, std::string_view flag,
                                             std::string_view help, double min = 0,
                                             double max = 0x1p62) {
  return {member, flag, help, min, max, FieldForm::kBytes};
}

/// A path of the file system (shell completion offers files).
template <class S, class T>
constexpr Field<S, T> path_field(T S::*member, std::string_view flag, std::string_view help) {
  return {member, flag, help, 0, 0, FieldForm::kPath};
}

/// A text that is never printed.
template <class S, class T>
constexpr Field<S, T> secret_field(T S::*member, std::string_view flag, std::string_view help) {
  return {member, flag, help, 0, 0, FieldForm::kSecret};
}

/// One of a few names: choice_field(&S::policy, "policy", "…", std::array{Choice{"fcfs", kFcfs}}).
template <class S, class T, std::size_t N>
constexpr ChoiceField<S, T, N> choice_field(T S::*member, std::string_view flag,
                                            std::string_view help,
                                            const std::array<Choice<T>, N>& choices) {
  return {member, flag, help, choices};
}

}  // namespace plumb
