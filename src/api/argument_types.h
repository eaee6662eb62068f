// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/tools.h"
#include "base/json.h"

namespace plumb {

/// What an argument that is written without quotes may be, as its schema says. Thread: any.
class ArgumentTypes {
 public:
  /// Nothing is known.
  ArgumentTypes() = default;

  static ArgumentTypes string() { return ArgumentTypes(kString); }

  static ArgumentTypes any() { return ArgumentTypes(kAny); }

  bool is_unknown() const { return set_ == 0; }

  bool is_string_only() const { return set_ == kString; }

  /// The text as JSON: a value of one of the types if it reads as such, else a string.
  std::string to_json(std::string_view text) const;

  /// Adds those that a schema allows, as far as its type, enum, const, anyOf, oneOf and allOf say.
  void add_schema(const Json& schema, const Json& root, int depth = 0);

 private:
  static constexpr unsigned kString = 1;
  static constexpr unsigned kInteger = 2;
  static constexpr unsigned kNumber = 4;
  static constexpr unsigned kBoolean = 8;
  static constexpr unsigned kNull = 16;
  static constexpr unsigned kArray = 32;
  static constexpr unsigned kObject = 64;
  static constexpr unsigned kAny = 127;

  explicit ArgumentTypes(unsigned set) : set_(set) {}

  static unsigned type_of(const Json& value);
  static unsigned type_named(const Json& name);

  unsigned set_ = 0;
};

/// Of the parameter of that tool; unknown if the tool, or its schema of the parameter, is.
ArgumentTypes find_argument_types(const std::vector<Tool>& tools, std::string_view tool,
                                  std::string_view parameter);

}  // namespace plumb
