// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"

namespace plumb {

/// A typed key-value table, as the header of a model file holds it. Integers of every width are
/// int64 (uint64 above its range is an error of the reader), floats are double, booleans bool.
/// Thread: any after construction (immutable use).
class Metadata {
 public:
  using Value =
      std::variant<bool, std::int64_t, double, std::string, std::vector<bool>,
                   std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>>;

  void set(std::string key, Value value) {
    values_.insert_or_assign(std::move(key), std::move(value));
  }

  const std::map<std::string, Value, std::less<>>& values() const { return values_; }

  bool has(std::string_view key) const { return values_.find(key) != values_.end(); }

  /// Pointer to the value of that exact type; nullptr if the key is absent or of another type.
  template <class T>
  const T* find(std::string_view key) const {
    const auto it = values_.find(key);
    return it == values_.end() ? nullptr : std::get_if<T>(&it->second);
  }

  /// The value of that type. Errors: kInvalidArgument naming the key when absent or of another
  /// type.
  template <class T>
  Result<T> get(std::string_view key) const {
    if (const T* value = find<T>(key)) {
      return *value;
    }
    return Status{Code::kInvalidArgument, "metadata key '" + std::string(key) + "' is " +
                                              (has(key) ? "of another type" : "missing")};
  }

  template <class T>
  T get_or(std::string_view key, T fallback) const {
    const T* value = find<T>(key);
    return value != nullptr ? *value : fallback;
  }

  /// A number of either kind as double.
  double number_or(std::string_view key, double fallback) const {
    if (const double* d = find<double>(key)) {
      return *d;
    }
    if (const std::int64_t* i = find<std::int64_t>(key)) {
      return static_cast<double>(*i);
    }
    return fallback;
  }

 private:
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace plumb
