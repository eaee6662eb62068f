// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/option_field.h"
#include "base/status.h"

namespace plumb {

enum class OptionKind : unsigned char {
  kBool,
  kInt,
  kDouble,
  kText,
  kPath,
  kTextList,
  kChoice,
  kDuration,
  kBytes,
};

/// One option of one struct instance, without its C++ type: what command line, JSON, help, docs and
/// start-up print work on.
///
/// Ownership  set and get refer to the struct that bind_options() was given, which outlives this.
struct BoundOption {
  std::string flag;  ///< "max-num-seqs"; the JSON key and the environment name derive from it
  std::string help;
  OptionKind kind = OptionKind::kText;
  std::string range;                 ///< what a value may be: "1..65536", "fcfs|lpm", "" when free
  std::vector<std::string> choices;  ///< of kChoice
  bool is_secret = false;
  std::function<Status(const Json&)> set;  ///< checks kind and range, then stores
  std::function<Json()> get;
};

/// "max_num_seqs".
std::string json_key(const BoundOption& option);
/// "PLUMB_MAX_NUM_SEQS".
std::string environment_name(const BoundOption& option);

/// Sets an option from the text of a command line or of the environment.
/// Errors  kInvalidArgument naming source (the flag or the variable), value and range.
Status set_from_text(const BoundOption& option, std::string_view text, std::string source);

/// Sets every option that the object names. All violations are returned at once, unknown keys
/// among them; the options without a violation are set.
std::vector<Status> set_from_json(std::span<const BoundOption> options, const JsonObject& object);

/// Checks the present values against their ranges (a struct filled by code); all violations.
std::vector<Status> validate_options(std::span<const BoundOption> options);

/// All messages in one kInvalidArgument, joined by "; "; ok when there is none.
Status join_violations(std::span<const Status> violations);

/// Key and value of every option in order; secrets that are set show as "***".
JsonObject options_to_json(std::span<const BoundOption> options);
/// The same as an aligned table for people, one option a line.
std::string options_to_table(std::span<const BoundOption> options);
/// A Markdown table of flag, default, range and help: the page of the reference documents.
/// Requires the struct still holds its defaults.
std::string options_to_markdown(std::span<const BoundOption> options);

/// "250ms", "1.5s", "2m", "1h", "0s" and, as seconds, plain numbers. False if it is anything else.
bool parse_duration(std::string_view text, std::chrono::nanoseconds* out);
std::string duration_to_text(std::chrono::nanoseconds duration);
/// "4096", "512KiB", "1.5GiB", "8GB" (powers of 1000). False if it is anything else or above 2^62.
bool parse_bytes(std::string_view text, std::int64_t* out);

namespace option_detail {

// Conversions shared by all fields; each names what was expected in its error.
Status read_bool(const Json& json, bool* out);
Status read_int(const Json& json, double min, double max, std::int64_t* out);
Status read_bytes(const Json& json, double min, double max, std::int64_t* out);
Status read_double(const Json& json, double min, double max, double* out);
Status read_text(const Json& json, std::string* out);
Status read_text_list(const Json& json, std::vector<std::string>* out);
Status read_duration(const Json& json, double min, double max, std::chrono::nanoseconds* out);
Status read_choice(const Json& json, std::span<const std::string_view> names, std::size_t* out);
std::string range_text(OptionKind kind, double min, double max);

template <class T>
constexpr OptionKind kind_of(FieldForm form) {
  if constexpr (std::is_same_v<T, bool>) {
    return OptionKind::kBool;
  } else if constexpr (std::is_integral_v<T>) {
    return form == FieldForm::kBytes ? OptionKind::kBytes : OptionKind::kInt;
  } else if constexpr (std::is_floating_point_v<T>) {
    return OptionKind::kDouble;
  } else if constexpr (kIsDuration<T>) {
    return OptionKind::kDuration;
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return OptionKind::kTextList;
  } else {
    static_assert(std::is_same_v<T, std::string>, "no option of this type");
    return form == FieldForm::kPath ? OptionKind::kPath : OptionKind::kText;
  }
}

template <class T>
Status read(const Json& json, OptionKind kind, double min, double max, T* out) {
  if constexpr (std::is_same_v<T, bool>) {
    return read_bool(json, out);
  } else if constexpr (std::is_integral_v<T>) {
    std::int64_t value = 0;
    PLUMB_RETURN_IF_ERROR(kind == OptionKind::kBytes ? read_bytes(json, min, max, &value)
                                                     : read_int(json, min, max, &value));
    *out = static_cast<T>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    double value = 0;
    PLUMB_RETURN_IF_ERROR(read_double(json, min, max, &value));
    *out = static_cast<T>(value);
  } else if constexpr (kIsDuration<T>) {
    std::chrono::nanoseconds value{};
    PLUMB_RETURN_IF_ERROR(read_duration(json, min, max, &value));
    *out = std::chrono::duration_cast<T>(value);
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return read_text_list(json, out);
  } else {
    return read_text(json, out);
  }
  return {};
}

template <class T>
Json write(const T& value) {
  if constexpr (kIsDuration<T>) {
    return Json(duration_to_text(std::chrono::duration_cast<std::chrono::nanoseconds>(value)));
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    JsonArray array;
    for (const std::string& text : value) {
      array.emplace_back(text);
    }
    return Json(std::move(array));
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return Json(static_cast<std::int64_t>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return Json(static_cast<double>(value));
  } else {
    return Json(value);
  }
}

template <class S, class T>
BoundOption bind_field(S& owner, const Field<S, T>& field) {
  const OptionKind kind = kind_of<T>(field.form);
  T* const member = &(owner.*field.member);
  return {.flag = std::string(field.flag),
          .help = std::string(field.help),
          .kind = kind,
          .range = range_text(kind, field.min, field.max),
          .choices = {},
          .is_secret = field.form == FieldForm::kSecret,
          .set = [member, kind, min = field.min,
                  max = field.max](const Json& json) { return read(json, kind, min, max, member); },
          .get = [member] { return write(*member); }};
}

template <class S, class T, std::size_t N>
BoundOption bind_field(S& owner, const ChoiceField<S, T, N>& field) {
  T* const member = &(owner.*field.member);
  std::array<std::string_view, N> names;
  std::vector<std::string> choices;
  std::string range;
  for (std::size_t i = 0; i < N; ++i) {
    names[i] = field.choices[i].name;
    choices.emplace_back(names[i]);
    range += (i == 0 ? "" : "|") + choices.back();
  }
  return {.flag = std::string(field.flag),
          .help = std::string(field.help),
          .kind = OptionKind::kChoice,
          .range = std::move(range),
          .choices = std::move(choices),
          .is_secret = false,
          .set = [member, names, field](const Json& json) -> Status {
            std::size_t index = 0;
            PLUMB_RETURN_IF_ERROR(read_choice(json, names, &index));
            *member = T(field.choices[index].value);
            return {};
          },
          .get =
              [member, field] {
                for (const Choice<T>& choice : field.choices) {
                  if (choice.value == *member) {
                    return Json(choice.name);
                  }
                }
                return Json();
              }};
}

}  // namespace option_detail

/// Every option of the struct, in the order of its fields().
///
/// Requires  `static constexpr auto fields()` in S returns a std::tuple of field(), path_field(),
///           secret_field(), bytes_field() and choice_field() (base/option_field.h).
template <class S>
std::vector<BoundOption> bind_options(S& owner) {
  std::vector<BoundOption> options;
  std::apply(
      [&](const auto&... field) {
        (options.push_back(option_detail::bind_field(owner, field)), ...);
      },
      S::fields());
  return options;
}

/// Appends the options of another struct, so that a program shows those of all its modules.
template <class S>
void bind_options(S& owner, std::vector<BoundOption>* options) {
  for (BoundOption& option : bind_options(owner)) {
    options->push_back(std::move(option));
  }
}

}  // namespace plumb
